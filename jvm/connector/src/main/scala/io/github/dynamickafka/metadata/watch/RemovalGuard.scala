package io.github.dynamickafka.metadata.watch

import scala.collection.immutable.SortedMap

import org.slf4j.LoggerFactory

import io.github.dynamickafka.config.SourceOptionSpecs.MaxRemovedClusters
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.topology.{Removal, Topology, TopologyCluster, WriteEntry, WriteStream}

/**
 * Guards a query against incomplete answers: what an answer lacks is removed only if the next answers lack it too, and an
 * answer that lacks too many clusters is a failure. What the metadata removes explicitly is removed at once. Otherwise a cluster
 * could lack the records of a batch for good. Used by one thread.
 *
 * @param name the name of the service, for logs
 * @param most the number of clusters that an answer may lack; None: half of those in use, at least one
 * @param confirmations the number of consecutive answers that have to lack something
 * @param subscribed whether the query subscribes to a stream: it may have subscribed to others before a restart
 * @param earlier the clusters that an earlier run has written to
 */
private[dynamickafka] final class RemovalGuard(
    name: String,
    most: Option[Int],
    confirmations: Int,
    subscribed: String => Boolean = _ => true,
    earlier: Set[String] = Set.empty
) {
  import RemovalGuard._

  private val log = LoggerFactory.getLogger(classOf[RemovalGuard])

  /** What the query uses: the last answer, and what it lacks but is not yet removed. */
  private var used: Option[Topology] = None

  /** In how many consecutive answers each of them was missing. */
  private var missing = Map.empty[Missing, Int]
  private var expected = earlier

  /**
   * Sets the topology that the query used before its first answer. Topics that a pattern matched are listed again by each run, so
   * they are not part of an answer.
   */
  def begin(before: Topology): Unit =
    used = Some(
      if (before.streams.nonEmpty) before
      else before.copy(clusters = before.clusters.map { case (id, cluster) =>
        id -> cluster.copy(
          topics = cluster.topics.filter { case (_, topic) => !topic.matched && subscribed(topic.stream) },
          patterns = cluster.patterns.filter(p => subscribed(p.topic.stream))
        )
      }.filter { case (_, cluster) => cluster.topics.nonEmpty || cluster.patterns.nonEmpty })
    )

  /** Throws an exception if the answer counts as a failure of the service. */
  def apply(answer: Topology): Guarded = {
    val before = used.getOrElse(answer)
    val ofEarlier =
      (expected -- before.clusters.keySet -- answer.clusters.keySet).toSeq.sorted.map(OfEarlier(_))
    val lacking = lacks(before, answer) ++ lacksStreams(before, answer) ++ ofEarlier
    refuseTooMany(before, lacking)
    val counted = lacking.map(what => what -> (missing.getOrElse(what, 0) + 1))
    val open = counted.filter { case (_, times) => times < confirmations }
    open.foreach { case (what, times) =>
      if (!missing.contains(what)) log.warn(
        s"The answer of metadata service '$name' lacks $what; it is removed if the next ${confirmations - times} " +
          "answers lack it too"
      )
    }
    missing = open.toMap
    if (open.isEmpty) expected = Set.empty
    val topology = open.foldLeft(answer) { case (all, (what, _)) => what.keep(before, all) }
    used = Some(topology.copy(unconfirmed = SortedMap.empty))
    Guarded(topology, open.nonEmpty)
  }

  private def refuseTooMany(before: Topology, lacking: Seq[Missing]): Unit = {
    def refuse(ids: Seq[String], inUse: Int, of: String, option: Option[String]): Unit = {
      val limit = most.getOrElse(math.max(1, inUse / 2))
      if (ids.size > limit) throw Errors.metadataInvalid(
        "the answer of the service",
        s"it lacks ${ids.size} of the $inUse clusters of $of (${ids.mkString(", ")})" +
          s"${option.fold("")(name => s", and '$name' is $limit")}. This counts as a failure of the service, not as a removal. To " +
          s"remove these clusters, set their 'state' in the metadata to 'removed'${option.fold("")(name =>
              s", or raise '$name'"
            )}"
      )
    }
    val ids = lacking.collect { case OfCluster(id) => id }
    refuse(ids, before.clusters.size, "the query", Some(MaxRemovedClusters.name))
    for (stream <- before.streams.values) {
      val gone = lacking.collect { case OfStreamCluster(stream.id, id) if stream.open.contains(id) => id }
      refuse(gone, stream.open.size, s"stream '${stream.id}'", None)
    }
  }
}

