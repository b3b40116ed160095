package io.github.dynamickafka.sink

import java.lang.{Long => JLong}
import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.hashing.MurmurHash3

import org.apache.kafka.clients.producer.ProducerRecord
import org.apache.kafka.common.header.Header
import org.apache.kafka.common.header.internals.RecordHeader
import org.apache.kafka.common.utils.Utils
import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.config.{ClusterProperties, ClusterRouting, PartitionerChoice, SinkOptions}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.table.DeadLetterOptions
import io.github.dynamickafka.kafka.TaskSender.Record
import io.github.dynamickafka.metadata.{Topology, WriteEntry, WriteStream}

/**
 * Converts rows to Kafka records and routes them to clusters. A row that cannot be routed is a dead letter or an error.
 *
 * @param refused why no dead letters can be written to the chosen cluster
 */
private[sink] final class RecordRouting(
    router: Router,
    picker: PartitionPicker,
    deadLetters: Option[DeadLetterOptions],
    refused: Option[String] = None
) {

  /** @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException UNROUTABLE_ROW */
  def send(row: OutputRow)(send: (String, Record) => Unit): Unit = router.route(row).foreach {
    case Right(to) => row.invalid.toLeft(()).flatMap(_ => picker.pick(row, to)) match {
        case Right(partition) => send(to.cluster, record(row, to.topic, partition, row.headers))
        case Left(reason) =>
          letter(row, Unroutable(router.stream(row.to), Some(to.cluster), Some(to.topic), reason), send)
      }
    case Left(unroutable) => letter(row, unroutable, send)
  }

  private def letter(row: OutputRow, why: Unroutable, send: (String, Record) => Unit): Unit =
    deadLetters.flatMap(d => why.ownCluster.orElse(d.cluster).map(_ -> d.topic)) match {
      case Some((cluster, _)) if why.ownCluster.isEmpty && refused.isDefined =>
        throw why.copy(reason =
          s"${why.reason}; 'deadLetterCluster' is '$cluster', but ${refused.mkString}"
        ).error
      case Some((cluster, topic)) =>
        send(cluster, record(row, topic, None, row.headers ++ RecordRouting.reasons(why)))
      case None => throw why.error
    }

  private def record(row: OutputRow, topic: String, partition: Option[Int], headers: Seq[Header]): Record =
    new ProducerRecord(
      topic,
      partition.map(Int.box).orNull,
      row.timestampMs,
      row.key,
      row.value,
      headers.asJava
    )
}

private[dynamickafka] object RecordRouting {

  /** The dead letter for a record that brokers of its cluster refuse; None if it is one already. Without its timestamp. */
  def letter(topic: String, streamOf: (String, String) => Option[String])(
      cluster: String,
      record: Record,
      reason: String
  ): Option[(String, Record)] =
    Option.when(record.topic != topic) {
      val stream = streamOf(cluster, record.topic)
      val why = Unroutable(stream, Some(cluster), Some(record.topic), reason)
      val headers = record.headers.asScala.toSeq ++ reasons(why)
      cluster -> new Record(topic, null, record.key, record.value, headers.asJava)
    }

  private def reasons(why: Unroutable): Seq[Header] =
    Seq(
      "dynamic-kafka-reason" -> Some(why.reason),
      "dynamic-kafka-stream" -> why.stream,
      "dynamic-kafka-cluster" -> why.cluster,
      "dynamic-kafka-topic" -> why.topic
    ).collect { case (name, Some(text)) => new RecordHeader(name, text.getBytes(UTF_8)) }
}

/**
 * The columns of a row before routing. A null value is None, or null if Kafka accepts null.
 *
 * @param to where the row is written, as far as it says so
 * @param timestampMs in epoch milliseconds; null: the producer sets the timestamp
 * @param invalid the reason why Kafka does not accept the row; the columns concerned are left out
 */
private[sink] final case class OutputRow(
    key: Array[Byte],
    value: Array[Byte],
    headers: Seq[Header],
    timestampMs: JLong,
    partition: Option[Int],
    to: RowTarget,
    invalid: Option[String]
)

/** What a row names. Rows that name the same have mostly the same object. */
private[sink] final case class RowTarget(
    stream: Option[String] = None,
    cluster: Option[String] = None,
    topic: Option[String] = None
)

/**
 * Chooses the partitions of one task's records. Not thread-safe.
 *
 * @param count returns the number of partitions of a (cluster, topic), which may be outdated
 * @param countNow the same, with a request to the cluster
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

/**
 * Determines the destinations of the rows of one task, with the topology of the batch. Deterministic. Not thread-safe.
 *
 * @param turn determines the cluster of records without a key. It differs by task and batch. All such records of a task
 *             go to one cluster, so that a task waits for few clusters
 */
