package io.github.dynamickafka.format.table

import scala.util.control.NonFatal

import SideColumns.{Column, Fields}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.TableOutputResolver
import org.apache.spark.sql.catalyst.expressions.{
  Alias,
  Attribute,
  AttributeReference,
  BindReferences,
  CreateNamedStruct,
  Expression,
  Literal,
  UnsafeProjection
}
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, Project}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.extension.TargetRecord
import io.github.dynamickafka.format._
import io.github.dynamickafka.schemaregistry.Frame

private[table] final class Encodings(
    options: FormatTable,
    input: StructType,
    routing: Set[Int],
    caseSensitive: Boolean
) {
  private val assignment = new StoreAssignment(input)
  private def same(a: String, b: String) = if (caseSensitive) a == b else a.equalsIgnoreCase(b)

  /** Read from Kafka, but not to be written: in a record they would be taken for what they are not. */
  private val ofReading =
    Seq(MetadataColumn.Offset, MetadataColumn.TimestampKind, MetadataColumn.LeaderEpoch).map(_.name)

  private val all: Seq[(StructField, Int)] = input.fields.toSeq.zipWithIndex.filterNot(f => routing(f._2))
  all.map(_._1.name).foreach { name =>
    if (all.count(p => same(p._1.name, name)) > 1)
      throw Errors.invalidColumn(name, "there is more than one column with this name.")
    if (ofReading.exists(n => same(options.metadata.prefix + n, name)))
      throw Errors.invalidColumn(
        name,
        "it is metadata of a record that was read, and cannot be written; remove it. For a field of this name in the records, set " +
          s"'${FormatOptionSpecs.MetadataPrefix.name}'."
      )
  }

  /** The column with the kind of each change, which is not a field of the records. */
  private val kind: Option[(StructField, Int)] =
    if (!options.value.format.isChange && !options.upsert) None
    else {
      if (options.schema.exists(_.columns.exists(f => same(f.name, ChangeLayout.TypeColumn))))
        throw Errors.invalidSchema(
          s"it has the column '${ChangeLayout.TypeColumn}', which has the kind of the change and is not in the records."
        )
      all.find(f => same(f._1.name, ChangeLayout.TypeColumn))
    }
  kind.map(_._1).filterNot(_.dataType.isInstanceOf[StringType]).foreach(field =>
    throw Errors.invalidColumn(field.name, s"its type is ${field.dataType.sql}, but must be STRING.")
  )
  private val payload = all.filterNot(kind.contains)

  private val wholeKey = options.key.filter(!_.side.format.hasFields)
  private val wholeValue = Some(options.value).filter(!_.format.hasFields)
  private val keyName = options.wholeKey.getOrElse("key")

  /** With the name of a field, the column of the key is a field of the values too, unless it is left out of them. */
  private val isInBoth =
    options.keyFields.nonEmpty && wholeKey.isDefined && wholeValue.isEmpty && !options.exceptKey &&
      options.schema.forall(_.columns.exists(f => same(f.name, keyName)))
  private def isWhole(name: String) =
    (wholeKey.isDefined && same(name, keyName) && !isInBoth) || (wholeValue.isDefined && same(name, "value"))

  /** The fields of the records, with what they are made of. */
  private val fields: Seq[(StructField, Expression)] = {
    val columns = payload.filterNot(p => isWhole(p._1.name))
    options.schema.map(_.columns) match {
      case None => columns.map { case (field, i) => field -> assignment.plain(i) }
      case Some(schema) =>
        columns.find(c => !schema.exists(f => same(f.name, c._1.name))).foreach { case (field, _) =>
          throw Errors.invalidColumn(
            field.name,
            s"it is neither in '${FormatOptionSpecs.Schema.name}' (${schema.fieldNames.mkString(", ")}) nor does it route the record; " +
              "remove or rename it."
          )
        }
        schema.map(field =>
          field -> assignment.to(field, columns.find(c => same(c._1.name, field.name)).map(_._2))
        )
    }
  }

  private def isColumn(name: String) =
    fields.exists(f => same(f._1.name, name)) ||
      (wholeKey.isDefined && payload.exists(p => same(p._1.name, name)))
  options.keyFields.find(!isColumn(_)).foreach { name =>
    val option = FormatOptionSpecs.KeyFields.name
    if (options.schema.isDefined)
      throw Errors.invalidOption(option, name, s"the schema has no column '$name'.")
    else throw Errors.invalidColumn(name, s"'$option' contains it, but there is no such column.")
  }

  private val ofKey = options.keyFields.flatMap(name => fields.find(f => same(f._1.name, name)))
  private val ofValue = if (options.exceptKey) fields.diff(ofKey) else fields
  private def shown = s"The columns are ${input.fieldNames.mkString("'", "', '", "'")}."

  val key: Option[SideColumns] = options.key.flatMap(key =>
    if (wholeKey.isDefined) whole(key.side, keyName)
    else Some(encoded(key.side, ofKey.map { case (field, e) => key.field(field) -> e }))
  )

  /** How rows are upserts, if they are. */
  val upserts: Option[UpsertRows] = Option.when(options.upsert)(UpsertRows(kind.map(_._2), key))

  val value: SideColumns =
    if (wholeValue.isDefined) {
      ofValue.headOption.foreach { case (field, _) =>
        val hint =
          if (options.keyFields.exists(same(_, field.name)))
            s"set '${FormatOptionSpecs.ValueFieldsInclude.name}' to 'EXCEPT_KEY'."
          else if (same(field.name, keyName)) s"set '${FormatOptionSpecs.KeyFormat.name}'."
          else "remove or rename it."
        throw Errors.invalidColumn(
          field.name,
          s"the format '${options.value.format.name}' of the values has only the column 'value': $hint"
        )
      }
      whole(options.value, "value").getOrElse(
        throw Errors.invalidColumn("value", s"the column is required but missing. $shown")
      )
    } else {
      if (ofValue.isEmpty)
        throw Errors.invalidColumn("value", s"no column is left for the values. $shown")
      // An Avro schema that was given also has the fields of the key.
      val left = if (options.exceptKey) ofKey.map(_._1.name).toSet else Set.empty[String]
      val avro = options.schema.flatMap(_.avro).map(AvroSchemas.without(_, left))
      val registered = options.schema.flatMap(_.registered).filter(_ => left.isEmpty)
      val made = encoded(options.value, ofValue, avro)
      made.copy(
        made.side.copy(registered = registered),
        change = kind.filter(_ => options.value.format.isChange).map(k => assignment.plain(k._2))
      )
    }

  /** None: there is no such column. */
  private def whole(side: SideFormat, name: String): Option[SideColumns] =
    payload.find(p => same(p._1.name, name)).map { case (field, i) =>
      if (side.format.writer.exists(_.encodesWhole)) {
        val own = field.copy(dataType = side.format.wholeTypes.head)
        encoded(side, Seq(own -> assignment.to(own, Some(i))))
      } else column(side, field, i)
    }

  private def column(side: SideFormat, field: StructField, i: Int): SideColumns = {
    val isText = field.dataType.isInstanceOf[StringType]
    if (!isText && !side.format.wholeTypes.contains(field.dataType))
      throw Errors.invalidColumn(
        field.name,
        s"its type is ${field.dataType.sql}, but must be ${side.format.wholeTypes.reverse.map(_.sql).mkString(" or ")}."
      )
    Column(i, field.dataType)
  }

  private def encoded(
      side: SideFormat,
      columns: Seq[(StructField, Expression)],
      avro: Option[String] = None
  ): Fields =
    Fields(SideLayout.of(side, StructType(columns.map(_._1)).toNullable, avro), columns.map(_._2))
}

