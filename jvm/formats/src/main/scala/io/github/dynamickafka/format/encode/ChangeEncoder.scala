package io.github.dynamickafka.format.encode

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.format.encode.SideSource.Fields
import io.github.dynamickafka.format.{ChangeLayout, Format}

/**
 * Encodes a change of one row as Flink does, with two kinds of records: an update is the deletion of the row before it and the
 * insertion of the row after it. The input has two columns, a struct with the fields and the kind of the change.
 */
private[encode] final class ChangeEncoder(side: Fields) extends Encoder {
  import ChangeEncoder._

  private val row = new JsonEncoder(side)
  private val width = side.schema.length
  private val (inserted, deleted) = side.format.format match {
    case Format.CanalJson => (canal("INSERT"), canal("DELETE"))
    case _ =>
      (
        Around("""{"before":null,"after":""", ""","op":"c"}"""),
        Around("""{"before":""", ""","after":null,"op":"d"}""")
      )
  }

  override def encode(change: InternalRow): Array[Byte] = {
    val around = change.getUTF8String(1) match {
      case Insert | Postimage => inserted
      case Delete | Preimage => deleted
      case other => throw new UnencodableException(
          s"the column '${ChangeLayout.TypeColumn}' ${if (other eq null) "is null" else "has another value"}; allowed are $Allowed"
        )
    }
    around(row.encode(change.getStruct(0, width)))
  }
}

private object ChangeEncoder {
  private val Insert = UTF8String.fromString("insert")
  private val Postimage = UTF8String.fromString("update_postimage")
  private val Preimage = UTF8String.fromString("update_preimage")
  private val Delete = UTF8String.fromString("delete")
  private val Allowed = Seq(Insert, Postimage, Preimage, Delete).map(k => s"'$k'").mkString(", ")

  private def canal(kind: String) = Around("""{"data":[""", s"""],"type":"$kind"}""")

  /** What is before and after the object of the row. */
  private final class Around(before: Array[Byte], after: Array[Byte]) {
    def apply(row: Array[Byte]): Array[Byte] = {
      val all = new Array[Byte](before.length + row.length + after.length)
      System.arraycopy(before, 0, all, 0, before.length)
      System.arraycopy(row, 0, all, before.length, row.length)
      System.arraycopy(after, 0, all, before.length + row.length, after.length)
      all
    }
  }

  private object Around {
    def apply(before: String, after: String): Around =
      new Around(before.getBytes(UTF_8), after.getBytes(UTF_8))
  }
}
