package io.github.dynamickafka.source.read

import java.util.concurrent.TimeUnit

import scala.collection.immutable.SortedMap
import scala.collection.mutable
import scala.util.hashing.MurmurHash3

import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.{DynamicKafkaQueries, SparkSession}

import io.github.dynamickafka.config.SourceOptions
import io.github.dynamickafka.kafka.ConsumerSettings
import io.github.dynamickafka.offset.{BudgetShare, OffsetRange}
import io.github.dynamickafka.source.cluster.ClusterStream

/** Plans the ranges of all clusters as the tasks of one batch, for [[ReaderFactory]]. Makes no requests. */
private[source] final class BatchPlanner(options: SourceOptions) {
  private val splits =
    Splits(options.batches.limits.minPartitions, options.batches.limits.maxRecordsPerPartition)
  private val settings = BatchPlanner.settings(options)

  /** @param stream the stream id of a (cluster, topic) */
  def partitions(
      ranges: SortedMap[String, Seq[OffsetRange]],
      clusters: String => ClusterStream,
      stream: (String, String) => String
  ): Array[InputPartition] = BatchPlanner.partitions(
    ranges,
    clusters(_).config.consumer,
    stream,
    settings,
    splits,
    SparkSession.active.sparkContext.defaultParallelism,
    DynamicKafkaQueries.executors(SparkSession.active)
  )
}

private[source] object BatchPlanner {

  /** The settings of all tasks of a query. */
  def settings(options: SourceOptions): ReadSettings = {
    // The default timeout of Spark's Kafka reader.
    val silence = SparkSession.active.sparkContext.getConf.getTimeAsSeconds("spark.network.timeout", "120s")
    ReadSettings(
      options.records.includeHeaders,
      options.clusters.failOnDataLoss,
      TimeUnit.SECONDS.toMillis(silence)
    )
  }

  /**
   * @param stream the stream id of a (cluster, topic)
   * @param cores the current number of cores of the session
   * @param executors the executors, as preferred locations
   */
  def partitions(
      ranges: SortedMap[String, Seq[OffsetRange]],
      consumers: String => ConsumerSettings,
      stream: (String, String) => String,
      settings: ReadSettings,
      splits: Splits,
      cores: Int,
      executors: IndexedSeq[String]
  ): Array[InputPartition] = {
    val parts = splits(ranges.values.toSeq)
    val bundles = if (splits.asked) parts.map(_.map(Seq(_))) else Bundles(parts, cores)(_.size)
    val places = new Places(executors)
    val all = ranges.toSeq.zip(bundles).flatMap { case ((id, whole), ofCluster) =>
      val consumer = consumers(id)
      val undivided = whole.toSet
      ofCluster.map { bundle =>
        RangeBundle(
          consumer,
          bundle.map(range => StreamRange(stream(id, range.topic), range)),
          settings,
          // A divided range has no preferred location, because all parts of a partition would go to one executor.
          Some(bundle.head).filter(undivided).flatMap(r => places(id, r.topic, r.partition)).toSeq
        )
      }
    }
    val tasks = if (splits.asked) all.map(Seq(_)) else Bundles.shared(all, cores)(_.size, _.locations)
    val slots = if (executors.isEmpty) cores else cores / executors.size
    if (tasks.forall(_.size == 1)) NextTasks(tasks.flatten, slots, executors.size).toArray
    else
      tasks.map {
        case Seq(one) => one
        // Fetches from its next clusters itself.
        case several => SharedTask(several)
      }.toArray
  }
}

/**
 * Distributes the ranges of a batch over tasks. Pure.
 *
 * A partition is a task, as in Spark's Kafka source, up to [[TasksPerCore]] tasks per core. With more partitions, those
 * with few records share tasks, because the overhead of the task and its consumer would exceed the cost of reading the
 * records.
 */
