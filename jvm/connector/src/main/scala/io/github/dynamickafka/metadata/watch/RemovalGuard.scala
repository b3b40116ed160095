package io.github.dynamickafka.metadata.watch

import java.{util => ju}

import scala.collection.immutable.SortedMap

import org.slf4j.LoggerFactory

import io.github.dynamickafka.config.ServiceOptions
import io.github.dynamickafka.config.SourceOptionSpecs.MaxRemovedClusters
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.{
  Removal,
  Topology,
  TopologyCluster,
  TopologyPattern,
  WriteEntry,
  WriteStream
}

/**
 * Guards a query against incomplete answers: what an answer lacks is removed only if the next answers lack it too, and an
 * answer that lacks too many clusters is a failure. What the metadata removes explicitly is removed at once. Unguarded, a cluster
 * could lack records of a batch for good. Used by one thread.
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

  /** Whether nothing is known of an earlier run. */
  def isNew: Boolean = used.isEmpty && expected.isEmpty

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
    val ofEarlier = (expected -- before.clusters.keySet -- answer.clusters.keySet).toSeq.sorted
      .map(id => Missing(s"cluster '$id', which an earlier run has written to")(identity))
    val lacking =
      (if (before.streams.isEmpty) lacks(before, answer) else lacksStreams(before, answer)) ++ ofEarlier
    refuseTooMany(before, lacking)
    val counted = lacking.map(what => what -> (missing.getOrElse(what, 0) + 1))
    val open = counted.filter { case (_, times) => times < confirmations }
    open.foreach { case (what, times) =>
      if (!missing.contains(what)) log.warn(
        s"The answer of metadata service '$name' lacks ${what.text}; it is removed if the next ${confirmations - times} " +
          "answers lack it too"
      )
    }
    missing = open.toMap
    if (open.isEmpty) expected = Set.empty
    val topology = open.foldLeft(answer) { case (all, (what, _)) => what.keep(all) }
    used = Some(topology.copy(unconfirmed = SortedMap.empty))
    Guarded(topology, open.nonEmpty)
  }

  private def refuseTooMany(before: Topology, lacking: Seq[Missing]): Unit = {
    def refuse(stream: Option[String], inUse: Iterable[String], of: String, option: Option[String]): Unit = {
      val ids = lacking.filter(_.stream == stream).flatMap(_.cluster).filter(inUse.toSet)
      val limit = most.getOrElse(math.max(1, inUse.size / 2))
      def also(text: String => String) = option.fold("")(text)
      if (ids.size > limit) throw Errors.metadataInvalid(
        "the answer of the service",
        s"it lacks ${ids.size} of the ${inUse.size} clusters of $of (${ids.mkString(", ")})" +
          s"${also(name => s", and '$name' is $limit")}. This counts as a failure of the service, not as a removal. To " +
          s"remove these clusters, set their 'state' in the metadata to 'removed'${also(name =>
              s", or raise '$name'"
            )}"
      )
    }
    refuse(None, before.clusters.keys, "the query", Some(MaxRemovedClusters.name))
    before.streams.values.foreach(s => refuse(Some(s.id), s.open, s"stream '${s.id}'", None))
  }
}

/** @param open whether the topology contains what the answer lacks, because further answers have to confirm it */
private[dynamickafka] final case class Guarded(topology: Topology, open: Boolean)

private object RemovalGuard {

  /**
   * What the query uses and an answer lacks.
   *
   * @param stream the stream of what is missing; None: of any stream
   * @param cluster the id, if it is a whole cluster of the query or of the stream
   * @param keep puts what is missing into an answer, as it was before
   */
  private final case class Missing(
      text: String,
      stream: Option[String] = None,
      cluster: Option[String] = None
  )(val keep: Topology => Topology)

