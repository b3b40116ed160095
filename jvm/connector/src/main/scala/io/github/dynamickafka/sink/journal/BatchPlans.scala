package io.github.dynamickafka.sink.journal

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.query.PlannedDeferrals

/**
 * What the batches of a streaming query are made from, when their tasks start and when they are decided: both have to be equal.
 *
 * @param journal in the checkpoint of the query
 * @param plans what the sources of the query have left out of its batches
 */
private[sink] final class BatchPlans(journal: Journal, plans: PlannedDeferrals) {
  import BatchPlans._

  private val batches = journal.batches
  private var planned: Option[(Long, BatchInput)] = None

  /**
   * Called before the tasks of a batch are started, after they are planned. Another run may defer a part of the batch at any
   * time: then this batch is not what the other run has planned. Compared with the plan of this run, not with what the
   * checkpoint has when this is called, which may be what the other run has planned already.
   */
  def begin(): Unit = {
    def input(batch: Long) = batches.input(batch).map(found => batch -> batches.planned(batch, found, plans))
    // Usually the next one, which saves a listing.
    planned = planned.flatMap(last => input(last._1 + 1)).orElse(batches.last().flatMap(input))
  }

  /** @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException EXACTLY_ONCE_REFUSED, JOURNAL_CONFLICT */
  def decided(batch: Long): BatchInput = {
    val now = batches.input(batch).getOrElse(throw Errors.exactlyOnceRefused(NotPlanned))
    planned.flatMap { case (begun, input) =>
      if (begun == batch) input.difference(now)
      // The newest batch when the tasks started was another one: the plan of this batch was not compared.
      else Some(s"batch $begun was in the offset log when the tasks of batch $batch started")
    }.foreach(what =>
      throw Errors.journalConflict(
        journal.path,
        s"another run of the query has planned batch $batch while this run has written it: $what"
      )
    )
    now
  }
}

private object BatchPlans {
  private val NotPlanned =
    "the offset log at 'checkpointLocation' does not contain the batch: it is not the checkpoint of the query."
}
