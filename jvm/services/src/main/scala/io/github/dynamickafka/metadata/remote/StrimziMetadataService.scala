package io.github.dynamickafka.metadata.remote

import java.io.IOException
import java.net.HttpURLConnection
import java.util.Locale

import scala.collection.immutable.VectorMap
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.node.BooleanNode
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import io.fabric8.kubernetes.api.model.{GenericKubernetesResource, GenericKubernetesResourceList}
import io.fabric8.kubernetes.client.dsl.base.ResourceDefinitionContext
import io.fabric8.kubernetes.client.dsl.{Listable, Watchable}
import io.fabric8.kubernetes.client.{Config, KubernetesClientException}

import io.github.dynamickafka.config.MetadataServiceSpecs
import io.github.dynamickafka.error.{DynamicKafkaIllegalArgumentException, Errors}
import io.github.dynamickafka.metadata.document.{DocumentParts, Names}
import io.github.dynamickafka.metadata.service.ServiceArguments
import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaStream}
import io.github.dynamickafka.option.{ClusterKeys, Suggestions}

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
 * Each call makes one attempt. A stream fails alone if it is not known completely: with an `IOException` if a `Kafka` is missing or not
 * ready yet, and with METADATA_INVALID if somebody has to correct a resource. Both name the resource.
 *
 * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION, if there is no namespace, or the properties of
 *         all clusters have bootstrap servers
 */
