package io.github.dynamickafka.sink.route

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.hashing.MurmurHash3

/**
 * Selects the cluster of a key by rendezvous hashing: that with the highest hash of cluster and key. A cluster that is added
 * takes its share of the keys from all others, and no key moves between others; one that is removed gives its keys to all
 * others.
 *
 * Not the hash of Kafka's partitioner, with which the keys of a cluster would use only some of its partitions. The function
 * is part of the contract: changing it moves keys.
 */
private[route] object Rendezvous {
  private val Seed = 0x64796b61

  /** What the hash of a cluster contributes. */
  def weight(cluster: String): Long = {
    val id = cluster.getBytes(UTF_8)
    mixed((MurmurHash3.bytesHash(id, Seed).toLong << 32) | (MurmurHash3.bytesHash(id, ~Seed) & 0xffffffffL))
  }

  /** The position of the cluster in `weights`. */
  def choose(key: Array[Byte], weights: Array[Long]): Int = {
    val hash = MurmurHash3.bytesHash(key, Seed).toLong
    var best, i = 0
    var highest = Long.MinValue
    while (i < weights.length) {
      val score = mixed(weights(i) ^ hash)
      if (score > highest) {
        highest = score
        best = i
      }
      i += 1
    }
    best
  }

  /** The finalizer of SplitMix64. */
  private def mixed(x: Long): Long = {
    val a = (x ^ (x >>> 30)) * 0xbf58476d1ce4e5b9L
    val b = (a ^ (a >>> 27)) * 0x94d049bb133111ebL
    b ^ (b >>> 31)
  }
}
