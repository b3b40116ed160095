package io.github.dynamickafka.metadata.service

import java.io.IOException
import java.net.HttpURLConnection
import java.{util => ju}

import scala.collection.immutable.VectorMap
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.node.BooleanNode
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import io.fabric8.kubernetes.api.model.{GenericKubernetesResource, GenericKubernetesResourceList}
import io.fabric8.kubernetes.client.dsl.base.ResourceDefinitionContext
import io.fabric8.kubernetes.client.{Config, KubernetesClientException}

import io.github.dynamickafka.config.MetadataServiceSpecs
import io.github.dynamickafka.error.{DynamicKafkaIllegalArgumentException, Errors}
import io.github.dynamickafka.metadata.document.{DocumentParts, MetadataDocument, Names}
import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaStream}

/**
 * Reads the streams from the resources of Strimzi, the operator of Kafka on Kubernetes: a `KafkaTopic` with a label belongs to the stream that
 * the label names, on the cluster of its `Kafka` resource. Each call lists the resources. A change is noticed at once, because they are
 * watched; without the right to watch them, at the next poll.
 *
 * The cluster id is the name of the `Kafka`, its address and certificates those of a listener in its status. Annotations
 * `dynamic-kafka/...` have what the metadata file has beside: state, write, offsets, the cluster that is replaced.
 *
 * The service uses Spark's Kubernetes client, as [[KubernetesConfigMapMetadataService]] does. The account requires the verbs `list` and
 * `watch` on `kafkas` and `kafkatopics` of the API group `kafka.strimzi.io`, in version `v1` or `v1beta2`.
 *
 * Each call makes one attempt. A stream with a cluster that is not ready is a failure, an `IOException` that names the `Kafka`, and no
 * stream without this cluster.
 *
 * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION, if there is no namespace, or the properties of
 *         all clusters have bootstrap servers
 */
private[metadata] final class StrimziMetadataService(
    arguments: ServiceArguments,
    config: () => Config = () => Config.autoConfigure(null)
) extends DocumentMetadataService(arguments(MetadataServiceSpecs.TtlMs))
    with Watched {
  import StrimziMetadataService._

  private val namespaces = arguments(MetadataServiceSpecs.StrimziNamespace)
  private val label = arguments(MetadataServiceSpecs.StrimziLabel)
  private val properties = arguments.underPrefix
  private val all = namespaces.split(',').map(_.strip).filter(_.nonEmpty).toSeq.distinct
  if (all.isEmpty)
    throw Errors.invalidOption(NamespaceOption, namespaces, "it has to name at least one namespace")
  if (properties.contains(DocumentParts.Bootstrap))
    throw Errors.invalidOption(
      ServiceArguments.option(s"properties.${DocumentParts.Bootstrap}"),
      properties(DocumentParts.Bootstrap),
      "the addresses are those of the listener of each Kafka resource"
    )

  override protected val shown: String = s"Strimzi's resources in ${all.mkString(", ")}"
  private val listener = Option(arguments(MetadataServiceSpecs.StrimziListener)).filter(_.nonEmpty)
  private val server = new ApiServer(arguments(MetadataServiceSpecs.TimeoutMs), config)

  /** That the API server has. */
  @volatile private var version = Versions.head

  override def close(): Unit = server.close()

  override protected def await(working: () => Unit, changed: () => Unit): Unit =
    ApiServer.watch(working, changed)(all.flatMap(namespace => Seq(topics(namespace), kafkas(namespace))))

  override def toString: String = s"StrimziMetadataService(${all.mkString(", ")})"

  override protected def read(): MetadataDocument = {
    val listed = all.map(namespace =>
      (
        list(namespace, "KafkaTopic", topics(namespace).list()),
        list(namespace, "Kafka", kafkas(namespace).list())
      )
    )
    new StrimziStreams(
      listed.flatMap(_._1),
      listed.flatMap(_._2),
      label,
      listener,
      properties
    ).document
  }

  /** In the version that the API server has. */
  private def list(
      namespace: String,
      kind: String,
      request: => GenericKubernetesResourceList
  ): Seq[GenericKubernetesResource] = {
    val before = version
    val found = (before +: Versions.filterNot(_ == before)).iterator.flatMap { tried =>
      version = tried
      ApiServer.reading(s"$kind resources in the namespace '$namespace'")(
        try Some(request)
        catch { case e: KubernetesClientException if e.getCode == HttpURLConnection.HTTP_NOT_FOUND => None }
      )
    }.nextOption().getOrElse {
      version = before
      throw new IOException(
        s"the API server has no $kind resources in any of the versions ${Versions.map(v => s"$Group/$v").mkString(", ")}: " +
          "Strimzi is not installed there"
      )
    }
    val items = found.getItems.asScala.toSeq
    items.foreach(_.setKind(kind))
    items
  }

  private def topics(namespace: String) =
    resources("KafkaTopic", "kafkatopics").inNamespace(namespace).withLabel(label)

  private def kafkas(namespace: String) = resources("Kafka", "kafkas").inNamespace(namespace)

  private def resources(kind: String, plural: String) =
    server.opened().genericKubernetesResources(new ResourceDefinitionContext.Builder()
      .withGroup(Group).withVersion(version).withKind(kind).withPlural(plural).withNamespaced(true).build())
}