private[source] object Bundles {
  val TasksPerCore = 4

  /** The maximum number of records of a task with several ranges; reading them takes about 10 ms. */
  val SmallTask = 10000L

  /**
   * @param size the number of records of a range
   * @param cores the current number of cores of the session
   * @return the ranges of each cluster in bundles, in the same order
   */
  def apply[R](byCluster: Seq[Seq[R]], cores: Int)(size: R => Long): Seq[Seq[Seq[R]]] = {
    val all = byCluster.flatten
    if (all.size <= tasks(cores)) byCluster.map(_.map(Seq(_)))
    else {
      val full = fill(all.map(size), cores)
      byCluster.map(pack(_, full, all.size)(size))
    }
  }

  /**
   * Combines bundles of several clusters in one task, if there are more bundles than tasks that are worthwhile.
   *
   * @param size the number of records of a bundle
   * @param cores the current number of cores of the session
   * @param place the preferred location of a bundle: only bundles with the same location share a task
   * @return all bundles, grouped by task; those of one location in the same order
   */
  def shared[B](bundles: Seq[B], cores: Int)(size: B => Long, place: B => Any): Seq[Seq[B]] =
    if (bundles.size <= tasks(cores)) bundles.map(Seq(_))
    else {
      // Connecting to clusters dominates the time, so the number of bundles per task is limited too.
      val most = (bundles.size + tasks(cores) - 1) / tasks(cores)
      val full = fill(bundles.map(size), cores)
      val byPlace = bundles.groupBy(place)
      bundles.map(place).distinct.flatMap(at => pack(byPlace(at), full, most)(size))
    }

  private def tasks(cores: Int): Int = math.max(1, cores) * TasksPerCore

  private def fill(sizes: Seq[Long], cores: Int): Long =
    math.min(SmallTask, math.max(1L, sizes.sum / tasks(cores)))

  private def pack[A](all: Seq[A], fill: Long, most: Int)(size: A => Long): Seq[Seq[A]] =
    all.foldLeft(List.empty[(Long, List[A])]) {
      case ((full, last) :: before, next) if full + size(next) <= fill && last.size < most =>
        (full + size(next), next :: last) :: before
      case (packs, next) => (size(next), List(next)) :: packs
    }.map(_._2.reverse).reverse
}

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
private[read] final class Places(executors: IndexedSeq[String]) {
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

/**
 * The tasks of a batch that are likely to follow a task on its executor. Pure.
 *
 * Spark starts the tasks of an executor in their order, as many at a time as it has slots. Therefore with two slots
 * a task is followed by the second one after it, and so on. If the order differs, consumers are opened that are not used at
 * once.
 */
private[read] object NextTasks {

  /** How many tasks ahead the clusters are looked for that a slot has not read yet: opening takes longer than reading. */
  val Waves = 3

  /**
   * Names in each bundle the next one, and of the following ones the first of each further cluster, so that a cluster has
   * been connected to when it is its turn.
   *
   * @param tasks a task for each, in their order
   * @param slots the tasks that an executor runs at a time
   * @param executors how many; 0 if all tasks run in this process
   */
  def apply(tasks: Seq[RangeBundle], slots: Int, executors: Int): Seq[RangeBundle] = {
    // Without a preferred location, any executor may run a task.
    val (placed, anywhere) = tasks.zipWithIndex.partition(executors == 0 || _._1.locations.nonEmpty)
    val byPlace = placed.groupBy(_._1.locations).values
    val named = byPlace.flatMap { ofPlace =>
      val inOrder = ofPlace.map(_._1).toIndexedSeq
      ofPlace.zipWithIndex.map { case ((bundle, index), i) =>
        val later = (1 to Waves).flatMap(wave => inOrder.lift(i + wave * math.max(1, slots)))
        val others = later.drop(1).filter(_.cluster != bundle.cluster)
        (bundle.copy(next = (later.take(1) ++ others).distinctBy(_.cluster)), index)
      }
    }
    (named ++ anywhere).toSeq.sortBy(_._2).map(_._1)
  }
}

/**
 * Splits ranges for `maxRecordsPerPartition`, then for `minPartitions`, like Spark's Kafka source but over all
 * clusters. Pure. Ranges and their parts stay in order. Only the first part of a range starts at a position of the query, so
 * only its log has to be compared with a leader epoch: the other parts start at offsets that were found in the log as it is.
 *
 * @param minPartitions the minimum number of parts, if there are as many records; larger ranges are split into more
 *                      parts
 * @param maxRecords the maximum number of records of a part
 */
private[source] final case class Splits(minPartitions: Option[Int], maxRecords: Option[Long]) {

  /** Whether the user has set the number or size of tasks. */
  def asked: Boolean = minPartitions.isDefined || maxRecords.isDefined

  def apply(byCluster: Seq[Seq[OffsetRange]]): Seq[Seq[OffsetRange]] = {
    val small = byCluster.map(_.flatMap(range => maxRecords.fold(Seq(range))(inPartsOf(range, _))))
    minPartitions.filter(_ > small.iterator.map(_.size).sum).fold(small)(inParts(small, _))
  }

  /**
   * Distributes parts over ranges like records over partitions: one for each range, the others in proportion to size.
   */
  private def inParts(byCluster: Seq[Seq[OffsetRange]], parts: Int): Seq[Seq[OffsetRange]] = {
    val shares = BudgetShare(byCluster.flatten.map(_.size).toIndexedSeq, parts.toLong).iterator
    byCluster.map(_.flatMap(range => split(range, math.max(1L, shares.next()))))
  }

  private def inPartsOf(range: OffsetRange, most: Long): Seq[OffsetRange] =
    split(range, range.size / most + (if (range.size % most == 0) 0L else 1L))

  private def split(range: OffsetRange, parts: Long): Seq[OffsetRange] = {
    def at(part: Long) = (BigInt(range.from) + BigInt(range.size) * part / parts).toLong
    (0L until parts).map(part =>
      range.copy(from = at(part), until = at(part + 1), epoch = range.epoch.filter(_ => part == 0))
    )
  }
}

private[source] object Splits {
  val none: Splits = Splits(None, None)
}
