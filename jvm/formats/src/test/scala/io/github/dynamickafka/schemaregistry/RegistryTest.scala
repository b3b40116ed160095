package io.github.dynamickafka.schemaregistry

import java.util.concurrent.atomic.AtomicLong

import org.scalatest.Assertions

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.error.DynamicKafkaRuntimeException

/** A client of registries whose pauses take no time. */
trait RegistryTest extends Assertions {

  private final class Paused extends Clock {
    private val ms = new AtomicLong
    override def nanoTime(): Long = ms.get * 1000000L
    override def currentTimeMillis(): Long = ms.get
    override def pauseMs(pause: Long): Unit = {
      val _ = ms.addAndGet(pause)
    }
  }

  private[schemaregistry] def client: RegistryClient = new RegistryClient(new Paused)

  def failure(body: => Any): DynamicKafkaRuntimeException =
    intercept[DynamicKafkaRuntimeException] {
      val _ = body
    }

  def assertUnavailable(e: DynamicKafkaRuntimeException, parts: String*): Unit = {
    assert(e.getCondition == "DYNAMIC_KAFKA.REGISTRY_UNAVAILABLE")
    parts.foreach(part => assert(e.getMessage.contains(part), e.getMessage))
  }
}
