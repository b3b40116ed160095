package io.github.dynamickafka.source.simulation

import io.github.dynamickafka.metadata.ReplacedClusterPolicy
import io.github.dynamickafka.offset.{
  ClusterView,
  CompositeOffset,
  NextOffset,
  OffsetRange,
  Positions,
  Transition
}
import io.github.dynamickafka.source.checkpoint.DecidedEntries
import io.github.dynamickafka.source.realtime.{FurtherRead, TaskPositions}

/** A rule of real-time mode that is not the product's, to see whether the simulation finds it. */
private[simulation] sealed abstract class RealTimeDefect(val name: String) {

  /** Histories that are not run, because the defect is rare: with the seed of `make test` it shows soon after them. */
  def skipped: Int = 0

  /** What a restart knows of the start positions of batches that are not logged. */
  def restored(decided: DecidedEntries): DecidedEntries = decided
  def purged(decided: DecidedEntries, end: CompositeOffset): DecidedEntries = decided.addOlder(end)

  def added(decided: DecidedEntries, end: CompositeOffset, views: Map[String, ClusterView]): DecidedEntries =
    decided.add(end, views)
  def range(range: OffsetRange): OffsetRange = range

  /** Where a batch starts that does not fit the topology; None: it ends before a record is read. */
  def readsFrom(@annotation.unused position: CompositeOffset): Option[CompositeOffset] =
    Option.empty

  def reached(start: CompositeOffset, reported: Seq[TaskPositions]): CompositeOffset =
    TaskPositions.reached(start, reported)

  /**
   * What is stored of start positions when a batch ends.
   *
   * @param ahead what was stored before the tasks have ended, if that was
   */
  def decided(@annotation.unused ahead: Option[DecidedEntries], end: DecidedEntries): DecidedEntries = end

  def isCertain(atStart: NextOffset): Boolean = FurtherRead.isCertain(atStart)

  def further(
      reached: CompositeOffset,
      before: Transition,
      now: Transition,
      views: Map[String, ClusterView],
      decided: DecidedEntries,
      ifReplaced: ReplacedClusterPolicy
  ): Option[(Map[String, ClusterView], NextOffset)] =
    FurtherRead(reached, before, now, views, decided, ifReplaced)
}

private[simulation] object RealTimeDefect {
  case object None extends RealTimeDefect("nothing")

  case object DecisionsAreForgotten
      extends RealTimeDefect("a start position is lost with the batch that was not logged") {
    override def restored(decided: DecidedEntries): DecidedEntries = DecidedEntries.none
  }

  case object PurgedAreForgotten
      extends RealTimeDefect("a start position is lost with the batch that Spark deletes") {
    override def skipped = 880
    override def purged(decided: DecidedEntries, end: CompositeOffset): DecidedEntries = decided
  }

  case object EpochsAreIgnored extends RealTimeDefect("readers do not compare the log with their position") {
    override def skipped = 75
    override def range(range: OffsetRange): OffsetRange = range.copy(epoch = Option.empty)
  }

  case object DrainsHaveNoEnd extends RealTimeDefect("a batch reads beyond the targets of a drain") {
    override def range(range: OffsetRange): OffsetRange = range.copy(until = OffsetRange.NoEnd)
  }

  case object UnloggedIsRead
      extends RealTimeDefect("a batch reads from positions that are not in its start") {
    override def readsFrom(position: CompositeOffset): Option[CompositeOffset] = Some(position)
  }

  /** Those of clusters without a task, and of partitions that are retained, are lost. */
  case object OnlyReported
      extends RealTimeDefect("the end of a batch has only the clusters that tasks report") {
    override def reached(start: CompositeOffset, reported: Seq[TaskPositions]): CompositeOffset = {
      val found = TaskPositions.reached(start, reported)
      val ids = reported.flatMap(_.clusters.keySet).toSet
      found.copy(clusters = found.clusters.filter { case (id, _) => ids(id) })
    }
  }

  case object OnlyStoredAhead
      extends RealTimeDefect("a start position that is decided after the tasks have ended is not stored") {
    override def skipped = 145
    override def decided(ahead: Option[DecidedEntries], end: DecidedEntries): DecidedEntries =
      ahead.getOrElse(end)
  }

  case object ResponsesAreOld
      extends RealTimeDefect("the end of a batch takes what was read meanwhile for lost") {
    override def further(
        reached: CompositeOffset,
        before: Transition,
        now: Transition,
        views: Map[String, ClusterView],
        decided: DecidedEntries,
        ifReplaced: ReplacedClusterPolicy
    ): Option[(Map[String, ClusterView], NextOffset)] =
      Some((views, NextOffset(reached, now, decided.in(views), ifReplaced, _ => false)))
  }

  case object AllIsDecidedAhead
      extends RealTimeDefect("where a cluster continues for another one is decided while that is read") {
    override def skipped = 13040
    override def isCertain(atStart: NextOffset): Boolean = true
  }

  case object SilentReplaceDecisions
      extends RealTimeDefect(
        "what returns without a response replaces a decision about another Kafka cluster"
      ) {
    override def skipped = 2000
    override def added(
        decided: DecidedEntries,
        end: CompositeOffset,
        views: Map[String, ClusterView]
    ): DecidedEntries =
      decided.add(
        end,
        end.identities.map { case (id, identity) =>
          id -> ClusterView.Reachable(Positions.empty, Positions.empty, Positions.empty, identity = identity)
        }
      )
  }

  val all: Seq[RealTimeDefect] = Seq(
    DecisionsAreForgotten,
    PurgedAreForgotten,
    EpochsAreIgnored,
    DrainsHaveNoEnd,
    UnloggedIsRead,
    OnlyStoredAhead,
    ResponsesAreOld,
    AllIsDecidedAhead,
    SilentReplaceDecisions,
    OnlyReported
  )
}