/** @param open whether the topology contains what the answer lacks, because further answers have to confirm it */
private[dynamickafka] final case class Guarded(topology: Topology, open: Boolean)

private object RemovalGuard {

  /** What an answer lacks that the query uses. */
  private sealed trait Missing extends Product with Serializable {

    /** The topology with it, as it was before. */
    def keep(before: Topology, answer: Topology): Topology
  }

  /** What a query lacks that reads, on this cluster. */
  private sealed trait MissingToRead extends Missing {
    def cluster: String

    /** The topology, in which it is marked as missing in the last answer. */
    protected def unconfirmed(topology: Topology)(mark: Removal => Removal): Topology =
      topology.copy(unconfirmed =
        topology.unconfirmed.updated(cluster, mark(topology.unconfirmed.getOrElse(cluster, Removal.none)))
      )

    protected def changed(answer: Topology)(change: TopologyCluster => TopologyCluster): Topology =
      answer.copy(clusters = answer.clusters.updatedWith(cluster)(_.map(change)))
  }

  private final case class OfCluster(cluster: String) extends MissingToRead {
    override def keep(before: Topology, answer: Topology): Topology = unconfirmed(
      answer.copy(clusters = answer.clusters + (cluster -> before.clusters(cluster)))
    )(_.copy(all = true))
    override def toString: String = s"cluster '$cluster'"
  }

  private final case class OfTopic(cluster: String, topic: String) extends MissingToRead {
    override def keep(before: Topology, answer: Topology): Topology = unconfirmed(changed(answer)(c =>
      c.copy(topics = c.topics + (topic -> before.clusters(cluster).topics(topic)))
    ))(others => others.copy(topics = others.topics + topic))
    override def toString: String = s"topic '$topic' of cluster '$cluster'"
  }

  private final case class OfPattern(cluster: String, stream: String, regex: String) extends MissingToRead {
    override def keep(before: Topology, answer: Topology): Topology = unconfirmed(changed(answer)(c =>
      c.copy(patterns =
        c.patterns ++ before.clusters(cluster).patterns.filter(p =>
          p.regex == regex && p.topic.stream == stream
        )
      )
    ))(others => others.copy(patterns = others.patterns + regex))
    override def toString: String = s"pattern '$regex' of cluster '$cluster'"
  }

  /** What a query lacks that writes, of this stream. */
  private sealed trait MissingToWrite extends Missing {
    def stream: String

    /** The answer with this stream, and with the clusters of the stream that it lacks. */
    protected def having(before: Topology, answer: Topology, now: WriteStream): Topology = answer.copy(
      streams = answer.streams + (stream -> now),
      clusters = before.clusters.filter { case (id, _) => now.entry(id).isDefined } ++ answer.clusters
    )
  }

  private final case class OfStream(stream: String) extends MissingToWrite {
    override def keep(before: Topology, answer: Topology): Topology =
      having(before, answer, before.streams(stream))
    override def toString: String = s"stream '$stream'"
  }

  private final case class OfStreamCluster(stream: String, cluster: String) extends MissingToWrite {
    override def keep(before: Topology, answer: Topology): Topology = {
      val old = before.streams(stream).clusters
      val at = old.indexWhere(_.cluster == cluster)
      val now = answer.streams(stream)
      // The first cluster stays the first one.
      val (left, right) = now.clusters.splitAt(at)
      having(before, answer, now.copy(clusters = left ++ (old(at) +: right)))
    }
    override def toString: String = s"cluster '$cluster' of stream '$stream'"
  }

