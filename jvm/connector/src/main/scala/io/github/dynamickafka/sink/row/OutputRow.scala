package io.github.dynamickafka.sink.row

import java.lang.{Long => JLong}

import org.apache.kafka.common.header.Header

/**
 * A row as the user has it, before it is known where it goes. What is null in the row is None, or null where Kafka takes
 * null.
 *
 * @param timestampMs null: the producer's time
 */
private[sink] final case class OutputRow(
    key: Array[Byte],
    value: Array[Byte],
    headers: Seq[Header],
    timestampMs: JLong,
    partition: Option[Int],
    topic: Option[String],
    stream: Option[String],
    cluster: Option[String]
)