private[sink] final class Router(
    streams: collection.Map[String, WriteStream],
    routing: ClusterRouting,
    defaultStream: Option[String],
    turn: Long
) {
  import Router._

  // A cache: rows name few different destinations, and mostly the same as the row before.
  private val plans = mutable.HashMap.empty[RowTarget, Plan]
  private var latest: RowTarget = _
  private var plan: Plan = _

  /** One element for each record to write. */
  def route(row: OutputRow): Seq[Route] = {
    if (latest ne row.to) {
      plan = planOf(row.to)
      latest = row.to
    }
    if (plan.choices.size == 1) plan.choices.head
    else if (row.key == null) plan.choices(math.floorMod(turn, plan.choices.size.toLong).toInt)
    else plan.choices(Rendezvous.choose(row.key, plan.weights))
  }

  /** The stream of a row; None: neither the row nor the query names one. */
  def stream(to: RowTarget): Option[String] = to.stream.orElse(defaultStream)

  private def planOf(to: RowTarget): Plan = {
    // A limit in case that rows contain many invalid names.
    if (plans.size >= MostPlans) plans.clear()
    plans.getOrElseUpdate(to, planned(to))
  }

  private def planned(to: RowTarget): Plan = {
    def every(routes: Seq[Route]) = Plan(Vector(routes), Array.empty)
    def no(reason: String) =
      every(Seq(Left(Unroutable(stream(to), to.cluster, to.topic, reason, knownCluster = false))))
    def ofStream(stream: WriteStream): Plan = to.cluster match {
      case Some(cluster) => stream.entry(cluster) match {
          case None =>
            no(
              s"the cluster does not belong to the stream, which has ${stream.clusters.map(_.cluster).mkString(", ")}"
            )
          case Some(entry) =>
            entry.closed.fold(every(Seq(at(stream, entry, to.topic))))(why =>
              no(s"the cluster takes no writes: $why")
            )
        }
      case None if stream.writable.isEmpty =>
        no(s"no cluster of the stream takes writes (${stream.clusters.map(e =>
            s"${e.cluster}: ${e.closed.getOrElse("")}"
          ).mkString(", ")})")
      case None => routing match {
          case ClusterRouting.Key =>
            Plan(
              stream.writable.map(entry => Seq(at(stream, entry, to.topic))),
              stream.writable.map(entry => Rendezvous.weight(entry.cluster)).toArray
            )
          case ClusterRouting.First => every(stream.first.toSeq.map(at(stream, _, to.topic)))
          case ClusterRouting.All => every(stream.writable.map(at(stream, _, to.topic)))
        }
    }
    stream(to) match {
      case None => no("the row has no value in a column 'stream', and 'streamId' is not set")
      case Some(id) => streams.get(id).fold[Plan](no(s"the metadata has no stream '$id'"))(ofStream)
    }
  }

  private def at(stream: WriteStream, entry: WriteEntry, named: Option[String]): Route = {
    def no(reason: String) = Unroutable(Some(stream.id), Some(entry.cluster), named, reason)
    named match {
      case Some(topic) if entry.has(topic) =>
        Right(Destination(entry.cluster, topic, entry.partitions(topic)))
      case Some(_) =>
        Left(no(s"the topic does not belong to the stream, which has ${topicsOf(entry)} on this cluster"))
      case None =>
        entry.only.map(topic => Destination(entry.cluster, topic, entry.partitions(topic)))
          .toRight(
            no(
              s"the row has no value in a column 'topic', and the stream has ${topicsOf(entry)} on this cluster"
            )
          )
    }
  }

  private def topicsOf(entry: WriteEntry): String =
    (entry.topics.keys ++ entry.pattern.map(p => s"topics that match '$p'")).mkString(", ")
}

private[sink] object Router {
  type Route = Either[Unroutable, Destination]

  private val MostPlans = 10000

  /** @param weights of the clusters of the choices, from which a key chooses one */
  private final case class Plan(choices: IndexedSeq[Seq[Route]], weights: Array[Long])
}

/** @param partitions the partitions of the topic that belong to the stream; None: all partitions */
private[sink] final case class Destination(
    cluster: String,
    topic: String,
    partitions: Option[IndexedSeq[Int]]
)