/** The columns of a row that become its key or its value. Sent to executors. */
private[dynamickafka] sealed trait SideColumns extends Product with Serializable

private[dynamickafka] object SideColumns {

  /**
   * A column has the bytes.
   *
   * @param index in the rows of the query
   * @param dataType STRING or BINARY
   */
  final case class Column(index: Int, dataType: DataType) extends SideColumns

  /**
   * Columns are encoded.
   *
   * @param columns the values of the fields, bound to the rows of the query
   * @param change the kind of the change, in a format of changes; None: all rows are inserted
   */
  final case class Fields(side: SideLayout, columns: Seq[Expression], change: Option[Expression] = None)
      extends SideColumns {

    /** What the encoder gets of a row: the fields, or, of a change, a struct of them and the kind. */
    def input: Seq[Expression] =
      if (!side.format.format.isChange) columns
      else {
        val row = side.schema.zip(columns).flatMap { case (field, column) =>
          Seq(Literal(field.name), column)
        }
        Seq(CreateNamedStruct(row), change.getOrElse(Literal("insert")))
      }

    /** What precedes the bytes; None: the format has no registry. */
    def frame(ofKeys: Boolean): Option[Frame] =
      side.format.format.writer.flatMap(_.schema(side)).map(
        Frame(side.format.registries, _, ofKeys, side.registered)
      )
  }
}

