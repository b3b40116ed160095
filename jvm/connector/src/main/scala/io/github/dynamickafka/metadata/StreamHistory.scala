package io.github.dynamickafka.metadata

import java.{util => ju}

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
