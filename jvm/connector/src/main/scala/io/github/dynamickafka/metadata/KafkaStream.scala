package io.github.dynamickafka.metadata

import java.{util => ju}

import scala.jdk.CollectionConverters._

/**
 * A logical stream and its metadata on each of its clusters, as returned by the metadata service. Immutable. Has the
 * names of Flink's `KafkaStream` (FLIP-246).
 *
 * @param streamId the id that users subscribe to
 * @param clusterMetadataMap the metadata by cluster id. The iteration order determines the first cluster for
 *                           `clusterRouting=first`
 * @param formatOptions options about the format of the records, with the names of the options of the data source: `format`,
 *                      `schema`, `keyFormat`, `json.timestampFormat`, `registry.url`
 * @param history files that a new query reads before Kafka; null: none
 */
final class KafkaStream private (
    val streamId: String,
    clusterMetadataMap: ju.Map[String, ClusterMetadata],
    formatOptions: ju.Map[String, String],
    val history: StreamHistory,
    private[dynamickafka] val invalid: Option[Throwable]
) extends Serializable {

  def this(
      streamId: String,
      clusterMetadataMap: ju.Map[String, ClusterMetadata],
      formatOptions: ju.Map[String, String],
      history: StreamHistory
  ) = this(streamId, clusterMetadataMap, formatOptions, history, None)

  def this(
      streamId: String,
      clusterMetadataMap: ju.Map[String, ClusterMetadata],
      formatOptions: ju.Map[String, String]
  ) = this(streamId, clusterMetadataMap, formatOptions, null)

  def this(streamId: String, clusterMetadataMap: ju.Map[String, ClusterMetadata]) =
    this(streamId, clusterMetadataMap, ju.Map.of[String, String]())

  private val clusters = new ju.LinkedHashMap[String, ClusterMetadata](clusterMetadataMap)
  private val formatMap = new ju.TreeMap[String, String](formatOptions)

  def getStreamId: String = streamId
  def getClusterMetadataMap: ju.Map[String, ClusterMetadata] = ju.Collections.unmodifiableMap(clusters)
  private[dynamickafka] def entries: Seq[(String, ClusterMetadata)] = clusters.asScala.toSeq
  def getFormatOptions: ju.Map[String, String] = ju.Collections.unmodifiableMap(formatMap)
  def getHistory: StreamHistory = history

  override def equals(other: Any): Boolean = other match {
    case that: KafkaStream => streamId == that.streamId && clusters == that.getClusterMetadataMap &&
      formatMap == that.getFormatOptions && history == that.history
    case _ => false
  }
  override def hashCode: Int = ju.Objects.hash(streamId, clusters)
  override def toString: String =
    s"KafkaStream($streamId, ${clusters.asScala.map { case (id, c) => s"$id -> $c" }.mkString(", ")})"
}

object KafkaStream {

  /** A stream whose metadata cannot be used, which is a failure for queries that select it, and of no interest for others. */
  private[dynamickafka] def invalid(streamId: String, reason: Throwable): KafkaStream =
    new KafkaStream(streamId, ju.Map.of(), ju.Map.of[String, String](), null, Some(reason))

  /** A stream, with Scala's collections. The order of `clusters` determines the first cluster. */
  def apply(
      streamId: String,
      clusters: Map[String, ClusterMetadata],
      formatOptions: Map[String, String] = Map.empty,
      history: StreamHistory = null
  ): KafkaStream = new KafkaStream(streamId, clusters.asJava, formatOptions.asJava, history)
}

/**
 * Files with the older records of a stream, which a new query reads before Kafka. Immutable.
 *
 * @param format the format of the files: `parquet`, `orc`, `avro` or `json`; `iceberg`: a table
 * @param path the folder with the files, or one file; the name or the location of a table
 * @param options options of Spark's reader of this format. The checkpoint contains them, so they must not be secrets
 * @param cluster the id of the cluster that the records are from; null: the files have a column `cluster`, or the stream has
 *                one cluster
 */
final class StreamHistory(
    val format: String,
    val path: String,
    options: ju.Map[String, String],
    val cluster: String
) extends Serializable {

  def this(format: String, path: String) = this(format, path, ju.Map.of[String, String](), null)

  private val optionMap = new ju.TreeMap[String, String](options)

  def getFormat: String = format
  def getPath: String = path
  def getOptions: ju.Map[String, String] = ju.Collections.unmodifiableMap(optionMap)
  def getCluster: String = cluster

  private def identity = (format, path, getOptions, cluster)

  override def equals(other: Any): Boolean = other match {
    case that: StreamHistory => identity == that.identity
    case _ => false
  }
  override def hashCode: Int = identity.hashCode
  override def toString: String = s"StreamHistory($format, $path, cluster=$cluster)"
}