private[metadata] final class StrimziMetadataService(
    arguments: ServiceArguments,
    config: () => Config = () => Config.autoConfigure(null)
) extends KubernetesService(arguments, config) {
  import ServiceArguments.refuse
  import StrimziResource._

  private val namespaces = arguments(MetadataServiceSpecs.StrimziNamespace)
  private val label = arguments(MetadataServiceSpecs.StrimziLabel)
  private val properties = arguments.underPrefix
  private val all = namespaces.split(',').map(_.strip).filter(_.nonEmpty).toSeq.distinct
  if (all.isEmpty)
    refuse(MetadataServiceSpecs.StrimziNamespace.name, namespaces, "it has to name at least one namespace")
  properties.get(DocumentParts.Bootstrap).foreach(refuse(
    s"properties.${DocumentParts.Bootstrap}",
    _,
    "the addresses are those of the listener of each Kafka resource"
  ))

  override protected val shown: String = s"Strimzi's resources in ${all.mkString(", ")}"
  private val listener = Option(arguments(MetadataServiceSpecs.StrimziListener)).filter(_.nonEmpty)

  /** The version of Strimzi's resources that the API server has. */
  @volatile private var version = Versions.head

  override protected def watched: Seq[Watchable[_]] =
    for (namespace <- all; kind <- Seq(Topic, Kafka)) yield resources(kind, namespace, version)

  override protected def read(): Map[String, KafkaStream] = {
    val (topics, kafkas) = all.map(namespace => list(Topic, namespace) -> list(Kafka, namespace)).unzip
    topics.flatten.sortBy(_.toString).groupBy(_.label(label).getOrElse("")).toSeq.sortBy(_._1).map {
      case (id, own) =>
        id -> (
          try stream(id, own, kafkas.flatten)
          catch {
            case e @ (_: IOException | _: DynamicKafkaIllegalArgumentException) => KafkaStream.invalid(id, e)
          }
        )
    }.to(VectorMap)
  }

  /** Lists resources in the version that the API server has. */
  private def list(kind: String, namespace: String): Seq[StrimziResource] =
    (version +: Versions.filterNot(_ == version)).iterator.flatMap { tried =>
      reading(s"$kind resources in the namespace '$namespace'")(
        try {
          val found = resources(kind, namespace, tried).list().getItems.asScala.toSeq
          version = tried
          Some(found.map(new StrimziResource(kind, _)))
        } catch { case e: KubernetesClientException if e.getCode == HttpURLConnection.HTTP_NOT_FOUND => None }
      )
    }.nextOption().getOrElse(throw new IOException(
      s"the API server has no $kind resources in any of the versions ${Versions.map(v => s"$Group/$v").mkString(", ")}: " +
        "Strimzi is not installed there"
    ))

  private def resources(
      kind: String,
      namespace: String,
      version: String
  ): Listable[GenericKubernetesResourceList] with Watchable[GenericKubernetesResource] = {
    val every = server().genericKubernetesResources(new ResourceDefinitionContext.Builder()
      .withGroup(Group).withVersion(version).withKind(kind).withPlural(kind.toLowerCase(Locale.ROOT) + "s")
      .withNamespaced(true).build()).inNamespace(namespace)
    if (kind == Topic) every.withLabel(label) else every
  }

  private def stream(id: String, own: Seq[StrimziResource], kafkas: Seq[StrimziResource]): KafkaStream = {
    if (id.isBlank) throw Errors.metadataInvalid(
      s"${own.head}, label '$label'",
      "it is empty; it has to be the id of a stream"
    )
    val byKafka = own.groupBy(kafkaOf(_, kafkas)).toSeq.sortBy(_._1.clusterId)
    byKafka.map(_._1).groupBy(_.clusterId).values.find(_.size > 1).foreach { same =>
      val Seq(one, other) = same.sortBy(_.toString).take(2)
      other.fail(
        s"its cluster id '${other.clusterId}' is that of $one too. Give one of them another id with the " +
          s"annotation '$Prefix$ClusterId'"
      )
    }
    KafkaStream(id, byKafka.map { case (kafka, of) => kafka.clusterId -> metadata(kafka, of) }.to(VectorMap))
  }

  private def kafkaOf(topic: StrimziResource, kafkas: Seq[StrimziResource]): StrimziResource = {
    val cluster = topic.label(Cluster).getOrElse(
      topic.fail(s"it has no label '$Cluster', which names the Kafka resource that the topic belongs to")
    )
    kafkas.find(k => k.namespace == topic.namespace && k.name == cluster).getOrElse(throw new IOException(
      s"Kafka ${topic.namespace}/$cluster does not exist, which $topic belongs to (label '$Cluster'). " +
        s"Restore it, or remove the topic's label '$label'"
    ))
  }

  /** @param of the topics of one stream on one cluster, whose annotations have to be the same */
  private def metadata(kafka: StrimziResource, of: Seq[StrimziResource]): ClusterMetadata = {
    val first = of.head
    for (topic <- of; key <- OfTopic.find(key => first.annotations.get(key) != topic.annotations.get(key)))
      topic.fail(
        key,
        s"it differs from that of $first, of the same stream and cluster; it has to be the same at all of its topics"
      )
    def either(key: String) =
      Seq(first, kafka).collectFirst { case on if on.annotations.contains(key) => on -> on.annotations(key) }
    ClusterMetadata(
      of.map(_.topicName).distinct,
      clusterProperties(kafka),
      first.annotations.get(Starting).orNull,
      first.annotations.get(Stopping).orNull,
      either(State).fold(ClusterMetadata.Active) { case (on, value) =>
        Names.badState(value).foreach(on.fail(State, _))
        value
      },
      write = either(Write).forall { case (on, value) =>
        value.toBooleanOption.filter(_.toString == value)
          .getOrElse(on.fail(Write, s"'$value' is neither 'true' nor 'false'"))
      },
      replaces = kafka.annotations.get(Replaces).orNull
    )
  }

  private def clusterProperties(kafka: StrimziResource): Map[String, String] = {
    val found = kafka.listener(listener)
    val trust = "ssl.truststore."
    val ownTrust = properties.keys.exists(_.startsWith(trust))
    found.filterNot { case (name, _) => ownTrust && name.startsWith(trust) } ++ properties
  }
}

/** What is read of a resource. */
private final class StrimziResource(kind: String, resource: GenericKubernetesResource) {
  import StrimziResource._

  private val about = resource.getMetadata
  private val fields = mapper.valueToTree[JsonNode](resource.getAdditionalProperties)
  val namespace: String = about.getNamespace
  val name: String = about.getName
  override def toString: String = s"$kind $namespace/$name"

  def label(key: String): Option[String] = Option(about.getLabels).flatMap(all => Option(all.get(key)))

  /** The connector's annotations, without their prefix. */
  lazy val annotations: Map[String, String] = {
    val own = Option(about.getAnnotations).fold(Map.empty[String, String])(_.asScala.toMap)
      .collect { case (key, value) if key.startsWith(Prefix) => key.drop(Prefix.length) -> value.strip }
    val known = if (kind == Topic) OfTopic else OfKafka
    own.keys.toSeq.sorted.find(!known.contains(_)).foreach { key =>
      fail(
        key,
        s"it is unknown; a $kind may have ${known.map(k => s"'$Prefix$k'").mkString(", ")}." +
          Suggestions.didYouMean(key, known)
      )
    }
    own
  }

  def topicName: String = text(fields.path("spec"), "topicName").getOrElse(name)

