package io.github.dynamickafka.metadata.kubernetes

import java.io.IOException
import java.util.concurrent.CompletableFuture

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import io.fabric8.kubernetes.api.model.ConfigMap
import io.fabric8.kubernetes.client.{
  Config,
  KubernetesClient,
  KubernetesClientBuilder,
  KubernetesClientException,
  Watcher,
  WatcherException
}

import io.github.dynamickafka.config.MetadataServiceSpecs
import io.github.dynamickafka.metadata.document.MetadataDocument
import io.github.dynamickafka.metadata.service.{ChangeWatch, DocumentMetadataService, TtlCache}

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
 *
 * @param key the key of the document in the data of the ConfigMap
 * @param timeoutMs the time limit for connecting and for a response, each in milliseconds; default 10000
 * @param ttlMs how long an answer is used before the next request, in milliseconds; 0 (default): each call sends a
 *              request
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

  override def onChange(changed: Runnable): AutoCloseable = new ChangeWatch(shown)({ working =>
    val ended = new CompletableFuture[Unit]
    val watch = opened().configMaps().inNamespace(namespace).withName(name).watch(new Watcher[ConfigMap] {
      override def eventReceived(action: Watcher.Action, map: ConfigMap): Unit = {
        cache.forget()
        changed.run()
      }
      override def onClose(e: WatcherException): Unit = { val _ = ended.completeExceptionally(e) }
      override def onClose(): Unit = { val _ = ended.complete(()) }
    })
    try {
      working()
      // The ConfigMap may have changed before.
      changed.run()
      ended.get()
    } finally watch.close()
  })

  private def text(): String = {
    val data = Option(read().getData).fold(Map.empty[String, String])(_.asScala.toMap)
    data.getOrElse(
      key,
      throw new IOException(
        if (data.isEmpty) s"$shown has no key '$key' and no other key"
        else s"$shown has no key '$key'; its keys are ${data.keys.toSeq.sorted.mkString(", ")}"
      )
    )
  }

  private def read(): ConfigMap = {
    val found =
      try opened().configMaps().inNamespace(namespace).withName(name).get()
      catch { case NonFatal(e) => throw new IOException(s"$shown cannot be read", reason(e)) }
    if (found == null) throw new IOException(s"$shown does not exist")
    found
  }

  /** Without a response of the server, only the cause of the client's exception contains the reason. */
  @tailrec private def reason(e: Throwable): Throwable = e match {
    case client: KubernetesClientException if client.getCode <= 0 && client.getCause != null =>
      reason(client.getCause)
    case other => other
  }

  /** Opened by the first call, on the polling thread, because opening it may block. */
  private def opened(): KubernetesClient = synchronized {
    client.getOrElse {
      val limited = config()
      limited.setConnectionTimeout(timeoutMs.toInt)
      limited.setRequestTimeout(timeoutMs.toInt)
      // The retries of the client would take longer than the connector waits for one call.
      limited.setRequestRetryBackoffLimit(0)
      val created = new KubernetesClientBuilder().withConfig(limited).build()
      client = Some(created)
      created
    }
  }
}
