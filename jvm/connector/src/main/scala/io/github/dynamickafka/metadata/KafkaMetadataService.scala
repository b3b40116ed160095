package io.github.dynamickafka.metadata

import java.{util => ju}

/**
 * Returns the existing streams, with the current clusters, topics and properties of each stream.
 *
 * The names and their meaning are those of Flink's `KafkaMetadataService` (FLIP-246). The connector polls the service
 * every `streamMetadataDiscoveryIntervalMs` (default 30000) on a dedicated thread, never concurrently and never on the
 * thread of the query. A call that takes longer than `clusterRequestTimeoutMs` (default 60000) counts as a failure, and
 * no further call is made until it returns. The connector keeps the last valid metadata.
 *
 * An implementation must throw an exception if it cannot determine the complete answer. Any exception counts as a
 * failure: nothing is removed, and more than `streamMetadataDiscoveryFailureThreshold` (default 10) consecutive
 * failures fail the query with METADATA_UNAVAILABLE. An empty answer and a missing subscribed stream id also count as
 * failures, unless `allowMissingStreams` is true. A partial answer is not recognized in all cases: clusters and topics
 * that `removalConfirmations` (default 2) consecutive answers omit, and streams that only `streamPattern` selects, count
 * as removed. An answer that omits more clusters than `maxRemovedClustersPerChange` is a failure.
 *
 * An implementation that is set by its class name in the option `metadataService` must have a public constructor that
 * takes a `java.util.Map[String, String]` (the options `metadataService.*` without that prefix, keys as the user wrote
 * them), or a public constructor without parameters.
 */
trait KafkaMetadataService extends AutoCloseable with Serializable {

  /**
   * Returns all existing streams. Called for a subscription with `streamPattern`. Neither the set nor a stream may be
   * null.
   */
  def getAllStreams(): ju.Set[KafkaStream]

  /**
   * Returns the streams with these ids, by id. Called for a subscription with `streamIds`. An unknown stream is absent
   * from the result. The connector treats this as a failure of the poll, or as a removal of the stream if
   * `allowMissingStreams` is true.
   */
  def describeStreams(streamIds: ju.Collection[String]): ju.Map[String, KafkaStream]

  /**
   * Returns whether the cluster is active. Called for each cluster of the subscribed streams. If false, the cluster
   * counts as removed for reads at once, even if a stream contains it: it is not contacted, and its offsets are
   * retained. It takes no writes.
   */
  def isClusterActive(clusterId: String): Boolean

  /**
   * Registers what the service runs whenever its answers may have changed, on any thread: the connector then asks at once, also
   * if `streamMetadataDiscoveryIntervalMs` is -1, and continues to poll at its interval. Called before the first of the other
   * calls. Closing the result ends it.
   *
   * While the newest answer of such a service is invalid, the same METADATA_INVALID counts as one failure for each
   * `streamMetadataDiscoveryIntervalMs`, however often changes are noticed.
   *
   * @return null if the service does not notice changes, which is the default
   */
  def onChange(changed: Runnable): AutoCloseable = null
}