  /** The id of the cluster of a `Kafka`. */
  lazy val clusterId: String = {
    val id = annotations.getOrElse(ClusterId, name)
    if (!ClusterKeys.isClusterId(id)) fail(ClusterId, s"'$id' is invalid: ${ClusterKeys.Rule}")
    id
  }

  /**
   * How the cluster of a `Kafka` is reached by a listener in its status, as Kafka properties: the address, the protocol, the mechanism and
   * the certificates.
   *
   * @param default the name of the listener, unless an annotation has it; None: a `Kafka` has to have only one
   * @throws java.io.IOException if the listener has no address yet
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException METADATA_INVALID, if there is no such listener, or several
   */
  def listener(default: Option[String]): Map[String, String] = {
    val declared = list("spec", "kafka", "listeners")
    val name = named(declared.flatMap(text(_, "name")), annotations.get(Listener).orElse(default))
    def notReadyYet(missing: String) =
      throw new IOException(s"$this is not ready: $missing$reason. Strimzi's operator sets it")
    val current = list("status", "listeners")
    val found = current.find(text(_, "name").contains(name)).getOrElse(notReadyYet(
      if (current.isEmpty) "its status has no listeners" else s"its status has no listener '$name'"
    ))
    val servers = text(found, "bootstrapServers").filterNot(_.isBlank)
      .getOrElse(notReadyYet(s"its status has no bootstrapServers of listener '$name'"))
    declared.find(text(_, "name").contains(name)).fold(Map.empty[String, String])(security) ++ trust(found) +
      (DocumentParts.Bootstrap -> servers)
  }

  /** Why a `Kafka` is not ready, as Strimzi's operator says. */
  private def reason: String = {
    def holds(condition: JsonNode, name: String, value: String) =
      text(condition, "type").contains(name) && text(condition, "status").contains(value)
    list("status", "conditions").find(c => holds(c, "NotReady", "True") || holds(c, "Ready", "False"))
      .map(c => Seq(text(c, "reason"), text(c, "message")).flatten.mkString(": "))
      .filter(_.nonEmpty).fold("")(text => s" ($text)")
  }

  private def named(names: Seq[String], chosen: Option[String]): String = {
    val quoted = names.map(name => s"'$name'").mkString(", ")
    chosen match {
      case _ if names.isEmpty => fail("its spec has no listeners")
      case Some(name) if names.contains(name) => name
      case Some(name) => fail(s"it has no listener '$name'; its listeners are $quoted. $Remedy")
      case None if names.size == 1 => names.head
      case None => fail(s"it has several listeners: $quoted. $Remedy")
    }
  }

  /** A list among the fields. */
  private def list(path: String*): Seq[JsonNode] = path.foldLeft(fields)(_.path(_)).asScala.toSeq

  /** Fails because of an annotation. */
  def fail(annotation: String, reason: String): Nothing =
    throw Errors.metadataInvalid(s"$this, annotation '$Prefix$annotation'", reason)

  /** Fails because of the resource. */
  def fail(reason: String): Nothing = throw Errors.metadataInvalid(toString, reason)
}

private object StrimziResource {
  private val mapper = new ObjectMapper
  val Group = "kafka.strimzi.io"

  /** The newest one first. Releases of Strimzi have `v1` from 0.49 on, and `v1beta2` before 1.0. */
  val Versions: Seq[String] = Seq("v1", "v1beta2")
  val Topic = "KafkaTopic"
  val Kafka = "Kafka"

  /** Strimzi's label, which names the `Kafka` of a `KafkaTopic`. */
  val Cluster = "strimzi.io/cluster"

  /** The prefix of the annotations. */
  val Prefix = "dynamic-kafka/"

  val State = "state"
  val Write = "write"
  val Starting = "starting-offsets"
  val Stopping = "stopping-offsets"
  val Replaces = "replaces"
  val ClusterId = "cluster-id"
  private val Listener = "listener"
  val OfTopic: Seq[String] = Seq(State, Write, Starting, Stopping)
  private val OfKafka = Seq(ClusterId, Listener, Replaces, State, Write)

  private val Remedy =
    s"Set '${ServiceArguments.option(MetadataServiceSpecs.StrimziListener.name)}', or the annotation '$Prefix$Listener' of the Kafka, to one of them"

  /** SASL mechanisms by Strimzi's type of authentication. */
  private val Mechanisms = Map("scram-sha-512" -> "SCRAM-SHA-512", "oauth" -> "OAUTHBEARER")

  /** The text of a field; None: it is absent or has another type. */
  private def text(node: JsonNode, field: String): Option[String] = Option(node.path(field).textValue)

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
}
