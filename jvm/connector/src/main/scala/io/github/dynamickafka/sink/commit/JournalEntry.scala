package io.github.dynamickafka.sink.commit

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.node.ObjectNode
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.github.dynamickafka.error.Errors

/**
 * The decision to commit a batch. After it is written, the batch will be committed, regardless of failures.
 *
 * @param run the run that decided, with its instance of the journal and its generation
 * @param input what Spark had planned for the batch, so that another plan with the same number is recognized
 * @param round 0, or the number of times that lost parts of the batch were written again
 * @param clusters the clusters of the transactions
 * @param leftOut the clusters that were left out of the batch, so that its lost parts are routed as before
 */
private[sink] final case class JournalEntry(
    queryId: String,
    run: String,
    instance: String,
    generation: Long,
    batch: Long,
    round: Int,
    input: BatchInput,
    transactions: Seq[Prepared],
    clusters: Map[String, JournalCluster],
    leftOut: Set[String] = Set.empty
) {

  /** Kafka's id of a cluster at the decision. */
  def kafkaId(cluster: String): Option[String] = clusters.get(cluster).flatMap(_.kafkaId)
}

/**
 * @param kafkaId Kafka's id of the cluster; None: it has none
 * @param properties the connection properties without secrets, for a restart after the cluster has left the metadata
 * @param topicIds Kafka's ids of the topics of the transactions, as far as it has returned them
 */
private[sink] final case class JournalCluster(
    kafkaId: Option[String],
    properties: Map[String, String],
    topicIds: Map[String, String] = Map.empty
)

/** The codec of [[JournalEntry]], version 2. A missing field or another version is an error, except that `leftOut` and `topicIds` are optional. */
private[dynamickafka] object JournalJson {
  val Version = 2
  private val mapper = new ObjectMapper

  def write(entry: JournalEntry): String = {
    val root = mapper.createObjectNode().put("version", Version)
      .put("queryId", entry.queryId).put("run", entry.run)
      .put(
        "instance",
        entry.instance
      ).put("generation", entry.generation).put("batch", entry.batch).put("round", entry.round)
    val input = root.putObject("input")
    entry.input.digests.toSeq.sorted.foreach { case (file, digest) => input.put(file, digest) }
    val transactions = root.putArray("transactions")
    entry.transactions.foreach { t =>
      val node = transactions.addObject()
        .put("cluster", t.cluster).put("transactionalId", t.transactionalId)
        .put("producerId", t.producerId).put("epoch", t.epoch)
        .put("partition", t.partition).put("rows", t.rows)
      val topics = node.putArray("topics")
      t.topics.foreach(topics.add)
    }
    val clusters = root.putObject("clusters")
    entry.clusters.toSeq.sortBy(_._1).foreach { case (id, cluster) =>
      val node = clusters.putObject(id)
      cluster.kafkaId.foreach(node.put("kafkaId", _))
      val properties = node.putObject("properties")
      cluster.properties.toSeq.sorted.foreach { case (name, value) => properties.put(name, value) }
      if (cluster.topicIds.nonEmpty) {
        val topics = node.putObject("topicIds")
        cluster.topicIds.toSeq.sorted.foreach { case (topic, id) => topics.put(topic, id) }
      }
    }
    if (entry.leftOut.nonEmpty) {
      val leftOut = root.putArray("leftOut")
      entry.leftOut.toSeq.sorted.foreach(leftOut.add)
    }
    mapper.writeValueAsString(root)
  }

  /** @param where the file, for the error message */
  def read(text: String, where: String): JournalEntry =
    try {
      val root = mapper.readTree(text) match {
        case o: ObjectNode => o
        case _ => throw new IllegalArgumentException("it is not a JSON object")
      }
      val version = field(root, "version").asInt
      if (version != Version) throw new IllegalArgumentException(
        s"it has version $version, but this version of the connector supports version $Version"
      )
      JournalEntry(
        field(root, "queryId").asText,
        field(root, "run").asText,
        field(root, "instance").asText,
        field(root, "generation").asLong,
        field(root, "batch").asLong,
        field(root, "round").asInt,
        BatchInput(texts(field(root, "input"))),
        field(root, "transactions").elements.asScala.map(transaction).toSeq,
        field(root, "clusters").properties.asScala.map { e =>
          e.getKey -> JournalCluster(
            Option(e.getValue.get("kafkaId")).map(_.asText),
            texts(field(e.getValue, "properties")),
            Option(e.getValue.get("topicIds")).fold(Map.empty[String, String])(texts)
          )
        }.toMap,
        Option(root.get("leftOut")).fold(Set.empty[String])(_.elements.asScala.map(_.asText).toSet)
      )
    } catch {
      case NonFatal(e) => throw Errors.journalConflict(where, s"it cannot be read: ${e.getMessage}", e)
    }

  /**
   * A decision when clusters get other ids.
   *
   * @param id the id that a cluster gets
   * @param where the file, for the error message
   */
  def renamed(text: String, where: String)(id: String => String): String = {
    val entry = read(text, where)
    write(entry.copy(
      transactions = entry.transactions.map(t => t.copy(cluster = id(t.cluster))),
      clusters = entry.clusters.map { case (cluster, of) => id(cluster) -> of },
      leftOut = entry.leftOut.map(id)
    ))
  }

  private def transaction(node: JsonNode) = Prepared(
    field(node, "cluster").asText,
    field(node, "transactionalId").asText,
    field(node, "producerId").asLong,
    field(node, "epoch").asInt.toShort,
    field(node, "partition").asInt,
    field(node, "rows").asLong,
    field(node, "topics").elements.asScala.map(_.asText).toSeq
  )

  private def texts(node: JsonNode): Map[String, String] =
    node.properties.asScala.map(p => p.getKey -> p.getValue.asText).toMap

  private def field(node: JsonNode, name: String): JsonNode =
    Option(node.get(name)).getOrElse(throw new IllegalArgumentException(s"'$name' is missing"))
}
