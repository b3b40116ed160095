package io.github.dynamickafka.source.read

import org.apache.spark.SparkContext
import org.apache.spark.util.LongAccumulator

import io.github.dynamickafka.format.Layout

/**
 * What the tasks of a query need to decode records. Sent to executors.
 *
 * @param onAccess whether fields are decoded when they are accessed, where the format and the policy for bad records allow it
 * @param ofClusters by cluster and stream, where records have another format than `layout`, with the same columns
 */
private[source] final case class Decoding(
    layout: Layout,
    counts: DecodeCounts,
    deadLetters: Option[DeadLetterTargets] = None,
    onAccess: Boolean = false,
    ofClusters: Map[(String, String), Layout] = Map.empty
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
