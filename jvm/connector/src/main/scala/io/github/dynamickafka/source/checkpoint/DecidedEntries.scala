package io.github.dynamickafka.source.checkpoint

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.offset.{
  ClusterIdentity,
  ClusterView,
  CompositeOffset,
  Continuation,
  Positions,
  RetainedTopic
}

/**
 * Where partitions have entered in batches that may be missing in Spark's logs. A position is that of one log: it does not apply to a
 * topic that was recreated, or in a cluster that was replaced. Pure.
 *
 * @param identities of the clusters and topics in which the positions were decided
 */
private[dynamickafka] final case class DecidedEntries(
    positions: SortedMap[String, Positions],
    identities: SortedMap[String, ClusterIdentity]
) {
  def isEmpty: Boolean = positions.isEmpty

  /** As an offset, to store it. */
  def offset: CompositeOffset = CompositeOffset(positions, identities = identities)

  /** The first decision about a log stays. */
  def add(end: CompositeOffset): DecidedEntries =
    end.entered.foldLeft(this) { case (all, (id, entered)) =>
      val identity = end.identity(id)
      val kept = all.of(id, identity.kafkaId, identity.topics)
      val known = all.identities.get(id).fold(SortedMap.empty[String, String])(_.topics)
        .filter { case (topic, _) => kept.topics(topic) }
      val named = identity.topics.filter { case (topic, _) => entered.topics(topic) }
      DecidedEntries(
        all.positions.updated(id, entered ++ kept),
        all.identities.updated(id, ClusterIdentity(identity.kafkaId, known ++ named))
      )
    }

  /** Without the logs that this offset has. */
  def committed(end: CompositeOffset): DecidedEntries = {
    val left = positions.map { case (id, of) =>
      val identity = end.identity(id)
      val retained = end.retained.get(id)
      val retainedIds = retained.fold(Map.empty[String, String])(_.topics.collect {
        case (topic, RetainedTopic(_, _, Some(topicId), _)) => topic -> topicId
      }.toMap)
      val had = sameLogs(id, end.position(id), identity.kafkaId, identity.topics) ++
        sameLogs(id, retained.fold(Positions.empty)(_.positions), identity.kafkaId, retainedIds)
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
          id -> view.copy(entering = view.entering ++ of(id, view).at(view.ends))
        case other => other
      }

  /** Where the query continues in clusters that take the place of others. */
  def continued(views: Map[String, ClusterView]): Map[String, Continuation] = views.collect {
    case (id, view: ClusterView.Reachable) if of(id, view).nonEmpty => id -> Continuation(of(id, view))
  }

  private def of(id: String, view: ClusterView.Reachable): Positions =
    of(id, view.kafkaId, view.topicIds)

  private def of(id: String, kafkaId: Option[String], topicIds: collection.Map[String, String]): Positions =
    sameLogs(id, positions.getOrElse(id, Positions.empty), kafkaId, topicIds)

  /** Of these positions, those in the logs that the decisions are about. */
  private def sameLogs(
      id: String,
      positions: Positions,
      kafkaId: Option[String],
      topicIds: collection.Map[String, String]
  ): Positions = {
    val known = identities.getOrElse(id, ClusterIdentity.unknown)
    if (ClusterIdentity.differ(known.kafkaId, kafkaId)) Positions.empty
    else
      positions.filterTopics(topic =>
        !ClusterIdentity.differ(known.topics.get(topic), topicIds.get(topic))
      )
  }
}

private[dynamickafka] object DecidedEntries {
  val none: DecidedEntries =
    DecidedEntries(SortedMap.empty[String, Positions], SortedMap.empty[String, ClusterIdentity])

  /** @param stored what [[DecidedEntries.offset]] was */
  def of(stored: CompositeOffset): DecidedEntries = DecidedEntries(stored.clusters, stored.identities)
}
