package io.github.dynamickafka.source.simulation

import io.github.dynamickafka.metadata.{OffsetsPolicy, ReplacedClusterPolicy, Topology}
import io.github.dynamickafka.offset._

/**
 * What a query has to declare, and which records it need not deliver.
 *
 * @param entry where clusters and topics enter
 * @param ownStart where cluster c enters instead, by an option of its own
 * @param reached the end of the last batch of the query
 */
private[simulation] final class ModelTruth(
    world: World,
    drainRemoved: Boolean,
    ifReplaced: ReplacedClusterPolicy,
    entry: OffsetsPolicy,
    ownStart: Option[OffsetsPolicy],
    reached: () => CompositeOffset
) {

  /** Records that the query need not deliver. */
  var excused = Set.empty[Long]

  /** Losses that were declared for topics that had lost nothing. */
  var falseLosses = Vector.empty[String]
  private var entered = Set.empty[LogId]

  /** Drains whose records have been deleted: the query has to declare the loss before it retires them. */
  private var owed = OwedDrains.none
  world.onDelete = (id, name, topic) => owed = owed.deleted(id, name, topic, reached())

  /** The query is restarted at an offset that may be an earlier one. */
  def restored(offset: CompositeOffset): Unit = owed = owed.restored(offset)

  /** What a trigger from these positions has declared. */
  def declared(
      start: CompositeOffset,
      losses: Seq[Loss],
      replaced: Seq[ReplacedCluster],
      topology: Topology
  ): Unit = {
    losses.foreach(judge(start, _))
    owed = owed.declared(losses, replaced).stillDraining(topology, drainRemoved)
  }

  /** A loss is true if the log has lost records, or is another one than before. */
  private def judge(start: CompositeOffset, loss: Loss): Unit = {
    val known = start.identity(loss.cluster).topics.get(loss.topic)
      .orElse(start.retained.get(loss.cluster).flatMap(_.topics.get(loss.topic)).flatMap(_.id))
    val now = world.topic(loss.cluster, loss.topic).map(_.id)
    // A start position that was decided earlier is below the log, because records have expired since.
    val isEntry = loss match {
      case _: Loss.OutOfRange => now.exists(world.isDamaged)
      case _ => false
    }
    if (!isEntry && (known.isEmpty || (known == now && !now.exists(world.isDamaged))))
      falseLosses :+= loss.toString
  }

  /**
   * Tasks of real-time mode have read up to these positions: never beyond the target of a drain, because the topic may get
   * records that are not the query's.
   */
  def read(start: CompositeOffset, reached: CompositeOffset): Unit = falseLosses ++= (for {
    (id, targets) <- start.draining.iterator
    (name, p, target) <- targets.iterator
    from <- start.position(id).get(name, p)
    to <- reached.position(id).get(name, p)
    if to > math.max(from, target)
  } yield s"read to $to, beyond the drain target $target: $id $name-$p")

  /** Records below the position at which a log is entered at its end, or at the end of the cluster that replaces another. */
  def note(end: CompositeOffset): Unit = {
    owed = owed.planned(end)
    falseLosses ++= owed.retired(end).map(what => s"retired without a word: $what")
    for (
      (id, positions) <- end.entered; (name, p, at) <- positions.iterator; topic <- world.topic(id, name)
      // The topic may have been recreated while the cluster did not respond: the position is one in the former topic.
      if !ClusterIdentity.differ(end.identity(id).topics.get(name), Some(topic.id))
    ) {
      val log = LogId(topic.id, p)
      if (!entered(log)) {
        entered += log
        val starting = ownStart.filter(_ => id == "c").getOrElse(entry)
        if (starting == OffsetsPolicy.Latest || ifReplaced == ReplacedClusterPolicy.Latest)
          excused ++= topic.logs(p).read(0L, at)
      } else if (world.isDamaged(topic.id)) excused ++= topic.logs(p).read(0L, at)
    }
  }

  /** The log diverges below the range: this is declared as a loss, and the range is read. */
  def truncated(topic: ModelTopic, log: ModelLog, range: OffsetRange, diverges: Long): Unit = {
    if (!world.isDamaged(topic.id)) falseLosses :+= s"$range diverges at $diverges: $log"
    excused ++= log.read(diverges, range.from)
  }
}
