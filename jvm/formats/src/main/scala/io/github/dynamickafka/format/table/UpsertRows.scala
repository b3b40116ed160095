package io.github.dynamickafka.format.table

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.{ChangeLayout, SideSource}

/** What becomes of a row that is an upsert. */
private[dynamickafka] sealed trait UpsertKind extends Product with Serializable

private[dynamickafka] object UpsertKind {
  case object Value extends UpsertKind

  /** A null value. */
  case object Tombstone extends UpsertKind

  /** No record: the row after the update follows. */
  case object NoRecord extends UpsertKind
}

/**
 * How rows are upserts of a table with a key. Sent to executors.
 *
 * @param kind the index of the column with the kind of the change; None: all rows have values
 */
private[dynamickafka] final case class UpsertRows(kind: Option[Int], key: Option[SideSource]) {
  import UpsertRows._

  /** @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException ENCODE_FAILED */
  def of(row: InternalRow): UpsertKind = kind.filterNot(row.isNullAt).map(row.getUTF8String).fold[UpsertKind](
    UpsertKind.Value
  ) {
    case Insert | Postimage => UpsertKind.Value
    case Delete => UpsertKind.Tombstone
    case Preimage => UpsertKind.NoRecord
    case _ => throw Errors.encodeFailed("value", "upsert", Unknown)
  }

  /** Why the row has no key, if it has none. */
  def problem(row: InternalRow): Option[String] = key match {
    case Some(SideSource.Column(i, _)) => Option.when(row.isNullAt(i))(NoKey)
    case Some(fields: SideSource.Fields) => Option.when(fields.columns.forall(_.eval(row) == null))(NoKey)
    case None => Some(NoKey)
  }
}

private object UpsertRows {
  private val Insert = UTF8String.fromString("insert")
  private val Postimage = UTF8String.fromString("update_postimage")
  private val Preimage = UTF8String.fromString("update_preimage")
  private val Delete = UTF8String.fromString("delete")
  private val Unknown =
    s"the column '${ChangeLayout.TypeColumn}' has another value than ${Seq(Insert, Postimage, Preimage, Delete).map(
        k =>
          s"'$k'"
      ).mkString(", ")}"
  private val NoKey = "the columns of its key are null, and an upsert requires a key"
}
