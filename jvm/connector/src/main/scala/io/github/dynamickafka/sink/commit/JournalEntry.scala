package io.github.dynamickafka.sink.commit

import io.github.dynamickafka.sink.transaction.Prepared

/**
 * The decision to commit a batch: from when it is written on, the batch is committed, whatever fails.
 *
 * @param round 0, or how often lost parts of the batch have been written again
 * @param clusters how the clusters of the transactions are reached, without secrets: for a start at which the metadata
 *                 do not have them any more
 */
private[sink] final case class JournalEntry(
    queryId: String,
    run: String,
    batch: Long,
    round: Int,
    transactions: Seq[Prepared],
    clusters: Map[String, Map[String, String]]
)
