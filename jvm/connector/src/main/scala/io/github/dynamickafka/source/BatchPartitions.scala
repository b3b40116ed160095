package io.github.dynamickafka.source

import scala.collection.immutable.SortedMap

import org.apache.spark.sql.connector.read.InputPartition

import io.github.dynamickafka.offset.{CompositeOffset, OffsetRange}
import io.github.dynamickafka.source.checkpoint.SourceCheckpoint
import io.github.dynamickafka.source.cluster.ClusterStreams
import io.github.dynamickafka.source.history.HistoryBatches
import io.github.dynamickafka.source.plan.BatchPlanner
import io.github.dynamickafka.source.report.QueryReporter
import io.github.dynamickafka.source.trigger.{PlannedBatches, Replay}

/**
 * The partitions of logged batches: of one that this run has planned, or of one that an earlier run left. Used only by the
 * thread of the query.
 */
private[source] final class BatchPartitions(
    histories: HistoryBatches,
    batches: PlannedBatches,
    replay: Replay,
    planner: BatchPlanner,
    streams: ClusterStreams,
    checkpoint: SourceCheckpoint,
    reporter: QueryReporter
) {
  private var last: Option[((CompositeOffset, CompositeOffset), Array[InputPartition])] = None

  /** Of the same batch the same ones: Spark plans a batch several times. */
  def of(start: CompositeOffset, end: CompositeOffset): Array[InputPartition] =
    last.collect { case ((`start`, `end`), partitions) => partitions }.getOrElse {
      val ranges =
        if (end.history.nonEmpty && OffsetRange.between(start, end).isEmpty)
          SortedMap.empty[String, Seq[OffsetRange]]
        else batches.ranges(start, end).getOrElse(replay.open(start, end, isFirst = last.isEmpty))
      // Both only if Spark has not logged the batches in between.
      val partitions =
        histories.partitions(start, end) ++ planner.partitions(ranges, streams(_), checkpoint.streamOf)
      reporter.planned(end, ranges)
      checkpoint.planned()
      last = Some((start, end) -> partitions)
      partitions
    }
}
