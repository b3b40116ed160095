package io.github.dynamickafka.source.simulation

import io.github.dynamickafka.metadata.Topology
import io.github.dynamickafka.offset.{CompositeOffset, Loss, ReplacedCluster}

/** Topics that were deleted before they were drained: the query has to declare this before it retires them. */
private[simulation] final case class OwedDrains(topics: Map[(String, String), OwedDrains.Drain]) {
  import OwedDrains.Drain

  /** @param logged the last offset of the query, with the drain target */
  def deleted(id: String, name: String, topic: ModelTopic, logged: CompositeOffset): OwedDrains = {
    val position = logged.position(id)
    val targets = logged.draining.get(id).fold(Map.empty[Int, Long])(_.of(name))
      .filter { case (p, target) => position.get(name, p).exists(_ < target) }
    if (targets.isEmpty || !logged.identity(id).topics.get(name).contains(topic.id)) this
    else OwedDrains(topics.updated((id, name), Drain(topic.id, targets)))
  }

  /** After a restart at an earlier offset: without drains that it does not know. */
  def restored(offset: CompositeOffset): OwedDrains = OwedDrains(topics.filter { case ((id, name), drain) =>
    offset.identity(id).topics.get(name).contains(drain.topicId) &&
    drain.targets.toSet.subsetOf(offset.draining.get(id).fold(Map.empty[Int, Long])(_.of(name)).toSet)
  })

  def declared(losses: Seq[Loss], replaced: Seq[ReplacedCluster]): OwedDrains = {
    val (lost, clusters) = (losses.map(l => (l.cluster, l.topic)).toSet, replaced.map(_.cluster).toSet)
    OwedDrains(topics.filterNot { case ((id, name), _) => lost((id, name)) || clusters(id) })
  }

  /** Without topics that the metadata no longer drains. */
  def stillDraining(topology: Topology, drainRemoved: Boolean): OwedDrains =
    OwedDrains(topics.filter { case ((id, name), drain) =>
      topology.clusters.get(id).flatMap(_.topics.get(name))
        .fold(drainRemoved)(topic => topic.draining && drain.targets.keys.forall(topic.reads))
    })

  /**
   * Without what was planned up to its target by an older response: its tasks declare that it is gone. A batch of real-time mode whose
   * tasks have read up to the target can retire the topic in the same end.
   */
  def planned(end: CompositeOffset): OwedDrains = OwedDrains(topics.map { case ((id, name), drain) =>
    def retired(p: Int) = end.retained.get(id).flatMap(_.topics.get(name))
      .filter(_.id.contains(drain.topicId)).flatMap(_.offsets.get(p))
    (id, name) -> drain.copy(targets = drain.targets.filterNot { case (p, target) =>
      end.position(id).get(name, p).orElse(retired(p)).exists(_ >= target)
    })
  }.filter(_._2.targets.nonEmpty))

  /** Those that the query no longer reads. */
  def retired(end: CompositeOffset): Seq[String] = topics.toSeq.collect {
    case ((id, name), drain)
        if !drain.targets.keys.forall(end.position(id).get(name, _).isDefined) ||
          !end.identity(id).topics.get(name).contains(drain.topicId) => s"$id $name"
  }
}

private[simulation] object OwedDrains {
  val none: OwedDrains = OwedDrains(Map.empty)

  final case class Drain(topicId: String, targets: Map[Int, Long])
}
