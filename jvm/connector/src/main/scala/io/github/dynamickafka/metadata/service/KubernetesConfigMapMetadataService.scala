package io.github.dynamickafka.metadata.service

import java.io.IOException

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import io.fabric8.kubernetes.api.model.ConfigMap
import io.fabric8.kubernetes.client.{
  Config,
  KubernetesClient,
  KubernetesClientBuilder,
  KubernetesClientException
}

import io.github.dynamickafka.config.MetadataServiceSpecs
import io.github.dynamickafka.metadata.document.MetadataDocument

/**
 * Streams from a document in a ConfigMap, in the format of the metadata file. It is read on each call, so that an
 * edit is seen at the next poll.
 *
 * The Kubernetes client is Spark's, and finds its API server and credentials by itself: the service account of the
 * driver's pod, else `KUBECONFIG` or `~/.kube/config`. The account has to be allowed to `get` the ConfigMap.
 *
 * A call makes one attempt: the connector, which calls it, spaces attempts and keeps the last good answer. Failures
 * are `IOException`s and METADATA_INVALID, which name the ConfigMap.
 *
 * @param timeoutMs for the connection, and for an answer
 * @param ttlMs for how long an answer is used again without asking; 0: not at all
 */
final class KubernetesConfigMapMetadataService private[metadata] (
    namespace: String,
    name: String,
    key: String,
    timeoutMs: Long,
    ttlMs: Long,
    config: () => Config
) extends DocumentMetadataService {

  def this(namespace: String, name: String, key: String, timeoutMs: Long, ttlMs: Long) =
    this(namespace, name, key, timeoutMs, ttlMs, () => Config.autoConfigure(null))
  def this(namespace: String, name: String, key: String) =
    this(namespace, name, key, MetadataServiceSpecs.DefaultTimeoutMs, 0L)

  private val shown = s"ConfigMap $namespace/$name"
  private val cache = new TtlCache[MetadataDocument](ttlMs)
  private var client: Option[KubernetesClient] = None

  override protected def document(): MetadataDocument =
    cache.get(MetadataDocument.parse(text(), s"$shown, key '$key'"))

  override def close(): Unit = synchronized {
    client.foreach(_.close())
    client = None
  }

  private def text(): String = {
    val data = Option(read().getData).fold(Map.empty[String, String])(_.asScala.toMap)
    data.getOrElse(
      key,
      throw new IOException(
        if (data.isEmpty) s"$shown has no key '$key', and no other one"
        else s"$shown has no key '$key'; it has ${data.keys.toSeq.sorted.mkString(", ")}"
      )
    )
  }

  private def read(): ConfigMap = {
    val found =
      try opened().configMaps().inNamespace(namespace).withName(name).get()
      catch { case NonFatal(e) => throw new IOException(s"$shown cannot be read", reason(e)) }
    if (found == null) throw new IOException(s"there is no $shown")
    found
  }

  /** What the client says itself where nothing has answered is only that something has failed. */
  @tailrec private def reason(e: Throwable): Throwable = e match {
    case client: KubernetesClientException if client.getCode <= 0 && client.getCause != null =>
      reason(client.getCause)
    case other => other
  }

  /** Opened by the first call, on the thread that may wait for it. */
  private def opened(): KubernetesClient = synchronized {
    client.getOrElse {
      val limited = config()
      limited.setConnectionTimeout(timeoutMs.toInt)
      limited.setRequestTimeout(timeoutMs.toInt)
      // Its own retries take longer than the connector waits for one call.
      limited.setRequestRetryBackoffLimit(0)
      val created = new KubernetesClientBuilder().withConfig(limited).build()
      client = Some(created)
      created
    }
  }
}