private object StrimziMetadataService {
  private val NamespaceOption = ServiceArguments.option(MetadataServiceSpecs.StrimziNamespace.name)
  private val Group = "kafka.strimzi.io"

  /** The newest one first. Releases of Strimzi have `v1` from 0.49 on, and `v1beta2` before 1.0. */
  private val Versions = Seq("v1", "v1beta2")
}

/**
 * The streams of some `KafkaTopic` resources, on the clusters of their `Kafka` resources. Pure.
 *
 * A stream fails if it is not known completely: with an IOException if a `Kafka` is missing or not ready yet, and with METADATA_INVALID if
 * somebody has to correct a resource. Both name the resource. Streams on other clusters are not concerned.
 *
 * @param topics those with the label
 * @param label the key of the label with the stream id
 * @param listener its name; None: each `Kafka` has to have only one, or an annotation
 * @param properties those of all clusters
 */
private[service] final class StrimziStreams(
    topics: Seq[GenericKubernetesResource],
    kafkas: Seq[GenericKubernetesResource],
    label: String,
    listener: Option[String],
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
    val found = StrimziListener.of(kafka, annotations.get(Listener).orElse(listener), shown(kafka))
    val ownTrust = properties.keys.exists(_.startsWith("ssl.truststore."))
    found.security ++ (if (ownTrust) Map.empty else found.trust) ++ properties +
      (DocumentParts.Bootstrap -> found.bootstrapServers)
  }

  private def state(on: GenericKubernetesResource, value: String): String = {
    Names.badState(value).foreach(fail(annotation(on, State), _))
    value
  }

  private def write(on: GenericKubernetesResource, value: String): Boolean =
    value.toBooleanOption.filter(_.toString == value)
      .getOrElse(fail(annotation(on, Write), s"'$value' is neither 'true' nor 'false'"))
}

