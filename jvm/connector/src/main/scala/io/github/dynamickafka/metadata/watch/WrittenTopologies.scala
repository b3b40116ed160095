package io.github.dynamickafka.metadata.watch

import java.{util => ju}

import io.github.dynamickafka.config.ServiceOptions
import io.github.dynamickafka.topology.Topology

/**
 * The topologies that the queries and jobs of a driver have used last. A job asks the metadata service once, so that only an
 * earlier one, for example of the last batch of `foreachBatch`, knows what an incomplete answer lacks. Thread-safe.
 *
 * @param most the number of topologies that are kept
 */
private[dynamickafka] final class WrittenTopologies(most: Int) {
  import WrittenTopologies._

  private val kept = new ju.LinkedHashMap[Source, Topology](16, 0.75f, true) {
    override def removeEldestEntry(eldest: ju.Map.Entry[Source, Topology]): Boolean = size > most
  }

  def last(of: Source): Option[Topology] = synchronized(Option(kept.get(of)))

  def use(of: Source, topology: Topology): Unit = synchronized {
    val _ = kept.put(of, topology)
  }
}

private[dynamickafka] object WrittenTopologies {

  /** @param stream None: all streams */
  final case class Source(service: ServiceOptions, stream: Option[String])

  val ofDriver: WrittenTopologies = new WrittenTopologies(most = 100)
}
