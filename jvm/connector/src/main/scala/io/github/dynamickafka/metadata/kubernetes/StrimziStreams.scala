package io.github.dynamickafka.metadata.kubernetes

import java.io.IOException
import java.{util => ju}

import scala.collection.immutable.VectorMap
import scala.jdk.CollectionConverters._

import io.fabric8.kubernetes.api.model.GenericKubernetesResource

import io.github.dynamickafka.error.{DynamicKafkaIllegalArgumentException, Errors}
import io.github.dynamickafka.metadata.document.{DocumentParts, MetadataDocument, Names}
import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaStream}

/**
 * The streams of some `KafkaTopic` resources, on the clusters of their `Kafka` resources. Pure.
 *
 * A stream fails if it is not known completely: with an IOException if a `Kafka` is missing or not ready yet, and with METADATA_INVALID if
 * somebody has to correct a resource. Both name the resource. Streams on other clusters are not concerned.
 *
 * @param topics those with the label
 * @param label the key of the label with the stream id
 * @param properties those of all clusters
 */
private[kubernetes] final class StrimziStreams(
    topics: Seq[GenericKubernetesResource],
    kafkas: Seq[GenericKubernetesResource],
    label: String,
    listener: StrimziListener,
    properties: Map[String, String]
) {
  import StrimziStreams._

  private val byStream: Map[String, Seq[GenericKubernetesResource]] =
    topics.sortBy(shown).groupBy(topic => labels(topic).getOrElse(label, ""))

  private val byName = kafkas.map(kafka => (namespace(kafka), name(kafka)) -> kafka).toMap

  /** All streams, of which each can be invalid alone. */
  def document: MetadataDocument = {
    val (streams, invalid) = byStream.keys.toSeq.sorted.partitionMap { id =>
      try Left(id -> stream(id))
      catch { case e @ (_: IOException | _: DynamicKafkaIllegalArgumentException) => Right(id -> e) }
    }
    MetadataDocument(streams.to(VectorMap), invalid.toMap)
  }

  private def stream(id: String): KafkaStream = {
    val own = byStream(id)
    if (id.isBlank)
      fail(s"${shown(own.head)}, label '$label'", "it is empty; it has to be the id of a stream")
    val all =
      own.groupBy(kafkaOf).toSeq.map { case (kafka, of) => (clusterId(kafka), kafka, of) }.sortBy(_._1)
    all.groupBy(_._1).values.find(_.size > 1).foreach { same =>
      val Seq(one, other) = same.map(_._2).sortBy(shown).take(2)
      fail(
        shown(other),
        s"its cluster id '${clusterId(other)}' is that of ${shown(one)} too. Give one of them another id with the " +
          s"annotation '$Prefix$ClusterId'"
      )
    }
    val clusters = new ju.LinkedHashMap[String, ClusterMetadata]
    all.foreach { case (cluster, kafka, of) => clusters.put(cluster, metadata(kafka, of)) }
    new KafkaStream(id, clusters)
  }

  private def kafkaOf(topic: GenericKubernetesResource): GenericKubernetesResource = {
    val cluster = labels(topic).getOrElse(
      Cluster,
      fail(
        shown(topic),
        s"it has no label '$Cluster', which names the Kafka resource that the topic belongs to"
      )
    )
    byName.getOrElse(
      (namespace(topic), cluster),
      throw new IOException(
        s"Kafka ${namespace(topic)}/$cluster does not exist, which ${shown(topic)} belongs to (label '$Cluster'). " +
          s"Restore it, or remove the topic's label '$label'"
      )
    )
  }

  private def metadata(
      kafka: GenericKubernetesResource,
      of: Seq[GenericKubernetesResource]
  ): ClusterMetadata = {
    val (first, own) = (of.head, ofTopics(of))
    val ofCluster = annotations(kafka, OfKafka)
    def either(key: String) = own.get(key).map(first -> _).orElse(ofCluster.get(key).map(kafka -> _))
    ClusterMetadata(
      of.map(topicName).distinct,
      clusterProperties(kafka, ofCluster),
      own.get(Starting).orNull,
      own.get(Stopping).orNull,
      either(State).fold(ClusterMetadata.Active) { case (on, value) => state(on, value) },
      write = either(Write).forall { case (on, value) => write(on, value) },
      replaces = ofCluster.get(Replaces).orNull
    )
  }

  /** The annotations of the topics of one stream on one cluster. */
  private def ofTopics(of: Seq[GenericKubernetesResource]): Map[String, String] = {
    val (first, own) = (of.head, annotations(of.head, OfTopic))
    of.tail.foreach { topic =>
      val other = annotations(topic, OfTopic)
      OfTopic.find(key => own.get(key) != other.get(key)).foreach(key =>
        fail(
          annotation(topic, key),
          s"it differs from that of ${shown(first)}, of the same stream and cluster; it has to be the same at all of its topics"
        )
      )
    }
    own
  }

  private def clusterProperties(
      kafka: GenericKubernetesResource,
      annotations: Map[String, String]
  ): Map[String, String] = {
    val found = listener.of(kafka, annotations.get(Listener), shown(kafka))
    val ownTrust = properties.keys.exists(_.startsWith("ssl.truststore."))
    found.security ++ (if (ownTrust) Map.empty else found.trust) ++ properties +
      (DocumentParts.Bootstrap -> found.bootstrapServers)
  }

  private def state(on: GenericKubernetesResource, value: String): String = {
    if (!ClusterMetadata.States.contains(value))
      fail(annotation(on, State), s"'$value' is not a valid state, use 'active', 'draining' or 'removed'")
    value
  }

  private def write(on: GenericKubernetesResource, value: String): Boolean =
    value.toBooleanOption.filter(_.toString == value)
      .getOrElse(fail(annotation(on, Write), s"'$value' is neither 'true' nor 'false'"))
}

