package io.github.dynamickafka.source.history

import java.{util => ju}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.{Table, TableProvider}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.expressions.{Expressions, Literal, Transform}
import org.apache.spark.sql.connector.read.{ScanBuilder, SupportsPushDownV2Filters}
import org.apache.spark.sql.types.{DataType, StringType, StructType, TimestampType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.{Column, DataFrame, SparkSession}
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.TopologyHistory
import io.github.dynamickafka.offset.history.{HistoryFile, HistoryTable}

/**
 * The files of one snapshot of a table of Iceberg, which its id names: a snapshot never changes. Iceberg reads it as a whole, because it
 * also knows which rows are deleted. So a batch asks for rows with the times of its files, by which Iceberg leaves out others, and
 * takes those of its files.
 */
private[history] final class IcebergHistory(provider: TableProvider) extends HistoryFormat {
  import IcebergHistory._

  override def options(where: String, history: TopologyHistory, session: SparkSession): Map[String, String] =
    history.options.find(_._1.equalsIgnoreCase(VersionAsOf)) match {
      case Some((_, id)) if id.matches("[0-9]+") => history.options
      case Some((name, _)) => throw Errors.metadataInvalid(where, s"'$name' is not the id of a snapshot")
      case None =>
        val newest = table(history.options + (Path -> history.path)).properties.get(CurrentSnapshot)
        if (newest == null || newest == NoSnapshot)
          throw Errors.metadataInvalid(where, "the table has no snapshot")
        history.options + (VersionAsOf -> newest)
    }

  override def load(
      session: SparkSession,
      history: TopologyHistory,
      options: Map[String, String],
      schema: Option[StructType]
  ): DataFrame = session.read.format(history.format).options(options).load(history.path)

  override def file(rows: DataFrame): Column = rows.metadataColumn(File)

  override def path(file: String): String = file

  override def plan(
      where: String,
      table: HistoryTable,
      columns: Set[String],
      time: Option[String],
      files: Seq[HistoryFile]
  ): PlannedFiles = {
    val (versions, options) = table.options.partition(_._1.equalsIgnoreCase(VersionAsOf))
    val snapshot = versions.values.headOption.getOrElse(
      throw Errors.invalidOffset(s"the history of $where has no snapshot in the checkpoint")
    )
    val schema = DataType.fromJson(table.schema).asInstanceOf[StructType]
    val wanted = StructType(schema.filter(f => columns(f.name))).add(File, StringType, nullable = false)
    val selector = if (table.path.contains("/")) "#" else "."
    val settings = options + (Path -> s"${table.path}${selector}snapshot_id_$snapshot")
    try {
      val builder =
        FileHistory.scanBuilder(this.table(settings), new CaseInsensitiveStringMap(settings.asJava))
      time.filter(schema(_).dataType == TimestampType).foreach(restrict(builder, _, files))
      FileHistory.prune(builder, wanted)
      PlannedFiles(builder.build(), rows => Some(RowsOfFiles(rows.fieldIndex(File), files.map(_.path))))
    } catch {
      case NonFatal(e) =>
        throw Errors.metadataInvalid(
          where,
          s"snapshot $snapshot, which the query reads since its first start, cannot be read: " +
            "it has expired, or the table was replaced by another one, or its catalog does not respond",
          e
        )
    }
  }

  private def table(options: Map[String, String]): Table =
    provider.getTable(new StructType, Array.empty[Transform], options.asJava)
}

private object IcebergHistory {

  /** Spark's option for time travel, which other options of Iceberg for this purpose are not in all versions. */
  private val VersionAsOf = "versionAsOf"
  private val Path = "path"
  private val CurrentSnapshot = "current-snapshot-id"
  private val NoSnapshot = "none"

  /** A metadata column of Iceberg. It cannot be filtered by Iceberg. */
  private val File = "_file"

  /** Leaves out files that have no row with a time of these ones. Their rows are chosen by [[RowsOfFiles]] in any case. */
  private def restrict(builder: ScanBuilder, time: String, files: Seq[HistoryFile]): Unit = builder match {
    case filtering: SupportsPushDownV2Filters =>
      val column = Expressions.column(s"`${time.replace("`", "``")}`")
      def compare(operator: String, ms: Long) =
        new Predicate(operator, Array(column, Time(Math.multiplyExact(ms, 1000L))))
      val _ = filtering.pushPredicates(
        Array(compare(">=", files.map(_.least).min), compare("<", files.map(_.greatest).max + 1))
      )
    case _ => ()
  }

  /** A literal as Spark passes it to data sources. One that `Expressions.literal` makes of an instant, Iceberg does not understand. */
  private final case class Time(micros: Long) extends Literal[java.lang.Long] {
    override def value: java.lang.Long = micros
    override def dataType: DataType = TimestampType
  }
}

/** @param column the index of the column with the file of the row */
private[history] final case class RowsOfFiles(column: Int, files: ju.Set[UTF8String]) {
  def has(row: InternalRow): Boolean = files.contains(row.getUTF8String(column))
}

private object RowsOfFiles {
  def apply(column: Int, files: Seq[String]): RowsOfFiles =
    RowsOfFiles(column, new ju.HashSet(files.map(UTF8String.fromString).asJava): ju.Set[UTF8String])
}
