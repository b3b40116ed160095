package io.github.dynamickafka.metadata

import java.{util => ju}

/**
 * Tells which streams exist and which clusters, topics and properties each has at this moment.
 *
 * The names and meaning are those of Flink's `KafkaMetadataService` (FLIP-246). The connector calls it on a
 * thread of its own, never two calls at once and never on the query's thread, with a time limit per call; it
 * keeps the last good answer. So an implementation throws when the answer is unknown. An empty answer, or one
 * without a stream that is subscribed to by id, is a failed call too; a stream that is returned without one of
 * its clusters or topics removes them.
 *
 * An implementation that is named by its class in the option `metadataService` has a constructor that takes a
 * `java.util.Map[String, String]` (the `metadataService.*` options without that prefix, keys as the user wrote
 * them), or one without parameters.
 */
trait KafkaMetadataService extends AutoCloseable with Serializable {

  /** All streams there are. Called for a subscription by pattern. */
  def getAllStreams(): ju.Set[KafkaStream]

  /**
   * The streams of these ids, by id. A stream that is not known is left out of the answer, which the connector
   * counts as a failure of the call (or as a removal with `allowMissingStreams=true`).
   */
  def describeStreams(streamIds: ju.Collection[String]): ju.Map[String, KafkaStream]

  /** False: the cluster is treated as removed, whatever [[describeStreams]] says; its offsets are retained. */
  def isClusterActive(clusterId: String): Boolean
}
