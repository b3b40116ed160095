package io.github.dynamickafka.sink.commit

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.github.dynamickafka.storage.{AtomicFiles, PlannedDeferrals}

/**
 * The batches of a streaming query, by the files in its checkpoint that Spark and the source write before the tasks of a batch
 * start.
 *
 * @param location the location of the checkpoint
 */
private[sink] final class PlannedBatches(location: String, hadoop: Configuration) {
  import PlannedBatches._

  private val home = new Path(location).getFileSystem(hadoop).makeQualified(new Path(location))
  private val offsets = new Path(home, Offsets)
  private val files = new AtomicFiles(offsets, hadoop)

  // Constant for a query, and read once.
  private var sources = Seq.empty[String]

  /**
   * The input of a batch; None if it is not in Spark's offset log, so that a decided batch could be followed by another one
   * with the same number, as in real-time mode, which logs offsets after the batch.
   */
  def input(batch: Long): Option[BatchInput] = files.read(new Path(offsets, batch.toString)).map { text =>
    if (sources.isEmpty) sources = files.names(new Path(home, Sources))
    val deferred = sources.map(deferral(_, batch))
      .flatMap(file => files.read(new Path(home, file)).map(file -> _))
    BatchInput.of((s"$Offsets/$batch" -> text) +: deferred: _*)
  }

  /**
   * The input of a batch with the deferral with which this run has planned its tasks, in place of that in the checkpoint.
   *
   * @param found what is in the checkpoint
   */
  def planned(batch: Long, found: BatchInput, plans: PlannedDeferrals): BatchInput =
    sources.foldLeft(found)((input, n) =>
      plans.of(new Path(new Path(home, Sources), n)).fold(input)(deferrals =>
        input.having(deferral(n, batch), deferrals.get(batch))
      )
    )

  private def deferral(source: String, batch: Long) = s"$Sources/$source/dynamic-kafka/deferred/$batch.json"

  /** The number of the last batch in Spark's offset log: the batch that runs, while one does. */
  def last(): Option[Long] = lastIn(Offsets)

  /** The number of the last batch in Spark's commit log, where Spark writes a batch after the sink has committed it. */
  def finished(): Option[Long] = lastIn(Commits)

  /** Whether Spark has finished the batch or planned a later one, so that it does not run the batch again. */
  def isOver(batch: Long): Boolean = last().exists(_ > batch) || finished().exists(_ >= batch)

  private def lastIn(log: String) = files.names(new Path(home, log)).flatMap(_.toLongOption).maxOption
}

private object PlannedBatches {

  /** Spark's offset log in a checkpoint. */
  private val Offsets = "offsets"

  /** Spark's commit log in a checkpoint. */
  private val Commits = "commits"

  /** The folders of the sources of a query in its checkpoint. */
  private val Sources = "sources"
}
