package io.github.dynamickafka.source.checkpoint

import scala.collection.immutable.SortedMap
import scala.util.Try
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.Redaction
import io.github.dynamickafka.error.{DynamicKafkaRuntimeException, Errors}
import io.github.dynamickafka.kafka.KafkaProperties
import io.github.dynamickafka.metadata.{Topology, TopologyCluster}
import io.github.dynamickafka.offset._
import io.github.dynamickafka.offset.replacement.RecordsRead
import io.github.dynamickafka.storage.{AtomicFiles, PlannedDeferrals}

/**
 * The state of the source in the checkpoint of the query, in addition to Spark's offset log: the start offsets of batch
 * 0, the connection properties of the clusters in logged batches, the times of the last records that were read, and the latest
 * offsets of Kafka when the query was stopped.
 *
 * Files are written atomically and, but for the last two, never modified: after a crash of the driver, either the old or the new state exists.
 *
 * @param location the path that Spark passes to this source; it is not always `sources/N`
 * @param options the options of this run that are stored, without secrets
 */
private[dynamickafka] final class SourceCheckpoint(
    location: String,
    hadoop: Configuration,
    options: SortedMap[String, String] = SortedMap.empty
) {
  import SourceCheckpoint._

  private val root = new Path(location)
  private val home = new Path(root, "dynamic-kafka")
  private val initialFile = new Path(home, "initial.json")
  private val latestFile = new Path(home, "latest.json")
  private val readFile = new Path(home, "read.json")
  private val topologies = new Path(home, "topology")
  private lazy val files = new AtomicFiles(root, hadoop)

  /** Ranges of logged batches that are read later. */
  val deferrals = new DeferralFiles(home, files)

  /** Where partitions have entered, until a committed batch has it. */
  val entries = new EntryDecisions(home, files)

  private lazy val place = root.getFileSystem(hadoop).makeQualified(root)

  /** Tells the sink of the query with which deferrals the tasks of a batch are planned. */
  def planned(): Unit = PlannedDeferrals.ofDriver.set(place, deferrals.known, this)

  /** The query is stopped. */
  def forgetPlan(): Unit = PlannedDeferrals.ofDriver.forget(place, this)

  /** What others keep in the checkpoint; where the location is in none, they keep nothing. */
  val ofQuery = new SparkCheckpoint(
    Option(root.getParent).flatMap(sources => Option(sources.getParent)).map(_.toString).filter(_.nonEmpty)
      .getOrElse(location),
    hadoop,
    files
  )

  /** The offsets of this source in batches that are logged and not committed, oldest first, as text. */
  def uncommitted: Seq[String] = ofQuery.uncommitted.flatMap(_.offsets).collect {
    case (source, Some(text)) if source.name == root.getName && text.startsWith("{") => text
  }

  // Written by the thread of the query alone.
  @volatile private var lastTopology: Option[(Long, RememberedTopology)] = None
  private var topologyRead = false
  private var damaged: Option[Throwable] = None

  /** @throws DynamicKafkaRuntimeException `PLAIN_KAFKA_CHECKPOINT` if the checkpoint belongs to Spark's Kafka source */
  def refusePlainKafka(): Unit =
    // Spark's Kafka source stores its initial offsets as batch 0 of a log in the same directory.
    if (files.exists(new Path(root, "0")) && !files.exists(home)) throw Errors.plainKafkaCheckpoint(location)

  def initial: Option[InitialOffset] =
    files.read(initialFile).map(SourceCheckpointJson.initial.read(_, initialFile.toString))

  /** What is read before Kafka. Used only after the start offset is stored, which never changes. */
  lazy val history: Option[HistoryPlan] = initial.flatMap(_.history)

  def writeInitial(initial: InitialOffset): Unit =
    files.createOwn(initialFile, SourceCheckpointJson.initial.write(initial))

  /**
   * The latest offsets of Kafka that the last run knew when it was stopped. They are returned once, because they would be
   * outdated after a run that is killed.
   */
  def takeLatestOffsets(): SortedMap[String, Positions] = {
    val left = files.read(latestFile)
    if (left.nonEmpty) files.delete(latestFile)
    left.flatMap(text => Try(CompositeOffsetJson.read(text).clusters).toOption).getOrElse(SortedMap.empty)
  }

  /** Leaves these latest offsets, by cluster, to the next run. */
  def leaveLatestOffsets(latest: SortedMap[String, Positions]): Unit =
    files.replace(latestFile, CompositeOffset(latest).json)

  /**
   * What earlier runs knew of the last records that they had read.
   *
   * @throws DynamicKafkaRuntimeException `UNKNOWN_OFFSET_VERSION`
   */
  def recordsRead: RecordsRead =
    try
      files.read(readFile).fold(RecordsRead.none)(SourceCheckpointJson.recordsRead.read(_, readFile.toString))
    catch {
      case NonFatal(e) if !SourceCheckpointJson.isOtherVersion(e) =>
        log.warn(
          "Ignoring {}, which cannot be read, and is required only when a cluster is replaced",
          readFile,
          e
        )
        RecordsRead.none
    }

  def writeRecordsRead(read: RecordsRead): Unit =
    files.replace(readFile, SourceCheckpointJson.recordsRead.write(read))

  /** The newest topology that this run or an earlier one stored; if its file is damaged, the newest one that is not. */
  def topology: Option[RememberedTopology] = {
    if (!topologyRead) {
      read()
      topologyRead = true
    }
    lastTopology.map(_._2)
  }

  /** The same, if the query has read or stored it: for other threads, which must not read files. */
  def knownTopology: Option[RememberedTopology] = lastTopology.map(_._2)

  /**
   * The newest topology, for a restart without the metadata service.
   *
   * @throws DynamicKafkaRuntimeException `INVALID_OFFSET` if its file is damaged
   */
  def newestTopology: Option[RememberedTopology] = {
    val found = topology
    damaged.foreach(throw _)
    found
  }

  private def read(): Unit = {
    val newest = numbered().reverse
    val read = newest.iterator.flatMap { n =>
      files.read(file(n)).map(text => Try(SourceCheckpointJson.topology.read(text, file(n).toString)))
    }.tapEach(_.failed.filter(e => !isDamage(e)).foreach(throw _))
    val (bad, good) = read.span(_.isFailure)
    damaged = bad.nextOption().flatMap(_.failed.toOption)
    damaged.foreach { e =>
      log.warn(
        "Part of the checkpoint is damaged; it is not required while the metadata service responds: {}",
        e.getMessage
      )
    }
    val topology = good.nextOption().flatMap(_.toOption)
    // The next file has the next number, even if no file can be read.
    lastTopology = newest.headOption.map(_ -> topology.getOrElse(RememberedTopology.empty))
  }

  private def isDamage(e: Throwable) = e match {
    case e: DynamicKafkaRuntimeException => e.getCondition.endsWith(".INVALID_OFFSET")
    case _ => false
  }

  /**
   * Stores what is required to plan a batch again, before the batch is logged. Returns when it is durable. Does nothing
   * if nothing has changed.
   *
   * @param end the offset that will be logged
   */
  def remember(current: Topology, end: CompositeOffset): Unit =
    remember(current, LoggedOffsets.namedIn(end))

  /** @param named the topics in offsets that may be logged, by cluster */
  def remember(current: Topology, named: LoggedOffsets.Named): Unit = {
    val next = RememberedTopology.next(topology, current, named).copy(options = options)
    if (!topology.contains(next) || damaged.isDefined) {
      val number = lastTopology.fold(0L)(_._1 + 1)
      files.createOwn(file(number), SourceCheckpointJson.topology.write(next))
      lastTopology = Some(number -> next)
      damaged = None
      files.delete(file(number - Kept))
    }
  }

  /** A cluster of the last topology, or a former cluster that offsets still contain. */
  def cluster(id: String): Option[TopologyCluster] =
    topology.toSeq.flatMap(_.all).flatMap(_.clusters.get(id)).headOption

  /** The stream of a (cluster, topic), or the name of the topic if the stream is unknown. */
  def streamOf(id: String, topic: String): String =
    topology.toSeq.flatMap(_.all).flatMap(_.clusters.get(id)).flatMap(_.topics.get(topic)).headOption
      .fold(topic)(_.stream)

  private def file(number: Long) = new Path(topologies, s"$number.json")

  private def numbered(): Seq[Long] =
    files.names(topologies).flatMap(_.stripSuffix(".json").toLongOption).sorted

}

