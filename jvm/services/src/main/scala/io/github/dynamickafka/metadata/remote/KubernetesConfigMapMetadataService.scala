package io.github.dynamickafka.metadata.remote

import java.io.IOException

import scala.jdk.CollectionConverters._

import io.fabric8.kubernetes.client.Config
import io.fabric8.kubernetes.client.dsl.Watchable

import io.github.dynamickafka.config.MetadataServiceSpecs
import io.github.dynamickafka.metadata.KafkaStream
import io.github.dynamickafka.metadata.document.MetadataDocument
import io.github.dynamickafka.metadata.service.ServiceArguments

/**
 * Reads the streams from a document in a ConfigMap, in the format of the metadata file. Each call reads the ConfigMap.
 * A change is noticed at once, because the ConfigMap is watched; without the right to watch it, at the next poll.
 *
 * The service uses Spark's Kubernetes client, which determines the API server and the credentials by itself: the
 * service account of the driver pod, or `KUBECONFIG` or `~/.kube/config`. The account requires the verbs `get` and
 * `watch` on the ConfigMap.
 *
 * Each call makes one attempt: the connector retries at the next poll and keeps the last valid metadata. Failures of a
 * call are `IOException`s and METADATA_INVALID, whose messages contain the name of the ConfigMap.
 */
private[metadata] final class KubernetesConfigMapMetadataService(
    arguments: ServiceArguments,
    config: () => Config = () => Config.autoConfigure(null)
) extends KubernetesService(arguments, config) {

  private val namespace = arguments(MetadataServiceSpecs.Namespace)
  private val name = arguments(MetadataServiceSpecs.ConfigMapName)
  private val key = arguments(MetadataServiceSpecs.ConfigMapKey)
  override protected val shown: String = s"ConfigMap $namespace/$name"

  override protected def read(): Map[String, KafkaStream] =
    MetadataDocument.parse(text(), s"$shown, key '$key'")

  override protected def watched: Seq[Watchable[_]] = Seq(map())

  private def map() = server().configMaps().inNamespace(namespace).withName(name)

  private def text(): String = {
    val found = Option(reading(shown)(map().get()))
      .getOrElse(throw new IOException(s"$shown does not exist"))
    val data = Option(found.getData).fold(Map.empty[String, String])(_.asScala.toMap)
    data.getOrElse(
      key,
      throw new IOException(
        if (data.isEmpty) s"$shown has no key '$key' and no other key"
        else s"$shown has no key '$key'; its keys are ${data.keys.toSeq.sorted.mkString(", ")}"
      )
    )
  }
}
