package io.github.dynamickafka.metadata.registry

import java.util.concurrent.locks.ReentrantLock
import java.{util => ju}

import io.github.dynamickafka.metadata.{KafkaMetadataService, KafkaStream}

/**
 * Wraps a service that the application owns and that several queries may use: `close` does nothing, and no two calls
 * run concurrently, even from different queries, as the SPI guarantees.
 */
private[metadata] final class SharedMetadataService(service: KafkaMetadataService)
    extends KafkaMetadataService {
  private val lock = SharedMetadataService.lockOf(service)

  override def getAllStreams(): ju.Set[KafkaStream] = alone(service.getAllStreams())

  override def describeStreams(streamIds: ju.Collection[String]): ju.Map[String, KafkaStream] =
    alone(service.describeStreams(streamIds))

  override def isClusterActive(clusterId: String): Boolean = alone(service.isClusterActive(clusterId))

  override def onChange(changed: Runnable): AutoCloseable = alone(service.onChange(changed))

  override def close(): Unit = ()

  override def toString: String = service.toString

  private def alone[A](call: => A): A = {
    lock.lockInterruptibly()
    try call
    finally lock.unlock()
  }
}

private object SharedMetadataService {
  private val locks = new ju.WeakHashMap[KafkaMetadataService, ReentrantLock]

  private def lockOf(service: KafkaMetadataService): ReentrantLock =
    locks.synchronized(locks.computeIfAbsent(service, _ => new ReentrantLock))
}
