package io.github.dynamickafka.source.plan

import scala.collection.mutable
import scala.util.hashing.MurmurHash3

/**
 * The preferred executors of the partitions of a batch.
 *
 * The preferred executor of a partition depends only on its cluster, topic and number and on the executors, so that a
 * partition can reuse its consumer with the records that it has prefetched: another cluster or topic in the batch moves
 * no partition. As many consecutive partitions of a topic as there are executors are on different executors. Another
 * executor moves a part of them, because each partition prefers executors in an order of its own (rendezvous hashing).
 *
 * Used by one thread, for one batch.
 *
 * @param executors distinct, in a stable order; empty if all tasks run in this process
 */
private[plan] final class Places(executors: IndexedSeq[String]) {
  private val seeds = executors.map(Places.hash).toArray
  private val rows = mutable.Map.empty[(String, String, Int), Array[Int]]

  def apply(cluster: String, topic: String, partition: Int): Option[String] =
    if (executors.isEmpty) None
    else {
      val row = partition / executors.size
      val taken = rows.getOrElseUpdate((cluster, topic, row), fill(cluster, topic, row * executors.size))
      Some(executors(taken(partition - row * executors.size)))
    }

  /** The executors of the partitions from `first` on, each of them once. */
  private def fill(cluster: String, topic: String, first: Int): Array[Int] = {
    val key = Places.hash(s"$cluster\u0000$topic")
    val free = Array.fill(seeds.length)(true)
    Array.tabulate(seeds.length) { i =>
      val mixed = Places.mix(key + first + i)
      var best = -1
      var highest = 0L
      var at = 0
      while (at < seeds.length) {
        if (free(at)) {
          val score = Places.mix(mixed ^ seeds(at))
          if (best < 0 || score > highest) {
            best = at
            highest = score
          }
        }
        at += 1
      }
      free(best) = false
      best
    }
  }
}

private object Places {

  private def hash(text: String): Long =
    mix((MurmurHash3.stringHash(text).toLong << 32) ^ text.hashCode.toLong)

  /** The finalizer of SplitMix64: neighbouring numbers become independent ones. */
  private def mix(number: Long): Long = {
    val a = (number ^ (number >>> 30)) * 0xbf58476d1ce4e5b9L
    val b = (a ^ (a >>> 27)) * 0x94d049bb133111ebL
    b ^ (b >>> 31)
  }
}