private[kubernetes] object StrimziStreams {

  /** Strimzi's label, which names the `Kafka` of a `KafkaTopic`. */
  val Cluster = "strimzi.io/cluster"

  /** Of the annotations. */
  val Prefix = "dynamic-kafka/"

  private val State = "state"
  private val Write = "write"
  private val Starting = "starting-offsets"
  private val Stopping = "stopping-offsets"
  private val Replaces = "replaces"
  private val ClusterId = "cluster-id"
  val Listener = "listener"
  private val OfTopic = Seq(State, Write, Starting, Stopping)
  private val OfKafka = Seq(ClusterId, Listener, Replaces, State, Write)

  private def name(resource: GenericKubernetesResource) = resource.getMetadata.getName
  private def namespace(resource: GenericKubernetesResource) = resource.getMetadata.getNamespace
  private def shown(resource: GenericKubernetesResource): String =
    s"${resource.getKind} ${namespace(resource)}/${name(resource)}"
  private def labels(resource: GenericKubernetesResource) =
    Option(resource.getMetadata.getLabels).fold(Map.empty[String, String])(_.asScala.toMap)
  private def annotation(on: GenericKubernetesResource, key: String) =
    s"${shown(on)}, annotation '$Prefix$key'"

  private def topicName(topic: GenericKubernetesResource): String =
    Option(topic.get[String]("spec", "topicName")).getOrElse(name(topic))

  private def clusterId(kafka: GenericKubernetesResource): String = {
    val id = annotations(kafka, OfKafka).getOrElse(ClusterId, name(kafka))
    if (!Names.isClusterId(id))
      fail(annotation(kafka, ClusterId), s"'$id' is invalid: ${Names.ClusterIdRule}")
    id
  }

  /** The connector's annotations, without their prefix. */
  private def annotations(resource: GenericKubernetesResource, known: Seq[String]): Map[String, String] = {
    val own = ofConnector(resource)
    own.keys.toSeq.sorted.find(!known.contains(_)).foreach { key =>
      fail(
        annotation(resource, key),
        s"it is unknown; a ${resource.getKind} may have ${known.map(k => s"'$Prefix$k'").mkString(", ")}." +
          Names.didYouMean(key, known)
      )
    }
    own
  }

  private def ofConnector(resource: GenericKubernetesResource): Map[String, String] =
    Option(resource.getMetadata.getAnnotations).fold(Map.empty[String, String])(_.asScala.toMap)
      .collect { case (key, value) if key.startsWith(Prefix) => key.drop(Prefix.length) -> value.strip }

  private def fail(where: String, reason: String): Nothing = throw Errors.metadataInvalid(where, reason)
}
