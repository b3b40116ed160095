package io.github.dynamickafka.format.change

import scala.annotation.unused
import scala.collection.immutable.ListMap
import scala.util.matching.Regex

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{ArrayType, DataType, StringType, StructField, StructType}

import io.github.dynamickafka.format.DecodeFailure

/**
 * A change of one row.
 *
 * @param op `c`, `r` (read by a snapshot), `u` or `d`, as Debezium names them
 * @param before null if the record does not have it
 */
private[change] final case class Change(op: String, before: InternalRow, after: InternalRow)

/** What the JSON of one tool means. */
private[change] trait Dialect {

  /** The fields to parse, by the type of the rows of the changed table. */
  def fields(row: StructType): Seq[EnvelopeField]

  /** Whether numbers are always texts. */
  def texts: Boolean = false

  /** Whether the record is of another table, so that it has no rows. */
  def excludes(envelope: Envelope): Boolean = false

  /** The changes of a record, or the reason why it is bad. */
  def changes(envelope: Envelope): Either[String, Seq[Change]]
}

private[change] object Dialect {

  private def field(name: String, dataType: DataType = StringType) =
    EnvelopeField(StructField(name, dataType))

  private def missing(field: String) = Left(s"the field '$field' is missing or null")

  private def unknown(field: String, known: String) = Left(s"the field '$field' is none of $known")

  /** @param field the name of the row that the change has to have: of the one before a deletion, of any other the one after it */
  private def changed(op: String, before: InternalRow, after: InternalRow, field: String) =
    if ((if (op == "d") before else after) eq null) missing(field) else Right(Seq(Change(op, before, after)))

  /** @param ops Debezium's operations, by the names that the tool gives them */
  sealed class BeforeAfter(op: String, ops: ListMap[String, String]) extends Dialect {
    override def fields(row: StructType): Seq[EnvelopeField] =
      Seq(field("before", row), field("after", row), field(op))

    override final def changes(envelope: Envelope): Either[String, Seq[Change]] =
      envelope.text(2).fold[Either[String, Seq[Change]]](missing(op))(
        change(_, envelope.row(0), envelope.row(1))
      )

    protected def change(name: String, before: InternalRow, after: InternalRow): Either[String, Seq[Change]] =
      ops.get(name) match {
        case Some("d") => changed("d", before, null, "before")
        case Some(kind) => changed(kind, if (kind == "u") before else null, after, "after")
        case None => unknown(op, ops.keys.map(op => s"'$op'").mkString(", "))
      }
  }

  object Debezium extends BeforeAfter("op", ListMap("c" -> "c", "r" -> "r", "u" -> "u", "d" -> "d"))

  object Ogg extends BeforeAfter("op_type", ListMap("I" -> "c", "U" -> "u", "D" -> "d"))

  /** Debezium's envelope as it is, also with operations that change no row. */
  object DebeziumEnvelope extends BeforeAfter("op", ListMap.empty) {
    override protected def change(op: String, before: InternalRow, after: InternalRow)
        : Either[String, Seq[Change]] = Right(Seq(Change(op, before, after)))
  }

  object Maxwell extends Dialect {
    override def fields(row: StructType): Seq[EnvelopeField] =
      Seq(field("data", row), field("old", row), field("type"))

    override def changes(envelope: Envelope): Either[String, Seq[Change]] = {
      val data = envelope.row(0)
      envelope.text(2) match {
        case Some("insert") => changed("c", null, data, "data")
        case Some("bootstrap-insert") => changed("r", null, data, "data")
        case Some("bootstrap-start" | "bootstrap-complete") => Right(Nil)
        case Some("update") if data eq null => missing("data")
        case Some("update") =>
          val old = envelope.row(1)
          changed("u", if (old eq null) null else envelope.before(old, data, 0), data, "data")
        case Some("delete") => changed("d", data, null, "data")
        case Some(_) => unknown("type", "'insert', 'update', 'delete', 'bootstrap-insert'")
        case None => missing("type")
      }
    }
  }

  final class Canal(database: Option[Regex], table: Option[Regex]) extends Dialect {
    override def fields(row: StructType): Seq[EnvelopeField] =
      Seq("data", "old").map(field(_, ArrayType(row))) ++ Seq("type", "database", "table").map(field(_))

    override def texts: Boolean = true

    override def excludes(envelope: Envelope): Boolean =
      Seq(database -> 3, table -> 4).exists { case (pattern, field) =>
        pattern.exists(p => !envelope.text(field).exists(p.matches))
      }

    override def changes(envelope: Envelope): Either[String, Seq[Change]] = envelope.text(2) match {
      case Some("INSERT") => each(envelope)((row, _) => Right(Change("c", null, row)))
      case Some("DELETE") => each(envelope)((row, _) => Right(Change("d", row, null)))
      case Some("UPDATE") =>
        val old = envelope.rows(1)
        each(envelope)((row, i) =>
          if (old.exists(_.length <= i)) Left("the fields 'data' and 'old' have different lengths")
          else {
            val before = old.flatMap(all => Option(all(i))).map(envelope.before(_, row, i))
            Right(Change("u", before.orNull, row))
          }
        )
      case Some("CREATE") => Right(Nil)
      case Some(_) => unknown("type", "'INSERT', 'UPDATE', 'DELETE', 'CREATE'")
      case None => missing("type")
    }

    private def each(envelope: Envelope)(change: (InternalRow, Int) => Either[String, Change]) =
      envelope.rows(0).fold[Either[String, Seq[Change]]](missing("data")) { rows =>
        val (reasons, found) = rows.toSeq.zipWithIndex.partitionMap { case (row, i) =>
          if (row eq null) missing("data") else change(row, i)
        }
        reasons.headOption.toLeft(found)
      }
  }
}

/** A field of an envelope. `outer`: beside `payload`, if the records contain their schema. */
private[change] final case class EnvelopeField(field: StructField, outer: Boolean = false)

/** Parses what is around the rows of a change, and shows the record that was parsed last. Not thread-safe. */
private[change] trait Envelope {

  /** The records that follow are of this cluster. */
  def from(@unused cluster: String): Unit = ()

  /** @return null if nothing in the record is bad */
  def parse(record: Array[Byte]): DecodeFailure

  /** A failure of [[parse]], with the column of the changed table instead of the field of the envelope around it. */
  def located(failure: DecodeFailure): DecodeFailure = failure

  /** The first column of the rows that were shown whose value did not fit, since the last call. */
  def takeFailed(): Option[String] = None

  /** A field by its place in the fields that the envelope was made with; null if it is missing. */
  def get(field: Int): Any

  def text(field: Int): Option[String] = Option(get(field)).map(_.toString)

  def row(field: Int): InternalRow = get(field).asInstanceOf[InternalRow]

  /** The rows of an array, some of which may be null; None if it is missing. */
  def rows(field: Int): Option[Array[InternalRow]]

  /**
   * The row before an update: where `old` has no field, that of the row after it.
   *
   * @param index of the row in the array `old`
   */
  def before(old: InternalRow, after: InternalRow, index: Int): InternalRow
}
