package io.github.dynamickafka.metadata.kubernetes

import java.io.IOException
import java.net.HttpURLConnection

import scala.jdk.CollectionConverters._

import io.fabric8.kubernetes.api.model.{GenericKubernetesResource, GenericKubernetesResourceList}
import io.fabric8.kubernetes.client.dsl.base.ResourceDefinitionContext
import io.fabric8.kubernetes.client.{Config, KubernetesClientException}

import io.github.dynamickafka.config.MetadataServiceSpecs
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.document.{DocumentParts, MetadataDocument}
import io.github.dynamickafka.metadata.service.{DocumentMetadataService, ServiceArguments, Watched}

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
 * @param namespaces of the resources, separated by commas
 * @param listener the name of the listener; empty: each `Kafka` has only one, or an annotation with its name
 * @param label the key of the label with the stream id
 * @param properties Kafka client properties of all clusters, without the prefix `kafka.`; they have precedence over those of the listener
 * @param timeoutMs the time limit for connecting and for a response, each in milliseconds
 * @param ttlMs how long an answer is used before the next requests, in milliseconds; 0: each call sends requests
 * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION, if there is no namespace, or `properties` has
 *         bootstrap servers
 */
private[metadata] final class StrimziMetadataService(
    namespaces: String,
    listener: String,
    label: String,
    properties: Map[String, String],
    timeoutMs: Long,
    ttlMs: Long,
    config: () => Config = () => Config.autoConfigure(null)
) extends DocumentMetadataService(ttlMs)
    with Watched {
  import StrimziMetadataService._

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
  private val chosen = new StrimziListener(listener)
  private val server = new ApiServer(timeoutMs, config)

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
      chosen,
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
