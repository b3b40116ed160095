package io.github.dynamickafka.testkit

/**
 * A record to produce, with UTF-8 strings. A null value is a tombstone.
 *
 * @param timestamp epoch milliseconds; None: now
 */
final case class Record(
    partition: Int,
    key: Option[String],
    value: String,
    headers: Map[String, String] = Map.empty,
    timestamp: Option[Long] = None
)

/** A record in the broker. The value of a tombstone is null. */
final case class StoredRecord(
    partition: Int,
    offset: Long,
    key: Option[String],
    value: String,
    headers: Map[String, String],
    timestamp: Long
)
