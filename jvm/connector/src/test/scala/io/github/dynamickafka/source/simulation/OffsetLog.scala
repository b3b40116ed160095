package io.github.dynamickafka.source.simulation

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.offset.{CompositeOffset, CompositeOffsetJson}

private[simulation] final case class ModelBatch(number: Int, start: CompositeOffset, end: CompositeOffset)

/**
 * Spark's offset log and commit log, and what a run of the query knows of them.
 *
 * With `logsSome` as in `AsyncProgressTrackingMicroBatchExecution`: the first batch of a run is logged, and some of those that
 * follow; another thread writes the logs, in order, and some writes are lost with the driver. A restart reads from the last logged offset but one to the last one, unless the commit log has the latter. Spark tells
 * the source which offset is logged by a commit, some time after a later one is logged.
 *
 * @param onCommit called with the offsets that Spark tells the source
 * @param initial the start offset of batch 0
 */
private[simulation] final class OffsetLog(
    world: World,
    logsSome: Boolean,
    onCommit: CompositeOffset => Unit = _ => (),
    initial: CompositeOffset = CompositeOffset.empty
) {
  private var logged = SortedMap.empty[Int, CompositeOffset]
  private var committed = -1

  /** The last batch that this run has completed. */
  private var completed: Option[ModelBatch] = None
  private var hasLogged = false

  /** Writes that have not reached the logs yet. */
  private var issued = Set.empty[Int]
  private var writes = Vector.empty[() => Unit]

  /** Offsets of which Spark has not told the source yet that they are logged. */
  private var untold = Vector.empty[CompositeOffset]
  private var told: Option[CompositeOffset] = None

  /** The number of the last logged batch. */
  def last: Int = logged.lastOption.fold(-1)(_._1)

  /** The number of the next batch. */
  def next: Int = completed.fold(last)(_.number) + 1

  /** The end of the last batch that was computed. */
  def reached: CompositeOffset =
    completed.filter(_.number >= last).fold(logged.lastOption.fold(initial)(_._2))(_.end)

  /** An offset that the source knows to be logged. */
  def certain: CompositeOffset = told.getOrElse(reached)

  /** A logged batch that has to be read again. */
  def unfinished: Option[ModelBatch] =
    logged.lastOption.collect {
      case (n, end) if n > committed && completed.forall(_.number < n) =>
        ModelBatch(n, before(n), end)
    }

  /** The number of the first batch of which a restart reads records. */
  def firstRead: Int =
    if (unfinished.isEmpty) last + 1 else logged.keysIterator.filter(_ < last).maxOption.fold(0)(_ + 1)

  /** @return the start offset of the next batch */
  def begin(): CompositeOffset = {
    write()
    if (told.isEmpty) told = Some(reached)
    while (untold.nonEmpty && (!logsSome || world.chance(50))) {
      told = untold.headOption
      told.foreach(onCommit)
      untold = untold.tail
    }
    reached
  }

  /** A batch is computed, and logged or not. */
  def add(start: CompositeOffset, end: CompositeOffset): ModelBatch = {
    // What a restart reads from the log is all that the query knows.
    val batch = ModelBatch(next, start, CompositeOffsetJson.read(end.json))
    if (!logsSome || !hasLogged || world.chance(40)) {
      hasLogged = true
      write { () =>
        untold ++= logged.lastOption.map(_._2)
        logged += batch.number -> batch.end
      }
      issued += batch.number
      world.tell(s"logged ${batch.number} ${end.json}")
    } else world.tell(s"not logged ${batch.number} ${end.json}")
    batch
  }

  def finish(batch: ModelBatch): Unit = {
    completed = Some(batch)
    if (logged.contains(batch.number) || issued(batch.number)) write(() => committed = batch.number)
  }

  private def write(next: (() => Unit)*): Unit = {
    writes ++= next
    if (!logsSome || world.chance(30)) {
      writes.foreach(_())
      writes = Vector.empty
    }
  }

  def restart(): Unit = {
    writes.take(if (world.chance(50)) 1 else 0).foreach(_())
    writes = Vector.empty
    issued = Set.empty
    completed = None
    hasLogged = false
    untold = Vector.empty
    told = None
  }

  /** What Spark does when a query starts in real-time mode. Returns the ends of the batches that it deletes. */
  def purge(): Seq[CompositeOffset] = {
    val (kept, purged) = logged.partition(_._1 <= committed)
    logged = kept
    purged.values.toSeq
  }

  private def before(batch: Int): CompositeOffset =
    logged.rangeUntil(batch).lastOption.fold(initial)(_._2)
}
