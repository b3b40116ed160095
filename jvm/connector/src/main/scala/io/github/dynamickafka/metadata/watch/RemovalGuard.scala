package io.github.dynamickafka.metadata.watch

import scala.collection.immutable.SortedMap

import org.slf4j.LoggerFactory

import io.github.dynamickafka.config.SourceOptionSpecs.MaxRemovedClusters
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.topology.{Removal, Topology, TopologyCluster}

/**
 * Guards a query against incomplete answers: what an answer lacks is removed only if the next answers lack it too, and an
 * answer that lacks too many clusters is a failure. What the metadata removes explicitly is removed at once.
 *
 * @param name the name of the service, for logs
 * @param most the number of clusters that an answer may lack; None: half of those in use, at least one
 * @param confirmations the number of consecutive answers that have to lack a cluster or topic
 * @param subscribed whether the query subscribes to a stream: it may have subscribed to others before a restart
 */
private[dynamickafka] final class RemovalGuard(
    name: String,
    most: Option[Int],
    confirmations: Int,
    subscribed: String => Boolean = _ => true
) extends Guard[Topology] {
  import RemovalGuard._

  private val log = LoggerFactory.getLogger(classOf[RemovalGuard])

  /** What the query uses: the last answer, and what it lacks but is not yet removed. */
  private var used: Option[Topology] = None

  /** In how many consecutive answers each of them was missing. */
  private var missing = Map.empty[Missing, Int]

  /** Topics that a pattern matched are listed again by each run, so they are not part of an answer. */
  override def begin(before: Topology): Unit =
    used = Some(before.copy(clusters = before.clusters.map { case (id, cluster) =>
      id -> cluster.copy(
        topics = cluster.topics.filter { case (_, topic) => !topic.matched && subscribed(topic.stream) },
        patterns = cluster.patterns.filter(p => subscribed(p.topic.stream))
      )
    }.filter { case (_, cluster) => cluster.topics.nonEmpty || cluster.patterns.nonEmpty }))

  override def apply(answer: Topology): Guarded[Topology] = {
    val before = used.getOrElse(answer)
    val lacking = lacks(before, answer)
    refuseTooMany(before, lacking.collect { case OfCluster(id) => id })
    val counted = lacking.map(what => what -> (missing.getOrElse(what, 0) + 1))
    val open = counted.filter { case (_, times) => times < confirmations }
    open.foreach { case (what, times) =>
      if (!missing.contains(what)) log.warn(
        s"The answer of metadata service '$name' lacks $what; it is removed if the next ${confirmations - times} " +
          "answers lack it too"
      )
    }
    missing = open.toMap
    val topology = open.foldLeft(answer) { case (all, (what, _)) => what.unconfirmed(what.keep(before, all)) }
    used = Some(topology.copy(unconfirmed = SortedMap.empty))
    Guarded(topology, open.nonEmpty)
  }

  private def refuseTooMany(before: Topology, ids: Seq[String]): Unit = {
    val limit = most.getOrElse(math.max(1, before.clusters.size / 2))
    if (ids.size > limit) throw Errors.metadataInvalid(
      "the answer of the service",
      s"it lacks ${ids.size} of the ${before.clusters.size} clusters of the query (${ids.mkString(", ")}), and " +
        s"'${MaxRemovedClusters.name}' is $limit. This counts as a failure of the service, not as a removal. To remove " +
        s"these clusters, set their 'state' in the metadata to 'removed', or raise '${MaxRemovedClusters.name}'"
    )
  }
}

private object RemovalGuard {

  /** What an answer lacks that the query uses. */
  private sealed trait Missing extends Product with Serializable {
    def cluster: String

    /** The topology with it, as it was before. */
    def keep(before: Topology, answer: Topology): Topology

    /** The topology, in which it is marked as missing in the last answer. */
    def unconfirmed(topology: Topology): Topology = {
      val others = topology.unconfirmed.getOrElse(cluster, Removal.none)
      topology.copy(unconfirmed = topology.unconfirmed.updated(cluster, marked(others)))
    }

    protected def marked(others: Removal): Removal

    protected def changed(answer: Topology)(change: TopologyCluster => TopologyCluster): Topology =
      answer.copy(clusters = answer.clusters.updatedWith(cluster)(_.map(change)))
  }

  private final case class OfCluster(cluster: String) extends Missing {
    override def keep(before: Topology, answer: Topology): Topology =
      answer.copy(clusters = answer.clusters + (cluster -> before.clusters(cluster)))
    override protected def marked(others: Removal): Removal = others.copy(all = true)
    override def toString: String = s"cluster '$cluster'"
  }

  private final case class OfTopic(cluster: String, topic: String) extends Missing {
    override def keep(before: Topology, answer: Topology): Topology = changed(answer)(c =>
      c.copy(topics = c.topics + (topic -> before.clusters(cluster).topics(topic)))
    )
    override protected def marked(others: Removal): Removal = others.copy(topics = others.topics + topic)
    override def toString: String = s"topic '$topic' of cluster '$cluster'"
  }

  private final case class OfPattern(cluster: String, stream: String, regex: String) extends Missing {
    override def keep(before: Topology, answer: Topology): Topology = changed(answer)(c =>
      c.copy(patterns =
        c.patterns ++ before.clusters(cluster).patterns.filter(p =>
          p.regex == regex && p.topic.stream == stream
        )
      )
    )
    override protected def marked(others: Removal): Removal = others.copy(patterns = others.patterns + regex)
    override def toString: String = s"pattern '$regex' of cluster '$cluster'"
  }

  private def lacks(before: Topology, answer: Topology): Seq[Missing] =
    before.clusters.values.toSeq.flatMap { old =>
      answer.clusters.get(old.id) match {
        case Some(now) => inCluster(old, now).filterNot(explicit(answer, _))
        case None => Some(OfCluster(old.id)).filterNot(_ => answer.removals.get(old.id).exists(_.all))
      }
    }

  private def inCluster(old: TopologyCluster, now: TopologyCluster): Seq[Missing] = {
    val patterns = now.patterns.map(p => p.regex -> p.topic.stream).toSet
    (old.topics.keySet -- now.topics.keySet).toSeq.map(OfTopic(old.id, _)) ++
      old.patterns.map(p => p.regex -> p.topic.stream).filterNot(patterns).distinct
        .map { case (regex, stream) => OfPattern(old.id, stream, regex) }
  }

  private def explicit(answer: Topology, what: Missing): Boolean = what match {
    case OfCluster(_) => false
    case OfTopic(id, topic) => answer.removes(id, topic)
    case OfPattern(id, _, regex) => answer.removals.get(id).exists(r => r.all || r.patterns(regex))
  }
}
