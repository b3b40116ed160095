package io.github.dynamickafka.offset

/**
 * Where a query continues in a Kafka cluster that takes the place of another one.
 *
 * @param positions the next offsets to read; a partition that is absent is read from its beginning
 * @param repeated the number of records that are read again, as far as it is known
 * @param notes what the log line says beside the positions
 */
private[dynamickafka] final case class Continuation(
    positions: Positions,
    repeated: Long = 0L,
    notes: Seq[String] = Nil
)