/**
 * How rows become keys and values.
 *
 * @param key None: records have no key
 * @param frames what precedes keys and values in formats with a registry
 * @param upserts None: each row is a record with a value
 */
private[dynamickafka] final case class Encoding(
    value: SideColumns,
    key: Option[SideColumns],
    frames: Seq[Frame] = Nil,
    upserts: Option[UpsertRows] = None
)

/** Checks what is written. */
private[table] object Encoders {

  /**
   * Makes an encoder on the driver, so that types and options that a format does not support are found before anything is
   * written.
   *
   * @throws DynamicKafkaIllegalArgumentException `INVALID_COLUMN`, or `INVALID_SCHEMA` if the types are those of `schema`
   */
  def check(side: SideLayout, declared: Boolean): Unit = problem(side).foreach { reason =>
    val text =
      s"the format '${side.format.format.name}' with its options cannot have the columns ${side.schema.toDDL}: $reason"
    if (declared) throw Errors.invalidSchema(text)
    // The first column that cannot be written by itself.
    val column = side.schema.fields.find(field =>
      problem(side.copy(schema = StructType(Seq(field)), avro = None)).isDefined
    )
    throw Errors.invalidColumn(column.fold(side.schema.fieldNames.mkString(", "))(_.name), text)
  }

  private def problem(side: SideLayout): Option[String] =
    Variants.problem(side.format.format, side.schema).orElse {
      try {
        val writer = side.format.format.writer.get
        writer.encoder(side).close()
        writer.problem(side)
      } catch { case NonFatal(e) => Some(String.valueOf(e.getMessage)) }
    }
}

/**
 * Makes the keys or the values of rows. Used by one task. Not thread-safe.
 *
 * @param side `key` or `value`, for errors
 * @param record shows the records, one after the other
 */
private[dynamickafka] final class RowEncoder(source: SideColumns, side: String, record: TargetRecord = null) {

  private val encode: InternalRow => Array[Byte] = source match {
    case SideColumns.Column(i, BinaryType) => row => if (row.isNullAt(i)) null else row.getBinary(i)
    case SideColumns.Column(i, _) => row => if (row.isNullAt(i)) null else row.getUTF8String(i).getBytes
    case fields: SideColumns.Fields =>
      val project = UnsafeProjection.create(fields.input)
      val format = fields.side.format.format
      val encoder = format.writer.get.encoder(fields.side)
      encoder.within(record)
      TaskResource.closeAtEnd(() => encoder.close())
      row =>
        try encoder.encode(project(row))
        catch { case NonFatal(e) => throw Errors.encodeFailed(side, format.name, reason(e)) }
  }

  /** @return null: no key, or a tombstone */
  def apply(row: InternalRow): Array[Byte] = encode(row)

  /** The reason, without values of the row: of Spark's messages, only that of an overflow in a cast is known to contain none. */
  private def reason(e: Throwable): String = e match {
    case known: UnencodableException => known.getMessage
    case t: org.apache.spark.SparkThrowable if t.getCondition == "CAST_OVERFLOW_IN_TABLE_INSERT" =>
      e.getMessage.linesIterator.next()
    case t: org.apache.spark.SparkThrowable => s"${e.getClass.getSimpleName} ${t.getCondition}"
    case _: NullPointerException => "a field is null that the schema requires"
    case _ => e.getClass.getSimpleName
  }
}

