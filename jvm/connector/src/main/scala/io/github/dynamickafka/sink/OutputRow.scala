package io.github.dynamickafka.sink

import java.lang.{Long => JLong}

import org.apache.kafka.common.header.Header

/**
 * The columns of a row before routing. A null value is None, or null if Kafka accepts null.
 *
 * @param timestampMs in epoch milliseconds; null: the producer sets the timestamp
 * @param invalid the reason why Kafka does not accept the row; the columns concerned are left out
 */
private[sink] final case class OutputRow(
    key: Array[Byte],
    value: Array[Byte],
    headers: Seq[Header],
    timestampMs: JLong,
    partition: Option[Int],
    topic: Option[String],
    stream: Option[String],
    cluster: Option[String],
    invalid: Option[String]
)
