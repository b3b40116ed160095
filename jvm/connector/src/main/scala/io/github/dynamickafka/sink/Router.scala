package io.github.dynamickafka.sink

import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.mutable
import scala.util.hashing.MurmurHash3

import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.config.{ClusterRouting, ProducerProperties, SinkOptions}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.{Topology, WriteEntry, WriteStream}

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

  // A cache: rows have few different destinations, and mostly the same as the row before.
  private val plans = mutable.HashMap.empty[Named, Plan]
  private var latest: (Named, Plan) = (Named(None, None, None), null)

  /** One element for each record to write. */
  def route(row: OutputRow): Seq[Route] = {
    if (latest._2 == null || !latest._1.in(row)) latest = destinations(row)
    latest._2 match {
      case Every(routes) => routes
      case of: OneOf => of.routes(choice(row.key, of))
    }
  }

  /** The stream of a row; None: neither the row nor the query names one. */
  def stream(row: OutputRow): Option[String] = row.stream.orElse(defaultStream)

  private def destinations(row: OutputRow): (Named, Plan) = {
    // A limit in case that rows contain many invalid names.
    if (plans.size >= MostPlans) plans.clear()
    val named = Named(row.stream, row.cluster, row.topic)
    named -> plans.getOrElseUpdate(named, planned(row))
  }

  private def choice(key: Array[Byte], of: OneOf): Int =
    if (key == null) math.floorMod(turn, of.routes.size.toLong).toInt
    else Rendezvous.choose(key, of.weights)

  private def planned(row: OutputRow): Plan = {
    def no(cluster: Option[String], reason: String) =
      Every(Seq(Left(Unroutable(
        stream(row),
        cluster,
        row.topic,
        reason,
        knownCluster = false
      ))))
    stream(row) match {
      case None => no(row.cluster, "the row has no value in a column 'stream', and 'streamId' is not set")
      case Some(id) => streams.get(id) match {
          case None => no(row.cluster, s"the metadata has no stream '$id'")
          case Some(stream) => row.cluster.fold(byRouting(stream, row, no(None, _)))(own(stream, _, row, no))
        }
    }
  }

  private def own(
      stream: WriteStream,
      cluster: String,
      row: OutputRow,
      no: (Option[String], String) => Plan
  ): Plan =
    stream.entry(cluster) match {
      case None =>
        no(
          Some(cluster),
          s"the cluster does not belong to the stream, which has ${stream.clusters.map(_.cluster).mkString(", ")}"
        )
      case Some(entry) =>
        entry.closed.fold[Plan](Every(Seq(at(stream, entry, row))))(why =>
          no(Some(cluster), s"the cluster takes no writes: $why")
        )
    }

  private def byRouting(stream: WriteStream, row: OutputRow, no: String => Plan): Plan =
    if (stream.writable.isEmpty)
      no(s"no cluster of the stream takes writes (${stream.clusters.map(e =>
          s"${e.cluster}: ${e.closed.getOrElse("")}"
        ).mkString(", ")})")
    else
      routing match {
        case ClusterRouting.Key =>
          OneOf(
            stream.writable.map(entry => Seq(at(stream, entry, row))),
            stream.writable.map(entry => Rendezvous.weight(entry.cluster)).toArray
          )
        case ClusterRouting.First => Every(stream.first.toSeq.map(at(stream, _, row)))
        case ClusterRouting.All => Every(stream.writable.map(at(stream, _, row)))
      }

  private def at(stream: WriteStream, entry: WriteEntry, row: OutputRow): Route = {
    def no(reason: String) =
      Unroutable(Some(stream.id), Some(entry.cluster), row.topic, reason, knownCluster = true)
    row.topic match {
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

  private final case class Named(stream: Option[String], cluster: Option[String], topic: Option[String]) {
    def in(row: OutputRow): Boolean = stream == row.stream && cluster == row.cluster && topic == row.topic
  }

  private sealed trait Plan
  private final case class Every(routes: Seq[Route]) extends Plan
  private final case class OneOf(routes: IndexedSeq[Seq[Route]], weights: Array[Long]) extends Plan
}

/** @param partitions the partitions of the topic that belong to the stream; None: all partitions */
private[sink] final case class Destination(
    cluster: String,
    topic: String,
    partitions: Option[IndexedSeq[Int]]
)

/** The reason why a row has no destination. */
private[sink] final case class Unroutable(
    stream: Option[String],
    cluster: Option[String],
    topic: Option[String],
    reason: String,
    knownCluster: Boolean
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

  /** @param properties of all clusters: one that has others now is asked again at once */
  def notResponding(topology: Topology, properties: Map[String, ProducerProperties]): Set[String] = {
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
      properties: Map[String, ProducerProperties]
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

  private final case class Failed(properties: ProducerProperties, atMs: Long, why: Throwable)

  /**
   * The clusters to ask next: with `key` all that take writes; with `first` the first one of each stream, and if it does not
   * respond, all others at once. None: it is known where records go.
   *
   * @param known whether a cluster responds
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
