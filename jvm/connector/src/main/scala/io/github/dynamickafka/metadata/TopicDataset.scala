package io.github.dynamickafka.metadata

import org.apache.spark.sql.connector.read.streaming.Offset

/**
 * A topic of a cluster, with the names that OpenLineage has for topics. Contains no secrets.
 *
 * @param namespace `kafka://` with the first address of the cluster
 * @param cluster the id of the cluster in the metadata
 * @param stream None: the topic is of no stream, as that of dead letters
 */
private[dynamickafka] final case class TopicDataset private (
    namespace: String,
    topic: String,
    cluster: String,
    stream: Option[String]
)

private[dynamickafka] object TopicDataset {

  // An address as Kafka's clients read it: anything else, as a reference to a value, is not a name.
  private val Address = """(?:[0-9a-zA-Z\-%._]*://)?(\[?[0-9a-zA-Z\-%._:]*]?:[0-9]+)""".r

  /** None: `bootstrapServers` does not begin with an address. */
  def of(
      bootstrapServers: String,
      cluster: String,
      topic: String,
      stream: Option[String]
  ): Option[TopicDataset] =
    bootstrapServers.split(',').map(_.trim).find(_.nonEmpty).collect { case Address(first) =>
      new TopicDataset(s"kafka://$first", topic, cluster, stream)
    }
}

/**
 * A node of Spark's plans that says which topics it reads or has written. Lineage tools call it on threads of their own, so
 * it does not wait for anything. Empty as long as it is not known.
 */
private[dynamickafka] trait HasDatasets {
  def datasets: Seq[TopicDataset]
}

/** A stream in Spark's plans that says which topics each of its batches reads. */
private[dynamickafka] trait HasDatasetsOfBatch {

  /** @param end the end offset of the batch */
  def datasets(end: Offset): Seq[TopicDataset]
}