private[sink] final case class Unroutable(
    stream: Option[String],
    cluster: Option[String],
    topic: Option[String],
    reason: String,
    knownCluster: Boolean = true
) {

  /** The cluster whose dead letter topic receives the row. */
  def ownCluster: Option[String] = cluster.filter(_ => knownCluster)

  def error: Errors.Runtime = Errors.unroutableRow(stream, cluster, topic, reason)
}

/**
 * Selects the cluster of a key by rendezvous hashing: that with the highest hash of cluster and key. A cluster that is added
 * takes its share of the keys from all others, and no key moves between others; one that is removed gives its keys to all
 * others.
 *
 * Not the hash of Kafka's partitioner, with which the keys of a cluster would use only some of its partitions. The function
 * is part of the contract: changing it moves keys.
 */
private[sink] object Rendezvous {
  private val Seed = 0x64796b61

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

/**
 * `writeFailover=next`: finds the clusters that do not respond when a batch starts, so that the batch is written without them.
 * Asks only clusters that determine where records go, all at once. One that did not respond is not asked again for
 * [[WriteFailover.HoldMs]]: otherwise each batch would wait for it, and a cluster that comes and goes would move its keys with
 * each batch. Not thread-safe.
 *
 * @param ask returns why a cluster does not respond; None: it does
 */
private[sink] final class WriteFailover(
    routing: ClusterRouting,
    ask: Seq[String] => Map[String, Option[Throwable]],
    clock: Clock
) {
  import WriteFailover._

  private var failed = Map.empty[String, Failed]

  /** @param properties of all clusters; a cluster with new ones is asked again at once */
  def notResponding(topology: Topology, properties: Map[String, ClusterProperties]): Set[String] = {
    val streams = topology.streams.values.toSeq
    val now = clock.monotonicMs()
    val before = failed
    failed = failed.filter { case (id, f) => properties.get(id).contains(f.properties) }
    val held = failed.collect { case (id, f) if now - f.atMs < HoldMs => id -> false }
    val known = asked(streams, held, properties)
    // A stream without a cluster is worse than another question.
    val again =
      streams.filter(_.open.forall(known.get(_).contains(false))).flatMap(_.open).filter(held.contains)
    val all = if (again.isEmpty) known else asked(streams, known -- again, properties)
    val out = all.collect { case (id, false) => id }.toSet
    tell(before, all)
    out
  }

  @annotation.tailrec
  private def asked(
      streams: Seq[WriteStream],
      known: Map[String, Boolean],
      properties: Map[String, ClusterProperties]
  ): Map[String, Boolean] = {
    val ids = unknown(streams, routing, known).toSeq.sorted
    if (ids.isEmpty) known
    else {
      val answers = ask(ids)
      val now = clock.monotonicMs()
      answers.foreach {
        case (id, Some(why)) => failed += id -> Failed(properties(id), now, why)
        case (id, None) => failed -= id
      }
      asked(streams, known ++ answers.map { case (id, why) => id -> why.isEmpty }, properties)
    }
  }

  private def tell(before: Map[String, Failed], known: Map[String, Boolean]): Unit = {
    for ((id, f) <- failed.toSeq.sortBy(_._1) if !before.contains(id))
      log.warn(
        s"Kafka cluster '$id' does not respond; batches are written without it ('writeFailover'): ${f.why.getMessage}"
      )
    for (id <- before.keys.toSeq.sorted if known.getOrElse(id, false))
      log.info(s"Kafka cluster '$id' responds again; batches are written to it")
  }
}

private[sink] object WriteFailover {
  private val log = LoggerFactory.getLogger(classOf[WriteFailover])

  /** A frozen cluster delays a batch by [[LongestMs]] in this time. */
  val HoldMs = 30000L
  private val LongestMs = 5000L

  /** How long a cluster may take to respond, in milliseconds. */
  def limitMs(options: SinkOptions): Long = math.min(LongestMs, options.clusters.requestTimeoutMs)

  private final case class Failed(properties: ClusterProperties, atMs: Long, why: Throwable)

  /**
   * The clusters to ask next: with `key` all that take writes; with `first` the first one of each stream, and if it does not
   * respond, all others at once. Empty: all destinations are known.
   */
  def unknown(streams: Seq[WriteStream], routing: ClusterRouting, known: Map[String, Boolean]): Set[String] =
    streams.flatMap { stream =>
      val ids = stream.open
      routing match {
        case ClusterRouting.First if ids.headOption.exists(!known.contains(_)) => ids.take(1)
        case ClusterRouting.First if ids.find(known.getOrElse(_, true)).exists(known.contains) => Nil
        case _ => ids.filterNot(known.contains)
      }
    }.toSet
}
