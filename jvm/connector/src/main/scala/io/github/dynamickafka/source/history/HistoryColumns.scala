package io.github.dynamickafka.source.history

import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{
  BinaryType,
  DataType,
  IntegerType,
  LongType,
  StringType,
  StructField,
  StructType,
  TimestampType
}
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.error.{DynamicKafkaIllegalArgumentException, Errors}
import io.github.dynamickafka.format.ColumnOrigin.{CorruptRecord, DecodeError, OfRecord}
import io.github.dynamickafka.format.table.StoreAssignment
import io.github.dynamickafka.format.{Layout, LayoutColumn, MetadataColumn}

/**
 * How the columns of files become those of a table.
 *
 * @param isDecoded whether the files have the decoded columns; otherwise they have records, as [[HistoryRecord.schema]]
 * @param targets in the order of the rows
 */
private[history] final case class HistoryColumns(isDecoded: Boolean, targets: Seq[HistoryColumns.Target]) {

  /** The columns of the files that are read. */
  def names: Set[String] = targets.flatMap(_.column).toSet

  /**
   * The schema with which the files are read: JSON has no types of its own, and binary values are Base64, as Spark writes them.
   *
   * @param found all columns of the files
   */
  def schema(format: String, found: StructType): StructType =
    if (!format.equalsIgnoreCase("json")) found
    else {
      val wanted = targets.flatMap(t => t.column.map(_ -> t.field.dataType)).toMap
      StructType(found.map(f => f.copy(dataType = wanted.getOrElse(f.name, f.dataType))))
    }

  /**
   * From rows with these columns, cast as in an INSERT.
   *
   * @throws DynamicKafkaIllegalArgumentException `INVALID_SCHEMA`
   */
  def projection(rows: StructType, where: String): Seq[Expression] = {
    val assignment = new StoreAssignment(rows)
    targets.map { t =>
      try t.column.fold[Expression](t.otherwise)(name => assignment.to(t.field, Some(rows.fieldIndex(name))))
      catch {
        case e: DynamicKafkaIllegalArgumentException =>
          val reason = Option(e.getMessageParameters.get("reason")).getOrElse(e.getMessage)
          throw Errors.invalidSchema(s"$where: column '${t.field.name}' does not fit: $reason")
      }
    }
  }
}

private[history] object HistoryColumns {

  /**
   * @param column the column of the files; None: it has none
   * @param otherwise the value without a column
   */
  final case class Target(field: StructField, column: Option[String], otherwise: Literal)
}

/**
 * The files of the history of a stream.
 *
 * @param layout of the table; None: the columns of Spark's Kafka source
 */
private[history] final class HistorySource(
    stream: String,
    formatName: String,
    path: String,
    layout: Option[Layout]
) {

  /** The place, for errors. */
  val where: String = s"stream '$stream', history '$path'"

  private val caseSensitive = SQLConf.get.caseSensitiveAnalysis

  /** @throws DynamicKafkaIllegalArgumentException `METADATA_INVALID` */
  def format: HistoryFormat = {
    if (!HistoryFormat.names.exists(_.equalsIgnoreCase(formatName)))
      throw Errors.metadataInvalid(
        where,
        s"the format '$formatName' cannot be read as a history, use one of ${HistoryFormat.names.mkString("'", "', '", "'")}"
      )
    HistoryFormat.find(formatName).getOrElse(throw Errors.metadataInvalid(
      where,
      s"Spark has no data source '$formatName' on its class path${HistoryFormat.missing(formatName)}"
    ))
  }

  /**
   * @param cluster of files without a column `cluster`
   * @param topic of files without a column `topic`
   * @throws DynamicKafkaIllegalArgumentException `INVALID_SCHEMA` if the files have neither records nor the decoded columns
   */
  def columns(files: StructType, cluster: Option[String], topic: Option[String]): HistoryColumns = {
    val fixed = Map[MetadataColumn, String](MetadataColumn.Stream -> stream) ++
      cluster.map(MetadataColumn.Cluster -> _) ++ topic.map(MetadataColumn.Topic -> _)
    def find(name: String) = this.find(files, name)
    def hasValue(types: DataType*) = find(MetadataColumn.Value.name).exists(f => types.contains(f.dataType))
    def target(field: StructField, column: MetadataColumn) =
      HistoryColumns.Target(field, find(field.name).map(_.name), otherwise(column, fixed))
    def records = HistoryColumns(
      isDecoded = false,
      HistoryRecord.columns.map(c => target(StructField(c.name, c.dataType), c))
    )
    val decoded = layout.toSeq.flatMap(_.columns).filter(isRequired)
    val missing = decoded.filter(c => find(c.field.name).isEmpty).map(_.field.name)
    // JSON has binary values as text.
    if (hasValue(BinaryType)) records
    else if (layout.isDefined && missing.isEmpty)
      HistoryColumns(
        isDecoded = true,
        layout.toSeq.flatMap(_.columns).map {
          case LayoutColumn(field, OfRecord(column)) => target(field, column)
          case LayoutColumn(field, _) =>
            HistoryColumns.Target(field, find(field.name).map(_.name), Literal(null, field.dataType))
        }
      )
    else if (formatName.equalsIgnoreCase("json") && hasValue(StringType)) records
    else {
      val alternative =
        if (missing.isEmpty) "" else s", nor the columns ${missing.map(n => s"'$n'").mkString(", ")}"
      throw Errors.invalidSchema(
        s"$where: the files have no binary column 'value'$alternative. Their columns are ${files.simpleString}"
      )
    }
  }

  /** The column of the files with this column of the record, if they have it. */
  def recordColumn(column: MetadataColumn, columns: HistoryColumns, files: StructType): Option[String] = {
    val ofLayout = layout.filter(_ => columns.isDecoded).toSeq.flatMap(_.columns)
    val name = ofLayout.find(_.origin == OfRecord(column)).map(_.field.name)
      .orElse(Option.when(!ofLayout.exists(_.field.name.equalsIgnoreCase(column.name)))(column.name))
    name.flatMap(find(files, _)).map(_.name)
  }

  private def find(files: StructType, name: String): Option[StructField] =
    files.find(_.name == name).orElse(files.find(f => !caseSensitive && f.name.equalsIgnoreCase(name)))

  private def isRequired(column: LayoutColumn) = column.origin match {
    case OfRecord(_) | CorruptRecord | DecodeError => false
    case _ => true
  }

  private def otherwise(column: MetadataColumn, fixed: Map[MetadataColumn, String]): Literal =
    fixed.get(
      column
    ).map(text => Literal(UTF8String.fromString(text), StringType)).getOrElse(column.dataType match {
      case IntegerType if !column.nullable => Literal(HistoryRecord.Unknown)
      case LongType => Literal(HistoryRecord.Unknown.toLong)
      case TimestampType => Literal(0L, TimestampType)
      case other => Literal(null, other)
    })
}
