package io.github.dynamickafka.catalog

import java.util.concurrent.atomic.AtomicReference

import io.github.dynamickafka.metadata.KafkaStream
import io.github.dynamickafka.time.Clock

/**
 * The answer of the metadata service with which a table was made, for the read or write of the same statement. It is used once,
 * and only soon: a DataFrame may be executed again, or later, and the streams may have changed.
 */
private[catalog] final class AnswerOnce(stream: KafkaStream, clock: Clock)
    extends (() => Option[KafkaStream]) {
  private val answer = new AtomicReference(Option(stream))
  private val since = clock.nanoTime()

  override def apply(): Option[KafkaStream] =
    answer.getAndSet(None).filter(_ => clock.nanoTime() - since < AnswerOnce.LimitNanos)
}

private[catalog] object AnswerOnce {
  val LimitNanos: Long = 10L * 1000 * 1000 * 1000
}
