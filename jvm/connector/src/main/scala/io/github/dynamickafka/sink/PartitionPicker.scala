package io.github.dynamickafka.sink

import scala.collection.mutable

import org.apache.kafka.common.utils.Utils

import io.github.dynamickafka.config.PartitionerChoice

/**
 * Chooses the partitions of one task's records. Not thread-safe.
 *
 * @param count returns the number of partitions of a (cluster, topic), which may be outdated
 * @param countNow the same, with a request to the cluster
 * @param task the number of the task in its batch
 */
private[sink] final class PartitionPicker(
    choice: PartitionerChoice,
    count: (String, String) => Int,
    countNow: (String, String) => Int,
    task: Int
) {
  private val counts = mutable.HashMap.empty[(String, String), Int]
  private val requested = mutable.HashSet.empty[(String, String)]
  private val turns = mutable.HashMap.empty[(String, String), Int]

  /** Right(None): the partitioner of the producer chooses. Left: the partition of the row is invalid. */
  def pick(row: OutputRow, to: Destination): Either[String, Option[Int]] = row.partition match {
    case Some(own) => check(own, to).map(Some(_))
    case None => Right(chosen(row, to))
  }

  private def chosen(row: OutputRow, to: Destination): Option[Int] = choice match {
    case PartitionerChoice.Fixed => Some(nth(to, task))
    case PartitionerChoice.RoundRobin =>
      val place = (to.cluster, to.topic)
      val turn = turns.getOrElse(place, task)
      turns.update(place, turn + 1)
      Some(nth(to, turn))
    // The hash of Kafka's default partitioner, limited to the partitions that belong to the stream.
    case PartitionerChoice.Default if to.partitions.isDefined =>
      Some(nth(to, if (row.key == null) task else Utils.toPositive(Utils.murmur2(row.key))))
    case _ => None
  }

  private def nth(to: Destination, n: Int): Int = to.partitions match {
    case Some(some) => some(math.floorMod(n, some.size))
    case None => math.floorMod(n, known(to))
  }

  private def check(partition: Int, to: Destination): Either[String, Int] =
    if (to.partitions.exists(!_.contains(partition)))
      Left(
        s"partition $partition does not belong to the stream, which has partitions " +
          s"${to.partitions.toSeq.flatten.mkString(", ")} on this cluster"
      )
    else if (partition < 0 || partition >= atLeast(partition, to))
      Left(s"partition $partition does not exist: the topic has ${known(to)} partitions")
    else Right(partition)

  /**
   * Requests the number again before a partition counts as missing, because partitions may have been added. Once, because the rows of a
   * task are older than the answer.
   */
  private def atLeast(partition: Int, to: Destination): Int = {
    if (known(to) <= partition && requested.add((to.cluster, to.topic)))
      counts.update((to.cluster, to.topic), countNow(to.cluster, to.topic))
    known(to)
  }

  private def known(to: Destination): Int =
    counts.getOrElseUpdate((to.cluster, to.topic), count(to.cluster, to.topic))
}
