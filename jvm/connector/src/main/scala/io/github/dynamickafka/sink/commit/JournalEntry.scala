package io.github.dynamickafka.sink.commit

import io.github.dynamickafka.sink.transaction.Prepared

/**
 * The decision to commit a batch. After it is written, the batch will be committed, regardless of failures.
 *
 * @param run the run that decided, with its instance of the journal and its generation
 * @param input what Spark had planned for the batch, so that another plan with the same number is recognized
 * @param round 0, or the number of times that lost parts of the batch were written again
 * @param clusters the connection properties of the clusters without secrets, for a restart after a cluster has left the
 *                 metadata
 */
private[sink] final case class JournalEntry(
    queryId: String,
    run: String,
    instance: String,
    generation: Long,
    batch: Long,
    round: Int,
    input: BatchInput,
    transactions: Seq[Prepared],
    clusters: Map[String, Map[String, String]]
)
