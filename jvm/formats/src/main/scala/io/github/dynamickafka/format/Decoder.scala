package io.github.dynamickafka.format

/** Decodes keys or values. Used by one task. Not thread-safe. */
private[dynamickafka] trait Decoder {

  /** The records that follow are of this cluster, whose registry may be another one. Called for each record. */
  def from(cluster: String): Unit = {
    val _ = cluster
  }

  /** Shows the record whose bytes are decoded. Called once, before the first record. */
  def within(context: ReadContext): Unit = {
    val _ = context
  }

  /** Called at the end of the task. */
  def close(): Unit = ()

  /**
   * @param bytes not null
   * @param into receives the wanted fields, also those that could be decoded of a bad record
   * @return null if the record is good
   */
  def decode(bytes: Array[Byte], into: DecodedValues): DecodeFailure
}

/**
 * Why a record is bad. Contains nothing of the record but names of the schema.
 *
 * @param field the column that could not be decoded, if it is known
 * @param unparsable whether nothing of the record could be decoded
 * @param schemaId of a format with a registry
 */
private[dynamickafka] final case class DecodeFailure(
    reason: String,
    field: Option[String],
    unparsable: Boolean,
    schemaId: Option[Int] = None
)
