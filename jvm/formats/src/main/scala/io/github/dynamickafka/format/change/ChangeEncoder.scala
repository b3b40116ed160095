package io.github.dynamickafka.format.change

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.format.SideSource.Fields
import io.github.dynamickafka.format.json.JsonEncoder
import io.github.dynamickafka.format.{ChangeLayout, Encoder, UnencodableException}

/**
 * Encodes a change of one row as Flink does, with two kinds of records: an update is the deletion of the row before it and the
 * insertion of the row after it. The input has two columns, a struct with the fields and the kind of the change.
 *
 * @param inserted what surrounds a row that was inserted, and `deleted` one that was deleted
 */
private[change] final class ChangeEncoder(side: Fields, inserted: SurroundingText, deleted: SurroundingText)
    extends Encoder {
  import ChangeEncoder._

  private val row = new JsonEncoder(side)
  private val width = side.schema.length

  override def encode(change: InternalRow): Array[Byte] = {
    val surrounding = change.getUTF8String(1) match {
      case Insert | Postimage => inserted
      case Delete | Preimage => deleted
      case other => throw new UnencodableException(
          s"the column '${ChangeLayout.TypeColumn}' ${if (other eq null) "is null" else "has another value"}; allowed are $Allowed"
        )
    }
    surrounding(row.encode(change.getStruct(0, width)))
  }
}

private object ChangeEncoder {
  private val Insert = UTF8String.fromString("insert")
  private val Postimage = UTF8String.fromString("update_postimage")
  private val Preimage = UTF8String.fromString("update_preimage")
  private val Delete = UTF8String.fromString("delete")
  private val Allowed = Seq(Insert, Postimage, Preimage, Delete).map(k => s"'$k'").mkString(", ")
}

/** What is before and after the object of the row. */
private[change] final class SurroundingText(before: String, after: String) {
  private val (start, end) = (before.getBytes(UTF_8), after.getBytes(UTF_8))

  def apply(row: Array[Byte]): Array[Byte] = {
    val all = new Array[Byte](start.length + row.length + end.length)
    System.arraycopy(start, 0, all, 0, start.length)
    System.arraycopy(row, 0, all, start.length, row.length)
    System.arraycopy(end, 0, all, start.length + row.length, end.length)
    all
  }
}