  /** What a reading query uses and an answer lacks. */
  private def lacks(before: Topology, answer: Topology): Seq[Missing] =
    before.clusters.values.toSeq.flatMap { old =>
      val id = old.id
      val removed = answer.removals.getOrElse(id, Removal.none)

      /** Keeps what is missing, and marks it as unconfirmed. */
      def keep(change: TopologyCluster => TopologyCluster)(mark: Removal => Removal)(all: Topology) =
        all.copy(
          clusters = all.clusters.updated(id, change(all.clusters.getOrElse(id, old))),
          unconfirmed = all.unconfirmed.updated(id, mark(all.unconfirmed.getOrElse(id, Removal.none)))
        )
      answer.clusters.get(id) match {
        case Some(now) =>
          def key(p: TopologyPattern) = (p.regex, p.topic.stream)
          val topics = (old.topics -- now.topics.keys).toSeq.filterNot(t => removed(t._1)).map { topic =>
            Missing(s"topic '${topic._1}' of cluster '$id'")(
              keep(c => c.copy(topics = c.topics + topic))(r => r.copy(topics = r.topics + topic._1))
            )
          }
          val patterns = old.patterns.filterNot(p =>
            now.patterns.exists(key(_) == key(p)) || removed.all || removed.patterns(p.regex)
          )
          topics ++ patterns.map(p =>
            Missing(s"pattern '${p.regex}' of cluster '$id'", Some(p.topic.stream))(
              keep(c => c.copy(patterns = c.patterns :+ p))(r => r.copy(patterns = r.patterns + p.regex))
            )
          )
        case None =>
          // Another cluster takes its place, so it does not lack by mistake.
          val isReplaced = answer.clusters.valuesIterator.exists(_.replaces.contains(id))
          Option.unless(isReplaced || removed.all)(
            Missing(s"cluster '$id'", cluster = Some(id))(keep(identity)(_.copy(all = true)))
          )
      }
    }

  /** What a writing query uses and an answer lacks. */
  private def lacksStreams(before: Topology, answer: Topology): Seq[Missing] =
    before.streams.values.toSeq.flatMap { old =>
      val stream = Some(old.id)
      def keep(change: WriteStream => WriteStream)(all: Topology) = {
        val now = change(all.streams.getOrElse(old.id, old))
        all.copy(
          streams = all.streams.updated(old.id, now),
          clusters = before.clusters.filter { case (id, _) => now.entry(id).isDefined } ++ all.clusters
        )
      }
      answer.streams.get(old.id).fold(Seq(Missing(s"stream '${old.id}'", stream)(keep(identity)))) { now =>
        val added = now.clusters.map(_.cluster).filter(old.entry(_).isEmpty).flatMap(answer.clusters.get)
        old.clusters.zipWithIndex.flatMap { case (entry, at) =>
          val text = s"cluster '${entry.cluster}' of stream '${old.id}'"
          now.entry(entry.cluster) match {
            case Some(of) => Option.when(isPart(entry, of))(Missing(s"topics of $text", stream)(keep(s =>
                s.copy(clusters =
                  s.clusters.map(e =>
                    if (e.cluster != entry.cluster) e
                    else e.copy(topics = entry.topics ++ e.topics, pattern = entry.pattern)
                  )
                )
              )))
            // With two ids, the same Kafka cluster could get records twice.
            case None
                if added.exists(of =>
                  of.replaces.contains(entry.cluster) || isSame(before.clusters(entry.cluster), of)
                ) => None
            case None => Some(Missing(text, stream, Some(entry.cluster))(keep { s =>
                // The first cluster stays the first one.
                val (left, right) = s.clusters.splitAt(at)
                s.copy(clusters = left ++ (entry +: right))
              }))
          }
        }
      }
    }

  /** Whether topics are missing, and the metadata does not name others in their place. */
  private def isPart(old: WriteEntry, now: WriteEntry): Boolean =
    (now.topics.keySet.subsetOf(old.topics.keySet) && (now.pattern == old.pattern || now.pattern.isEmpty)) &&
      (now.topics.size < old.topics.size || now.pattern != old.pattern)

  /** Whether the id was renamed. */
  private def isSame(old: TopologyCluster, now: TopologyCluster): Boolean = {
    def servers(of: TopologyCluster) = of.bootstrapServers.split(',').map(_.trim).filter(_.nonEmpty)
    servers(old).exists(servers(now).contains(_))
  }
}

/**
 * The topologies that the queries and jobs of a driver have used last. A job asks the metadata service once, so that only an
 * earlier one, for example of the last batch of `foreachBatch`, knows what an incomplete answer lacks. Thread-safe.
 */
private[dynamickafka] object WrittenTopologies {

  /** @param stream None: all streams */
  final case class Source(service: ServiceOptions, stream: Option[String])

  private val Most = 100

  private val kept = new ju.LinkedHashMap[Source, Topology](16, 0.75f, true) {
    override def removeEldestEntry(eldest: ju.Map.Entry[Source, Topology]): Boolean = size > Most
  }

  def last(of: Source): Option[Topology] = synchronized(Option(kept.get(of)))

  def use(of: Source, topology: Topology): Unit = synchronized {
    val _ = kept.put(of, topology)
  }
}
