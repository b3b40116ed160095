package io.github.dynamickafka.metadata.remote

import java.io.IOException
import java.util.concurrent.CompletableFuture

import scala.annotation.tailrec
import scala.util.control.NonFatal

import io.fabric8.kubernetes.client.dsl.Watchable
import io.fabric8.kubernetes.client.{
  Config,
  KubernetesClient,
  KubernetesClientBuilder,
  KubernetesClientException,
  Watch,
  Watcher,
  WatcherException
}

import io.github.dynamickafka.config.MetadataServiceSpecs
import io.github.dynamickafka.kafka.Opening
import io.github.dynamickafka.metadata.service.{DocumentMetadataService, Opened, ServiceArguments, Watched}

/** A service whose source is resources of Kubernetes, which are watched. The time limit is that for connecting and for a response, each. */
private[remote] abstract class KubernetesService(arguments: ServiceArguments, config: () => Config)
    extends DocumentMetadataService(arguments(MetadataServiceSpecs.TtlMs))
    with Watched {
  import KubernetesService._

  private val timeoutMs = arguments(MetadataServiceSpecs.TimeoutMs).toInt

  protected val server: Opened[KubernetesClient] =
    new Opened(Opening(client())(_.close()), timeoutMs.toLong)

  private def client(): KubernetesClient = {
    val limited = config()
    limited.setConnectionTimeout(timeoutMs)
    limited.setRequestTimeout(timeoutMs)
    // The retries of the client would take longer than the connector waits for one call.
    limited.setRequestRetryBackoffLimit(0)
    new KubernetesClientBuilder().withConfig(limited).build()
  }

  protected def watched: Seq[Watchable[_]]

  override def close(): Unit = server.close()

  /** @throws java.io.IOException if the request fails */
  protected def reading[A](shown: String)(request: => A): A =
    try request
    catch { case NonFatal(e) => throw new IOException(s"$shown cannot be read", reason(e)) }

  /** Watches until one of the watches ends. All watches work before earlier changes are looked for. */
  override protected def await(working: () => Unit, changed: () => Unit): Unit = {
    val ended = new CompletableFuture[Unit]
    var watches = Seq.empty[Watch]
    try {
      watched.foreach(one => watches :+= opened(one, changed, ended))
      working()
      changed()
      ended.get()
    } finally watches.foreach(_.close())
  }
}

private[remote] object KubernetesService {
  private def opened[A](watched: Watchable[A], changed: () => Unit, ended: CompletableFuture[Unit]): Watch =
    watched.watch(new Watcher[A] {
      override def eventReceived(action: Watcher.Action, resource: A): Unit = changed()
      override def onClose(e: WatcherException): Unit = { val _ = ended.completeExceptionally(e) }
      override def onClose(): Unit = { val _ = ended.complete(()) }
    })

  /** Without a response of the server, only the cause of the client's exception contains the reason. */
  @tailrec private def reason(e: Throwable): Throwable = e match {
    case client: KubernetesClientException if client.getCode <= 0 && client.getCause != null =>
      reason(client.getCause)
    case other => other
  }
}
