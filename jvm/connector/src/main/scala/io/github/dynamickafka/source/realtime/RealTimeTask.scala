package io.github.dynamickafka.source.realtime

import org.apache.spark.sql.connector.read.InputPartition

import io.github.dynamickafka.source.read.RangeBundle

/**
 * What one task of a batch in real-time mode reads: any number of clusters, perhaps none.
 *
 * @param bundles one for each cluster
 * @param batch tells when the batch ends
 * @param skipUnreachable whether to wait for clusters to which no connection can be opened
 */
private[source] final case class RealTimeTask(
    bundles: Seq[RangeBundle],
    batch: BatchAddress,
    skipUnreachable: Boolean
) extends InputPartition {

  override def toString: String = bundles.mkString("RealTimeTask(", ", ", ")")
}

/** The end of a batch as a task asks for it: the endpoint of the query in the driver, and the number of the batch there. */
private[source] final case class BatchAddress(endpoint: String, batch: Long)

private[realtime] object RealTimeTasks {

  /**
   * Divides ranges into at most `count` parts of about the same size, in the same order, so that those of a cluster are in few
   * parts. There is at least one, which may be empty: without a task, a batch would end at once.
   */
  def divide[A](ranges: Seq[A], count: Int): Seq[Seq[A]] =
    if (ranges.isEmpty) Seq(Nil)
    else {
      val parts = math.min(math.max(1, count), ranges.size)
      def from(part: Int) = (part.toLong * ranges.size / parts).toInt
      (0 until parts).map(i => ranges.slice(from(i), from(i + 1)))
    }
}
