package io.github.dynamickafka.source.read

import org.apache.spark.SparkContext
import org.apache.spark.util.LongAccumulator

import io.github.dynamickafka.format.Layout

/**
 * What the tasks of a query need to decode records. Sent to executors.
 *
 * @param onAccess whether fields are decoded when they are accessed, where the format and the policy for bad records allow it
 * @param registries what the metadata says about the registry of a cluster, by cluster and stream
 */
private[source] final case class Decoding(
    layout: Layout,
    counts: DecodeCounts,
    deadLetters: Option[DeadLetterTargets] = None,
    onAccess: Boolean = false,
    registries: Map[(String, String), Map[String, String]] = Map.empty
)

/**
 * Bad records of a query since its start. Tasks add, the driver reads. A task that fails adds nothing; one that Spark repeats
 * although it had ended may add twice.
 *
 * @param errors records of which a key or value could not be decoded
 * @param dropped those of them that yielded no row, without dead letters
 */
private[source] final case class DecodeCounts(
    errors: LongAccumulator,
    dropped: LongAccumulator,
    deadLetters: LongAccumulator
)

private[source] object DecodeCounts {
  def apply(context: SparkContext): DecodeCounts =
    DecodeCounts(
      context.longAccumulator("dynamic-kafka decodeErrors"),
      context.longAccumulator("dynamic-kafka droppedRecords"),
      context.longAccumulator("dynamic-kafka deadLetterRecords")
    )
}

/**
 * Decodes the records of one task, whose clusters may have registries of their own. The thread of the task creates and uses it,
 * for all its partitions.
 */
private[source] final class TaskDecoder(val decoding: Decoding) {
  private var decoders = Map.empty[Layout, RecordDecoder]

  /** The rows of the records of a stream on a cluster. */
  def rows(cluster: String, stream: String): RecordRows = {
    val layout = decoding.layout.in(decoding.registries.getOrElse((cluster, stream), Map.empty))
    new DecodedRow(decoder(layout), layout, cluster, stream)
  }

  /** Whether a record may have several rows. */
  def several: Boolean = decoding.layout.value.change.isDefined

  /** At the end of the records: waits until all dead letters are stored. */
  def finish(): Unit = decoders.valuesIterator.foreach(_.finish())

  private def decoder(layout: Layout): RecordDecoder = decoders.getOrElse(
    layout, {
      val created = new RecordDecoder(decoding, layout)
      decoders += layout -> created
      created
    }
  )
}