private[source] object SourceCheckpoint {
  private val log = LoggerFactory.getLogger(classOf[SourceCheckpoint])
  private val Kept = 10L
}

/**
 * The deferrals of a query, in the folder `deferred` of the source's part of the checkpoint. `<batch>.json` is a deferral, and
 * `<batch>.entered` marks that its ranges are in Spark's offset log, so that it has no effect any more. Files are never modified.
 *
 * All methods return when the change is durable.
 */
private[source] final class DeferralFiles(home: Path, files: => AtomicFiles) {
  private val log = LoggerFactory.getLogger(classOf[DeferralFiles])
  private val folder = new Path(home, "deferred")
  private var texts = Map.empty[Long, String]

  /** The contents of the files as this run has read or written them, by batch, whatever the checkpoint has now. */
  def known: Map[Long, String] = texts

  /** @throws DynamicKafkaRuntimeException `INVALID_OFFSET` if a file is damaged that still has an effect */
  def read(): Deferrals = {
    val names = files.names(folder)
    val entered = names.flatMap(numberOf(_, ".entered")).toSet
    Deferrals(SortedMap.from(names.flatMap(numberOf(_, ".json")).flatMap { n =>
      files.read(deferral(n)).flatMap { text =>
        texts += n -> text
        parsed(n, text, entered(n))
      }.map(deferral => n -> Deferrals.Entry(deferral, entered(n)))
    }))
  }

  private def parsed(batch: Long, text: String, entered: Boolean): Option[Deferral] =
    try Some(SourceCheckpointJson.deferral.read(text, deferral(batch).toString))
    catch {
      case e: DynamicKafkaRuntimeException if entered =>
        log.warn("Ignoring a file that has no effect any more: {}", e.getMessage)
        None
    }

  /** @param batch one without a deferral */
  def write(batch: Long, of: Deferral): Unit = {
    // Left by a crash in [[delete]]: it would void the new deferral.
    if (!files.exists(deferral(batch))) files.delete(mark(batch))
    val text = SourceCheckpointJson.deferral.write(of)
    files.createOwn(deferral(batch), text)
    texts += batch -> text
  }

  def markEntered(batch: Long): Unit = files.replace(mark(batch), "")

  /** Deletes the mark last: without it, the deferral would have an effect again. */
  def delete(batch: Long): Unit = {
    files.delete(deferral(batch))
    files.delete(mark(batch))
    texts -= batch
  }

  private def numberOf(name: String, suffix: String): Option[Long] =
    if (name.endsWith(suffix)) name.stripSuffix(suffix).toLongOption else None

  private def deferral(batch: Long) = new Path(folder, s"$batch.json")
  private def mark(batch: Long) = new Path(folder, s"$batch.entered")
}

