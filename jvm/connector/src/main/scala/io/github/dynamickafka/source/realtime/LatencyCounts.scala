package io.github.dynamickafka.source.realtime

/**
 * How many records had which latency, in milliseconds: exact below 128 ms, and to 1/64 above. Pure.
 *
 * @param records by the bucket of their latency
 */
private[source] final case class LatencyCounts(records: Map[Int, Long]) {
  def ++(other: LatencyCounts): LatencyCounts =
    LatencyCounts(other.records.foldLeft(records) { case (all, (bucket, n)) =>
      all.updated(bucket, all.getOrElse(bucket, 0L) + n)
    })

  /** The least latency that this part of the records does not exceed; None without records. */
  def percentile(part: Double): Option[Long] = {
    val sorted = records.toSeq.sortBy(_._1)
    val rank = math.max(1L, math.ceil(sorted.map(_._2).sum * part).toLong)
    val passed = sorted.iterator.scanLeft(0L)(_ + _._2).drop(1)
    sorted.iterator.zip(passed).collectFirst { case ((bucket, _), n) if n >= rank => bucket }
      .map(LatencyCounts.greatest)
  }
}

private[source] object LatencyCounts {
  val none: LatencyCounts = LatencyCounts(Map.empty)

  private val Exact = 128
  private val Parts = 64

  /** 2^25^ ms are nine hours, beyond which all latencies count as one. */
  private val Octaves = 18
  val Buckets: Int = Exact + Parts * Octaves

  /** Clocks of brokers and executors may differ, so that a record seems to be from the future. */
  def bucket(ms: Long): Int =
    if (ms < Exact) math.max(0L, ms).toInt
    else {
      val octave = 56 - java.lang.Long.numberOfLeadingZeros(ms)
      if (octave >= Octaves) Buckets - 1
      else Exact + octave * Parts + ((ms >>> (octave + 1)) & (Parts - 1)).toInt
    }

  /** The greatest latency of a bucket. */
  def greatest(bucket: Int): Long =
    if (bucket < Exact) bucket.toLong
    else {
      val octave = (bucket - Exact) / Parts
      val part = (bucket - Exact) % Parts
      ((Parts + part + 1).toLong << (octave + 1)) - 1
    }
}

/** The latencies of the records of one cluster that a task has handed over since it reported last. Used by one thread. */
private[realtime] final class LatencyRecorder {
  private val counts = new Array[Long](LatencyCounts.Buckets)
  private var isEmpty = true

  /** @param timestamp of the record, in milliseconds since the epoch; negative if it has none */
  def add(timestamp: Long): Unit = if (timestamp >= 0) {
    counts(LatencyCounts.bucket(System.currentTimeMillis() - timestamp)) += 1
    isEmpty = false
  }

  /** What was added, as pairs of a bucket and the number of records. Forgets it. */
  def take(): Array[Long] =
    if (isEmpty) Array.empty
    else {
      val taken = counts.indices.iterator.filter(counts(_) > 0).flatMap(i => Seq(i.toLong, counts(i))).toArray
      java.util.Arrays.fill(counts, 0L)
      isEmpty = true
      taken
    }
}

/**
 * The latencies of the running batch of a query, and of the one before until there are any. Thread-safe.
 */
private[source] final class BatchLatencies {
  private var counts = Map.empty[String, LatencyCounts]
  private var isNext = false

  /** The records that are reported from now on are those of another batch. */
  def begin(): Unit = synchronized { isNext = true }

  /** @param reported by cluster, what [[LatencyRecorder.take]] has returned */
  def add(reported: Iterable[(String, Array[Long])]): Unit = synchronized {
    if (reported.nonEmpty && isNext) {
      isNext = false
      counts = Map.empty
    }
    reported.foreach { case (id, pairs) =>
      val more = LatencyCounts(pairs.grouped(2).map(pair => pair(0).toInt -> pair(1)).toMap)
      counts = counts.updated(id, counts.getOrElse(id, LatencyCounts.none) ++ more)
    }
  }

  /** In milliseconds; -1 for a cluster of which no record is known. */
  def of(cluster: String, part: Double): Long = synchronized(counts.get(cluster)).flatMap(_.percentile(part))
    .getOrElse(-1L)
}
