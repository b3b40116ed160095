package io.github.dynamickafka.query

import java.util.concurrent.ConcurrentHashMap

import org.apache.hadoop.fs.Path

/**
 * The deferrals that the sources of queries know when they plan the tasks of a batch, for the sinks of the same queries. The
 * checkpoint does not say it: after this run has planned the tasks, another run may defer a part of the batch.
 *
 * Thread-safe.
 */
private[dynamickafka] final class PlannedDeferrals {
  private val all = new ConcurrentHashMap[Path, Map[Long, String]]

  /**
   * Called when the tasks of a batch are planned.
   *
   * @param source the folder of the source in the checkpoint, qualified
   * @param deferrals the contents of the files that this run has read or written, by batch
   */
  def set(source: Path, deferrals: Map[Long, String]): Unit = {
    val _ = all.put(source, deferrals)
  }

  /** None: the source is not one of this project, or its query has not planned a batch. */
  def of(source: Path): Option[Map[Long, String]] = Option(all.get(source))

  def forget(source: Path): Unit = {
    val _ = all.remove(source)
  }
}

private[dynamickafka] object PlannedDeferrals {

  /** Those of the queries of this driver. */
  val ofDriver = new PlannedDeferrals
}
