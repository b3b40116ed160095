package io.github.dynamickafka.source.report

/**
 * Counts of records of a query, all but the first one since its start.
 *
 * @param deferred records of unreachable clusters that were logged and have not been read yet
 * @param decodeErrors records of which a key or value could not be decoded
 * @param dropped those of them that yielded no row, without dead letters
 * @param deadLetters those of them that are dead letters
 * @param repeated records that are read again in a cluster that was replaced
 */
private[source] final case class RecordCounts(
    deferred: Long = 0L,
    lost: Long = 0L,
    decodeErrors: Long = 0L,
    dropped: Long = 0L,
    deadLetters: Long = 0L,
    repeated: Long = 0L
)
