package io.github.dynamickafka.source.simulation

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.metadata.OffsetsPolicy
import io.github.dynamickafka.offset.{ClusterIdentity, ClusterTransition, ClusterView, Positions}

/** What the clusters of a history respond to the requests of a trigger. */
private[simulation] object ModelViews {
  def apply(world: World, id: String, work: ClusterTransition): ClusterView =
    if (world.down(id)) ClusterView.Unreachable
    else {
      val topics = work.topics.toSeq.filterNot(name => world.unknown((id, name)))
        .flatMap(name => world.topic(id, name).map(name -> _))
      def of(f: ModelLog => Long) = Positions.from(for {
        (name, topic) <- topics
        (log, p) <- topic.logs.zipWithIndex
        if work.only.get(name).forall(_(p)) && world.hasLeader(id, name, p)
      } yield (name, p, f(log)))
      val ends = of(_.end)
      val endings = Positions.from(for {
        (name, topic) <- topics
        ending <- work.ending.get(name).toSeq
        OffsetsPolicy.Timestamp(ms) <- ending.policy.toSeq
        fixed = ending.fixed.in(Some(topic.id))
        (log, p) <- topic.logs.zipWithIndex if !fixed.contains(p) && ends.get(name, p).isDefined
        stop <- world.stopOf(log, ms)
      } yield (name, p, stop))
      ClusterView.Reachable(
        ends,
        earliest = of(_.first),
        entering = work.entering.toSeq.map {
          case (name, OffsetsPolicy.Latest) => ends.filterTopics(_ == name)
          case (name, OffsetsPolicy.After(offsets, _, _, _)) =>
            Positions(Seq(name -> SortedMap.from(offsets)))
          case _ => Positions.empty
        }.foldLeft(Positions.empty)(_ ++ _),
        endings = endings,
        missing = work.topics -- topics.map(_._1),
        unanswered = (for {
          (name, topic) <- topics
          p <- topic.logs.indices if work.only.get(name).forall(_(p)) && !world.hasLeader(id, name, p)
        } yield (name, p) -> "no leader").toMap,
        identity = ClusterIdentity(
          Some(world.clusters(id).id),
          SortedMap.from(topics.map { case (name, topic) => name -> topic.id }),
          of(_.epoch)
        )
      )
    }
}
