package io.github.dynamickafka.storage

import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

/**
 * The sinks of this driver's queries, for the sources of the same queries: in real-time mode, a batch may last for hours, and a source
 * ends it when the sink writes to what the metadata does not name any more. Thread-safe.
 */
private[dynamickafka] object RealTimeSinks {
  private val all = ConcurrentHashMap.newKeySet[(String, () => Boolean)]()

  /** @param fits whether the running batch is written as the newest metadata has it */
  def add(query: String, fits: () => Boolean): Unit = { val _ = all.add(query -> fits) }

  def remove(query: String, fits: () => Boolean): Unit = { val _ = all.remove(query -> fits) }

  def fit(query: String): Boolean = all.asScala.forall { case (id, fits) => id != query || fits() }
}