/**
 * How rows are upserts of a table with a key. Sent to executors.
 *
 * @param kind the index of the column with the kind of the change; None: all rows have values
 */
private[dynamickafka] final case class UpsertRows(kind: Option[Int], key: Option[SideColumns]) {
  import ChangeKind._
  import UpsertRows._

  /**
   * Whether the row becomes a null value.
   *
   * @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException ENCODE_FAILED
   */
  def isDeleted(row: InternalRow): Boolean = kindOf(row) == Delete

  /** Whether the row becomes no record: the row after the update follows. */
  def isSkipped(row: InternalRow): Boolean = kindOf(row) == Preimage

  private def kindOf(row: InternalRow): UTF8String =
    kind.filterNot(row.isNullAt).fold(Insert) { i =>
      val found = row.getUTF8String(i)
      if (All(found)) found else throw Errors.encodeFailed("value", "upsert", Unknown)
    }

  /** Why the row has no key, if it has none. */
  def problem(row: InternalRow): Option[String] = key match {
    case Some(SideColumns.Column(i, _)) => Option.when(row.isNullAt(i))(NoKey)
    case Some(fields: SideColumns.Fields) => Option.when(fields.columns.forall(_.eval(row) == null))(NoKey)
    case None => Some(NoKey)
  }
}

private object UpsertRows {
  private val Unknown = s"the column '${ChangeLayout.TypeColumn}' has another value than ${ChangeKind.Names}"
  private val NoKey = "the columns of its key are null, and an upsert requires a key"
}

/** Casts columns to those of a schema as an INSERT does, by the rules of ANSI SQL, whatever the session has set. */
private[dynamickafka] final class StoreAssignment(input: StructType) {
  private val attributes: Seq[AttributeReference] =
    input.map(f => AttributeReference(f.name, f.dataType, f.nullable, f.metadata)())

  private val ansi = {
    val copy = SQLConf.get.clone()
    copy.setConfString("spark.sql.storeAssignmentPolicy", "ANSI")
    copy
  }

  /** The column itself. */
  def plain(index: Int): Expression = bound(attributes(index))

  /**
   * @param index the column of the input; None: null
   * @throws DynamicKafkaIllegalArgumentException `INVALID_COLUMN`
   */
  def to(target: StructField, index: Option[Int]): Expression = {
    val value = Alias(index.fold[Expression](Literal(null, target.dataType))(attributes(_)), target.name)()
    val expected = AttributeReference(target.name, target.dataType, nullable = true)()
    val resolved =
      try
        SQLConf.withExistingConf(ansi)(TableOutputResolver.resolveOutputColumns(
          "the records",
          Seq(expected),
          Project(Seq(value), LocalRelation(attributes)),
          byName = true,
          ansi
        ))
      catch {
        case NonFatal(e) =>
          throw Errors.invalidColumn(target.name, s"it does not fit 'schema': ${e.getMessage}")
      }
    val column = resolved.expressions.head.transform {
      case a: Attribute if a.exprId == value.exprId => value.child
    }
    bound(column match {
      case Alias(child, _) => child
      case other => other
    })
  }

  private def bound(e: Expression): Expression = BindReferences.bindReference(e, attributes)
}
