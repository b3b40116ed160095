package io.github.dynamickafka.admin

import io.github.dynamickafka.offset.{CompositeOffset, NextOffset, Positions}
import io.github.dynamickafka.topology.Topology

/**
 * What happens to one partition in the next batch of a query.
 *
 * @param change `enters`, `drains` or `leaves`
 * @param position where it enters, from where it drains, where it leaves
 * @param target the offset up to which it drains
 * @param records left to drain, or unread; None: not known
 * @param lost whether unread records leave without a drain
 * @param canLose whether they would, if there are any
 * @param end the latest offset of what leaves
 * @param by why it enters where it does: `retained`, or the start
 */
private[admin] final case class PlannedChange(
    change: String,
    cluster: String,
    topic: String,
    partition: Int,
    position: Long,
    target: Option[Long] = None,
    records: Option[Long] = None,
    lost: Boolean = false,
    canLose: Boolean = false,
    end: Option[Long] = None,
    by: Option[String] = None
)

/** Reads the changes from what `Reconcile` and `NextOffset` have decided. Pure. */
private[admin] object PlannedChange {

  /**
   * @param start the positions of the query
   * @param topology the metadata, with the topics that match patterns
   * @param drainRemoved whether what leaves the metadata is drained
   * @param latest returns the latest offset of a partition that leaves, if it is known
   * @param continued clusters that are read no more because others continue where they were
   */
  def all(
      start: CompositeOffset,
      topology: Topology,
      drainRemoved: Boolean,
      next: NextOffset,
      latest: (String, String, Int) => Option[Long],
      continued: Set[String] = Set.empty
  ): Seq[PlannedChange] = {
    val enters = next.spans.filter(_.enters).map(s =>
      PlannedChange("enters", s.cluster, s.topic, s.partition, s.from)
    )
    val from = next.spans.map(s => (s.cluster, s.topic, s.partition) -> s.from).toMap
    val drains = each(next.draining).map { case (id, topic, p, target) =>
      val at = from.get((id, topic, p)).orElse(start.position(id).get(topic, p)).getOrElse(target)
      PlannedChange("drains", id, topic, p, at, Some(target), Some(math.max(0L, target - at)))
    }
    (enters ++ drains ++ leaving(start, next).map { case (id, topic, p, at) =>
      val end = latest(id, topic, p)
      val unread = end.map(e => math.max(0L, e - at))
      // Only what has reached its target leaves like this.
      val drained = topology.clusters.get(id).flatMap(_.topics.get(topic))
        .fold(drainRemoved && !topology.removes(id, topic))(t => t.draining && t.reads(p))
      val canLose = !drained && !continued(id)
      PlannedChange("leaves", id, topic, p, at, None, unread, canLose && unread.exists(_ > 0), canLose, end)
    }).sortBy(c => (Order.indexOf(c.change), c.cluster, c.topic, c.partition))
  }

  /** The positions that are not read any more. */
  def leaving(start: CompositeOffset, next: NextOffset): Seq[(String, String, Int, Long)] = {
    val after = next.latest
    each(start.clusters).filter { case (id, topic, p, _) => after.position(id).get(topic, p).isEmpty }
  }

  private val Order = Seq("enters", "drains", "leaves")

  private def each(clusters: Iterable[(String, Positions)]): Seq[(String, String, Int, Long)] =
    clusters.toSeq.flatMap { case (id, all) => all.iterator.map { case (t, p, at) => (id, t, p, at) } }
}
