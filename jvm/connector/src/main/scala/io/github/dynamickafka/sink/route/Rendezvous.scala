package io.github.dynamickafka.sink.route

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.hashing.MurmurHash3

/**
 * Assigns keys to clusters by rendezvous hashing: each cluster has a weight for each key, and the cluster with the
 * greatest one gets the key. One more cluster of n moves 1/(n+1) of the keys on average, all of them to the new cluster,
 * and a cluster that leaves moves only its own keys. Independent of the order of the clusters. Immutable.
 *
 * @param clusters distinct ids, at least one
 */
private[sink] final class Rendezvous(clusters: IndexedSeq[String]) {
  import Rendezvous._

  private val seeds: Array[Long] = clusters.map(id => hash(id.getBytes(UTF_8))).toArray

  def size: Int = seeds.length

  /** The index of the cluster of this key. */
  def of(key: Array[Byte]): Int =
    if (seeds.length == 1) 0
    else {
      val ofKey = hash(key)
      var best = 0
      var bestWeight = mixed(ofKey ^ seeds(0))
      var i = 1
      while (i < seeds.length) {
        val weight = mixed(ofKey ^ seeds(i))
        if (weight > bestWeight || (weight == bestWeight && clusters(i) < clusters(best))) {
          best = i
          bestWeight = weight
        }
        i += 1
      }
      best
    }
}

private[sink] object Rendezvous {
  private val LowSeed = 0x64796b61
  private val HighSeed = 0x6b61666b

  /** Not the hash of Kafka's partitioner, with which the keys of a cluster would use only some of its partitions. */
  private def hash(bytes: Array[Byte]): Long =
    (MurmurHash3.bytesHash(bytes, HighSeed).toLong << 32) | (MurmurHash3.bytesHash(bytes, LowSeed) & 0xffffffffL)

  /** The finalizer of SplitMix64 (Steele, Lea, Flood 2014): each bit of the input changes half of the output. */
  private def mixed(bits: Long): Long = {
    val a = (bits ^ (bits >>> 30)) * 0xbf58476d1ce4e5b9L
    val b = (a ^ (a >>> 27)) * 0x94d049bb133111ebL
    b ^ (b >>> 31)
  }
}