/**
 * The initial offset of the query.
 *
 * @param offset the start offset of batch 0
 * @param unresolved clusters of the metadata that were unreachable at the first start: their topics still start at
 *                   `startingOffsets`, not at the start position of new topics
 * @param unresolvedTopics the same for topics of reachable clusters, by cluster, that had partitions without an answer
 * @param history what is read before Kafka
 */
private[dynamickafka] final case class InitialOffset(
    offset: CompositeOffset,
    unresolved: Set[String],
    unresolvedTopics: Map[String, Set[String]] = Map.empty,
    history: Option[HistoryPlan] = None
) {
  def handOver: HandOver = history.fold(HandOver.none)(_.handOver)

  def isUnresolved(cluster: String, topic: String): Boolean =
    unresolvedTopics.get(cluster).exists(_.contains(topic))
}

/**
 * The clusters in the checkpoint that a composite offset can contain. Only properties on an allow-list and references to
 * secrets are stored, so that no secret is among them.
 *
 * @param current the topology of the last batch
 * @param former clusters and topics that are no longer in `current` but in the offsets
 * @param options what the command `plan` has to know of the options of the last batch
 */
private[dynamickafka] final case class RememberedTopology(
    current: Topology,
    former: Topology,
    options: SortedMap[String, String] = SortedMap.empty
) {
  def all: Seq[Topology] = Seq(current, former)
  def replacedClusterPolicy: String = options.getOrElse("replacedClusterPolicy", "fail")
}

private[dynamickafka] object RememberedTopology {
  val empty: RememberedTopology = RememberedTopology(Topology.empty, Topology.empty)

  /**
   * The state after a batch with this topology, without clusters and topics that are neither in it nor in `named`.
   *
   * @param named the topics in offsets that Spark logs, by cluster
   */
  def next(
      before: Option[RememberedTopology],
      topology: Topology,
      named: LoggedOffsets.Named
  ): RememberedTopology = {
    val current = topology.copy(
      unconfirmed = SortedMap.empty,
      histories = SortedMap.empty,
      clusters = topology.clusters.map { case (id, cluster) =>
        val kept = Redaction.storable(cluster.properties)
        val left = cluster.properties.keySet -- kept.keySet
        id -> cluster.copy(
          properties = kept,
          withheld = cluster.withheld ++ left.filter(KafkaProperties.isKnown)
        )
      }
    )
    val old = before.toSeq.flatMap(b => Seq(b.former, b.current)).flatMap(_.clusters)
    val former =
      old.groupMapReduce(_._1)(_._2)((older, newer) => newer.copy(topics = older.topics ++ newer.topics))
        .collect {
          case (id, cluster) if named.contains(id) =>
            id -> without(cluster, current.clusters.get(id), named(id))
        }
        .filter(_._2.topics.nonEmpty)
    RememberedTopology(current, Topology(SortedMap.from(former)))
  }

  private def without(cluster: TopologyCluster, current: Option[TopologyCluster], named: Set[String]) =
    cluster.copy(
      topics = cluster.topics.filter { case (t, _) => named(t) && !current.exists(_.topics.contains(t)) },
      patterns = Nil
    )
}
