package io.github.dynamickafka.format.table

import java.{util => ju}

import scala.util.control.NonFatal

import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StructType, VariantType}

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format._

/**
 * Decodes of each record the fields that are accessed. Spark does not tell the source of a streaming query which columns the
 * query needs, but the code that it generates accesses only these. Used by one task. Not thread-safe.
 *
 * The first records are decoded as a whole. The accesses to them tell which fields the records that follow need; an access to
 * another field starts this again. A record is bad if the fields that are accessed cannot be decoded, however many were tried: a
 * failure is only returned after it was repeated with no other fields. So the rows do not depend on where a task began, except for
 * JSON with a line break or tab in a BINARY value: as with `from_json`, it is bad where the value is not read.
 *
 * @param values receives the fields
 * @param make makes the decoder of some fields
 */
private[dynamickafka] final class LazyDecoder(
    side: SideLayout,
    values: DecodedValues,
    make: SideLayout => Decoder = Decoders.of(_)
) {
  import LazyDecoder._

  private val nothing = new Array[Boolean](side.schema.length)
  private val whole = of(mask(side.wanted))
  private val accessed = nothing.clone()

  /** Decodes the fields that were accessed; null as long as records are decoded as a whole. */
  private var narrow: Part = _
  private var trial = Trial

  /** Decoders of few fields, for records that are bad. */
  private val exact = new ju.HashMap[Seq[Boolean], Part]

  private var cluster: String = _
  private var bytes: Array[Byte] = _
  private var reported = false

  /** The fields of the record that are in `values`. */
  private var covered = nothing

  /** The records that follow are of this cluster. */
  def from(next: String): Unit = cluster = next

  /** @param next the bytes of the next record, or null */
  def begin(next: Array[Byte]): Unit = {
    bytes = next
    reported = false
    if (next eq null) {
      values.clear()
      covered = whole.fields
    } else covered = nothing
  }

  /** Notes an access to a field; returns whether the field has been decoded. */
  def has(field: Int): Boolean = {
    accessed(field) = true
    covered(field)
  }

  /**
   * Decodes a field that [[has]] has returned false for.
   *
   * @return null if the record is good, or if its failure has been returned
   */
  def decode(field: Int): DecodeFailure = {
    val before = covered
    val part = if (before eq nothing) first(field) else again()
    val tried = run(part)
    val failure =
      if (tried eq null) tried else run(exactly(before, field))
    if (reported) null
    else {
      reported = failure ne null
      failure
    }
  }

  private def first(field: Int): Part =
    if (narrow ne null) { if (narrow.fields(field)) narrow else again() }
    else if (trial > 0) {
      trial -= 1
      whole
    } else {
      narrow = if (ju.Arrays.equals(accessed, whole.fields)) whole else of(accessed.clone())
      narrow
    }

  private def again(): Part = {
    narrow = null
    trial = Trial
    whole
  }

  private def exactly(before: Array[Boolean], field: Int): Part = {
    val fields = before.clone()
    fields(field) = true
    exact.computeIfAbsent(fields.toSeq, _ => of(fields))
  }

  private def run(part: Part): DecodeFailure = {
    part.decoder.from(cluster)
    covered = part.fields
    part.decoder.decode(bytes, values)
  }

  private def mask(indexes: Seq[Int]): Array[Boolean] = {
    val fields = nothing.clone()
    indexes.foreach(fields(_) = true)
    fields
  }

  private def of(fields: Array[Boolean]): Part =
    Part(fields, make(side.copy(wanted = fields.indices.filter(fields(_)))))
}

private[dynamickafka] object LazyDecoder {

  /** How many records are decoded as a whole, until their accesses are taken for those of all. */
  val Trial = 32

  /** Whether a field can be decoded without others. What is left of a bad record would depend on which, so none may be left. */
  def fits(side: SideLayout): Boolean =
    side.change.isEmpty && side.wanted.size > 1 &&
      side.format.format.decodesFields &&
      side.format.parseErrors == ParseErrors.Fail

  private final case class Part(fields: Array[Boolean], decoder: Decoder)
}

/** Makes the decoder of keys or values, for one task. */
private[dynamickafka] object Decoders {

  /** @param context shows the records, one after the other */
  def of(side: SideLayout, context: ReadContext = null): Decoder = {
    val decoder = side.format.format.decoder(side)
    decoder.within(context)
    TaskResource.closeAtEnd(() => decoder.close())
    decoder
  }

  /**
   * Makes a decoder of all fields on the driver, because types and values that a format does not support are found when
   * it is made.
   */
  def check(side: SideLayout): Unit = {
    val all = side.change.fold(side)(c => side.copy(schema = c.payload, wanted = c.payload.indices))
    Variants.problem(side.format.format, all.schema).foreach(reason => throw Errors.invalidSchema(reason))
    try side.format.format.decoder(all).close()
    catch {
      case NonFatal(e) =>
        throw Errors.invalidSchema(
          s"the format '${side.format.format.name}' with its options cannot have the columns " +
            s"${side.schema.toDDL}: ${e.getMessage}"
        )
    }
  }
}

/** Tells which formats have columns of type VARIANT. Pure. */
private[format] object Variants {

  /** Why the columns cannot be those of a format, if one of them is VARIANT. */
  def problem(format: Format, columns: StructType): Option[String] =
    columns.find(f => !format.hasVariants && contains(f.dataType)).map(f =>
      s"the column '${f.name}' has the type VARIANT, which the format '${format.name}' does not have. It is a type of " +
        Formats.registered.names(_.hasVariants) + "."
    )

  private def contains(dataType: DataType): Boolean = dataType match {
    case VariantType => true
    case StructType(fields) => fields.exists(f => contains(f.dataType))
    case ArrayType(element, _) => contains(element)
    case MapType(key, value, _) => contains(key) || contains(value)
    case _ => false
  }
}
