package io.github.dynamickafka.storage

import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.Path

/**
 * The deferrals that the sources of queries know when they plan the tasks of a batch, for the sinks of the same queries. The
 * checkpoint does not show them: after this run has planned the tasks, another run may defer a part of the batch.
 *
 * Thread-safe.
 */
private[dynamickafka] final class PlannedDeferrals {
  import PlannedDeferrals._

  private val all = new ConcurrentHashMap[Path, Plan]

  /**
   * Called when the tasks of a batch are planned.
   *
   * @param source the folder of the source in the checkpoint, qualified
   * @param deferrals the contents of the files that this run has read or written, by batch
   * @param run identifies the run of the query
   */
  def set(source: Path, deferrals: Map[Long, String], run: AnyRef): Unit = {
    val _ = all.put(source, Plan(deferrals, run))
  }

  /** None: the source is not one of this project, or its query has not planned a batch. */
  def of(source: Path): Option[Map[Long, String]] = Option(all.get(source)).map(_.deferrals)

  /** The run has ended. Does nothing if another one has planned since: a query may start again before its last run has stopped. */
  def forget(source: Path, run: AnyRef): Unit = {
    val _ = all.computeIfPresent(source, (_, plan) => if (plan.run eq run) null else plan)
  }
}

private[dynamickafka] object PlannedDeferrals {
  private final case class Plan(deferrals: Map[Long, String], run: AnyRef)

  /** The deferrals of the queries of this driver. */
  val ofDriver = new PlannedDeferrals
}

/**
 * The sinks of this driver's queries, for the sources of the same queries: in real-time mode, a batch may last for hours, and a source
 * ends it when the sink writes to what the metadata does not name any more. Thread-safe.
 */
private[dynamickafka] object RealTimeSinks {
  private val all = ConcurrentHashMap.newKeySet[(String, () => Boolean)]()

  /** @param fits whether the running batch is written as the newest metadata has it */
  def add(query: String, fits: () => Boolean): Unit = { val _ = all.add(query -> fits) }

  def remove(query: String, fits: () => Boolean): Unit = { val _ = all.remove(query -> fits) }

  def fit(query: String): Boolean = all.asScala.forall { case (id, fits) => id != query || fits() }
}