private[service] object StrimziStreams {

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

/** The listener by which a cluster is reached, in the status of a `Kafka` resource. */
private object StrimziListener {

  /**
   * @param security the protocol and the mechanism of the listener, as Kafka properties
   * @param trust its certificates, as Kafka properties
   */
  final case class Found(bootstrapServers: String, security: Map[String, String], trust: Map[String, String])

  private val ListenerOption = ServiceArguments.option(MetadataServiceSpecs.StrimziListener.name)
  private val Remedy =
    s"Set '$ListenerOption', or the annotation '${StrimziStreams.Prefix}${StrimziStreams.Listener}' of the Kafka, to one of them"

  /** SASL mechanisms by Strimzi's type of authentication. */
  private val Mechanisms = Map("scram-sha-512" -> "SCRAM-SHA-512", "oauth" -> "OAUTHBEARER")

  private def fail(where: String, reason: String): Nothing = throw Errors.metadataInvalid(where, reason)

  /** What Strimzi's operator says about a `Kafka` that is not ready. */
  private def reason(kafka: GenericKubernetesResource): String = {
    val conditions = list(kafka, "status", "conditions")
    def holds(condition: JsonNode, name: String, value: String) =
      text(condition, "type").contains(name) && text(condition, "status").contains(value)
    conditions.find(c => holds(c, "NotReady", "True") || holds(c, "Ready", "False"))
      .map(c => Seq(text(c, "reason"), text(c, "message")).flatten.mkString(": "))
      .filter(_.nonEmpty).fold("")(text => s" ($text)")
  }

  private def quoted(names: Seq[String]) = names.map(name => s"'$name'").mkString(", ")

  /** The text of a field; None: it is absent or has another type. */
  private def text(node: JsonNode, field: String): Option[String] = Option(node.path(field).textValue)

  private def list(resource: GenericKubernetesResource, path: String*): Seq[JsonNode] =
    path.foldLeft(mapper.valueToTree[JsonNode](resource.getAdditionalProperties))(_.path(_)).asScala.toSeq

  private val mapper = new ObjectMapper

  /**
   * @param chosen the name of the listener; None: a `Kafka` has to have only one
   * @param shown the resource, for errors
   * @throws java.io.IOException if the listener has no address yet
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException METADATA_INVALID, if there is no such listener, or several
   */
  def of(kafka: GenericKubernetesResource, chosen: Option[String], shown: String): Found = {
    val declared = list(kafka, "spec", "kafka", "listeners")
    val name = named(declared.flatMap(text(_, "name")), chosen, shown)
    def notReadyYet(missing: String) =
      new IOException(s"$shown is not ready: $missing${reason(kafka)}. Strimzi's operator sets it")
    val current = list(kafka, "status", "listeners")
    val found = current.find(text(_, "name").contains(name)).getOrElse(throw notReadyYet(
      if (current.isEmpty) "its status has no listeners" else s"its status has no listener '$name'"
    ))
    Found(
      text(found, "bootstrapServers").filterNot(_.isBlank).getOrElse(
        throw notReadyYet(s"its status has no bootstrapServers of listener '$name'")
      ),
      declared.find(text(_, "name").contains(name)).fold(Map.empty[String, String])(security),
      trust(found)
    )
  }

  private def security(declared: JsonNode): Map[String, String] = {
    val authentication = declared.path("authentication")
    val mechanism = text(authentication, "type").flatMap(Mechanisms.get)
    val sasl = mechanism.isDefined || authentication.path("sasl") == BooleanNode.TRUE
    val protocol = (declared.path("tls") == BooleanNode.TRUE, sasl) match {
      case (true, true) => Some("SASL_SSL")
      case (true, false) => Some("SSL")
      case (false, true) => Some("SASL_PLAINTEXT")
      case _ => None
    }
    protocol.map("security.protocol" -> _).toMap ++ mechanism.map("sasl.mechanism" -> _)
  }

  private def trust(found: JsonNode): Map[String, String] = {
    val certificates = found.path("certificates").asScala.toSeq.flatMap(c => Option(c.textValue)).map(_.strip)
      .filter(_.nonEmpty)
    if (certificates.isEmpty) Map.empty
    else Map("ssl.truststore.type" -> "PEM", "ssl.truststore.certificates" -> certificates.mkString("\n"))
  }

  private def named(names: Seq[String], chosen: Option[String], shown: String): String =
    chosen match {
      case _ if names.isEmpty => fail(shown, "its spec has no listeners")
      case Some(name) if names.contains(name) => name
      case Some(name) =>
        fail(shown, s"it has no listener '$name'; its listeners are ${quoted(names)}. $Remedy")
      case None if names.size == 1 => names.head
      case None => fail(shown, s"it has several listeners: ${quoted(names)}. $Remedy")
    }
}
