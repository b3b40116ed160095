package io.github.dynamickafka.source.checkpoint

import scala.collection.immutable.SortedMap

import org.apache.hadoop.fs.Path

import io.github.dynamickafka.offset.{
  ClusterIdentity,
  ClusterView,
  CompositeOffset,
  CompositeOffsetJson,
  Continuation,
  Loss,
  NextOffset,
  Positions,
  RetainedTopic
}
import io.github.dynamickafka.storage.AtomicFiles

/**
 * Where partitions have entered in batches that may be missing in Spark's logs. A position is that of one log: it does not apply in a
 * cluster that was replaced, and a topic that was recreated is read from its beginning, as after a committed batch. Pure.
 *
 * @param identities of the clusters and topics in which the positions were decided
 */
private[dynamickafka] final case class DecidedEntries(
    positions: SortedMap[String, Positions],
    identities: SortedMap[String, ClusterIdentity]
) {
  def isEmpty: Boolean = positions.isEmpty

  /** The entries as an offset, to store them. */
  def offset: CompositeOffset = CompositeOffset(positions, identities = identities)

  /**
   * Adds where partitions enter. The first decision about a log stays. Without a response, what enters is what returns from the
   * checkpoint: it does not replace a decision about the Kafka cluster or the topic that is there now.
   *
   * @param views the responses that `end` is from
   */
  def add(end: CompositeOffset, views: Map[String, ClusterView]): DecidedEntries = {
    val (responded, silent) = end.entered.partition { case (id, _) =>
      views.get(id).exists {
        case view: ClusterView.Reachable => !ClusterIdentity.differ(end.identity(id).kafkaId, view.kafkaId)
        case ClusterView.Unreachable | ClusterView.Pending => false
      }
    }
    addOlder(end.copy(entered = silent)).added(end.copy(entered = responded))
  }

  private def added(end: CompositeOffset): DecidedEntries =
    end.entered.foldLeft(this) { case (all, (id, entered)) =>
      val identity = end.identity(id)
      val kept = all.of(id, identity)
      val known = all.identities.get(id).fold(SortedMap.empty[String, String])(_.topics)
        .filter { case (topic, _) => kept.topics(topic) }
      val named = identity.topics.filter { case (topic, _) => entered.topics(topic) }
      DecidedEntries(
        all.positions.updated(id, entered ++ kept),
        all.identities.updated(id, ClusterIdentity(identity.kafkaId, known ++ named))
      )
    }

  /** Adds a batch that may be older than what is decided: a decision about another log of the same name stays. */
  def addOlder(end: CompositeOffset): DecidedEntries = {
    val identities = end.identities.map { case (id, identity) =>
      val known = this.identities.getOrElse(id, ClusterIdentity.unknown)
      id -> identity.copy(topics = identity.topics.filter { case (topic, topicId) =>
        !ClusterIdentity.differ(known.topics.get(topic), Some(topicId))
      })
    }
    val entered = end.entered.map { case (id, positions) =>
      id -> sameLogs(id, positions, end.identity(id))
    }.filter(_._2.nonEmpty)
    added(end.copy(entered = entered, identities = identities))
  }

  /** The entries without the logs that this offset has. */
  def committed(end: CompositeOffset): DecidedEntries = {
    val left = positions.map { case (id, of) =>
      val identity = end.identity(id)
      val retained = end.retained.get(id)
      val retainedIds = retained.fold(SortedMap.empty[String, String])(_.topics.collect {
        case (topic, RetainedTopic(_, _, Some(topicId), _, _)) => topic -> topicId
      })
      val had = sameLogs(id, end.position(id), identity) ++
        sameLogs(id, retained.fold(Positions.empty)(_.positions), identity.copy(topics = retainedIds))
      id -> (of -- had)
    }.filter(_._2.nonEmpty)
    DecidedEntries(left, identities.filter { case (id, _) => left.contains(id) })
  }

  /** The responses of clusters, with these positions instead of those that the options give now. */
  def in(views: Map[String, ClusterView]): Map[String, ClusterView] =
    if (isEmpty) views
    else
      views.map {
        case (id, view: ClusterView.Reachable) if positions.contains(id) =>
          val former = recreated(id, view)
          val entering = view.entering.filterTopics(topic => !former.contains(topic))
          id -> view.copy(entering = entering ++ of(id, view.identity).at(view.ends))
        case other => other
      }

  /** Adds the losses of topics that were recreated before a batch with their positions was committed. */
  def losses(views: Map[String, ClusterView], next: NextOffset): NextOffset = {
    val entering = next.spans.iterator.filter(_.enters).map(span => span.cluster -> span.topic).toSet
    val lost = for {
      (id, of) <- positions.toSeq
      view <- views.get(id).toSeq.collect { case found: ClusterView.Reachable => found }
      (topic, formerId) <- recreated(id, view).toSeq if entering(id -> topic)
    } yield Loss.TopicRecreated(id, topic, formerId, view.topicIds(topic), of.of(topic), view.ends.of(topic))
    if (lost.isEmpty) next else next.copy(losses = next.losses ++ lost)
  }

  /** The former ids of topics that have another one in the same Kafka cluster. */
  private def recreated(id: String, view: ClusterView.Reachable): SortedMap[String, String] = {
    val known = identities.getOrElse(id, ClusterIdentity.unknown)
    if (ClusterIdentity.differ(known.kafkaId, view.kafkaId)) SortedMap.empty
    else
      known.topics.filter { case (topic, topicId) =>
        ClusterIdentity.differ(Some(topicId), view.topicIds.get(topic))
      }
  }

  /** Where the query continues in clusters that take the place of others. */
  def continued(views: Map[String, ClusterView]): Map[String, Continuation] = views.collect {
    case (id, view: ClusterView.Reachable) if of(id, view.identity).nonEmpty =>
      id -> Continuation(of(id, view.identity))
  }

  private def of(id: String, now: ClusterIdentity): Positions =
    sameLogs(id, positions.getOrElse(id, Positions.empty), now)

  /** The positions, of these, in the logs that the decisions are about. */
  private def sameLogs(id: String, positions: Positions, now: ClusterIdentity): Positions = {
    val known = identities.getOrElse(id, ClusterIdentity.unknown)
    positions.filterTopics(known.isOf(now))
  }
}