  private final case class OfStreamTopics(stream: String, cluster: String) extends MissingToWrite {
    override def keep(before: Topology, answer: Topology): Topology = {
      val old = before.streams(stream).entry(cluster).get
      val now = answer.streams(stream)
      val clusters = now.clusters.map(e =>
        if (e.cluster == cluster) e.copy(topics = old.topics ++ e.topics, pattern = old.pattern) else e
      )
      having(before, answer, now.copy(clusters = clusters))
    }
    override def toString: String = s"topics of cluster '$cluster' of stream '$stream'"
  }

  /** A cluster of which only the id is known. */
  private final case class OfEarlier(cluster: String) extends Missing {
    override def keep(before: Topology, answer: Topology): Topology = answer
    override def toString: String = s"cluster '$cluster', which an earlier run has written to"
  }

  private def lacks(before: Topology, answer: Topology): Seq[Missing] =
    if (before.streams.nonEmpty) Nil
    else before.clusters.values.toSeq.flatMap { old =>
      answer.clusters.get(old.id) match {
        case Some(now) => inCluster(old, now).filterNot(explicit(answer, _))
        case None =>
          // Another cluster takes its place, so it does not lack by mistake.
          val isReplaced = answer.clusters.valuesIterator.exists(_.replaces.contains(old.id))
          Some(OfCluster(old.id)).filterNot(_ => isReplaced || answer.removals.get(old.id).exists(_.all))
      }
    }

  private def inCluster(old: TopologyCluster, now: TopologyCluster): Seq[Missing] = {
    val patterns = now.patterns.map(p => p.regex -> p.topic.stream).toSet
    (old.topics.keySet -- now.topics.keySet).toSeq.map(OfTopic(old.id, _)) ++
      old.patterns.map(p => p.regex -> p.topic.stream).filterNot(patterns).distinct
        .map { case (regex, stream) => OfPattern(old.id, stream, regex) }
  }

  private def explicit(answer: Topology, what: Missing): Boolean = what match {
    case OfTopic(id, topic) => answer.removes(id, topic)
    case OfPattern(id, _, regex) => answer.removals.get(id).exists(r => r.all || r.patterns(regex))
    case _ => false
  }

  private def lacksStreams(before: Topology, answer: Topology): Seq[Missing] =
    before.streams.values.toSeq.flatMap { old =>
      answer.streams.get(old.id).fold[Seq[Missing]](Seq(OfStream(old.id)))(inStream(before, old, answer, _))
    }

  private def inStream(
      before: Topology,
      old: WriteStream,
      answer: Topology,
      now: WriteStream
  ): Seq[Missing] = {
    val added = now.clusters.map(_.cluster).filter(old.entry(_).isEmpty).flatMap(answer.clusters.get)
    old.clusters.flatMap { entry =>
      now.entry(entry.cluster) match {
        case Some(of) => Option.when(isPart(entry, of))(OfStreamTopics(old.id, entry.cluster))
        // With two ids, the same Kafka cluster could get records twice.
        case None => Option.unless(added.exists(of =>
            of.replaces.contains(entry.cluster) || isSame(before.clusters(entry.cluster), of)
          ))(
            OfStreamCluster(old.id, entry.cluster)
          )
      }
    }
  }

  /** Whether topics are missing, and the metadata does not name others in their place. */
  private def isPart(old: WriteEntry, now: WriteEntry): Boolean =
    (now.topics.keySet.subsetOf(old.topics.keySet) && (now.pattern == old.pattern || now.pattern.isEmpty)) &&
      (now.topics.size < old.topics.size || now.pattern != old.pattern)

  /** Whether the id was renamed. */
  private def isSame(old: TopologyCluster, now: TopologyCluster): Boolean =
    (servers(old) & servers(now)).nonEmpty

  private def servers(of: TopologyCluster): Set[String] =
    of.bootstrapServers.split(',').map(_.trim).filter(_.nonEmpty).toSet
}