private[dynamickafka] object DecidedEntries {
  val none: DecidedEntries =
    DecidedEntries(SortedMap.empty[String, Positions], SortedMap.empty[String, ClusterIdentity])

  /** @param stored what [[DecidedEntries.offset]] was */
  def of(stored: CompositeOffset): DecidedEntries = DecidedEntries(stored.clusters, stored.identities)
}

/**
 * Where partitions have entered in batches that may be missing in Spark's logs: a batch of real-time mode is logged when it has ended, and
 * Spark deletes batches that are logged and not committed when such a query starts. The next run would resolve `latest` again,
 * and leave out what was written in between. The file `entries.json` in the source's part of the checkpoint keeps the
 * positions until a committed batch has them. Used by one thread at a time.
 */
private[source] final class EntryDecisions(home: Path, files: => AtomicFiles) {
  private val file = new Path(home, "entries.json")
  private var read: Option[DecidedEntries] = None

  /** Where topics enter, as far as it is decided. */
  def current: DecidedEntries = read.getOrElse {
    val found =
      files.read(file).fold(DecidedEntries.none)(text => DecidedEntries.of(CompositeOffsetJson.read(text)))
    read = Some(found)
    found
  }

  /** @param end an offset that Spark has committed */
  def committed(end: CompositeOffset): Unit = write(current.committed(end))

  /** Returns when it is durable that this is what is decided, instead of [[current]]. */
  def write(next: DecidedEntries): Unit = if (next != current) {
    if (next.isEmpty) files.delete(file) else files.replace(file, next.offset.json)
    read = Some(next)
  }
}
