package io.github.dynamickafka.metadata.service

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
import org.apache.spark.SPARK_VERSION

import io.github.dynamickafka.error.Errors

/**
 * The API server of a cluster, as a service sees it: opened by the first call, on the polling thread, because opening it may block.
 *
 * @param timeoutMs the time limit for connecting and for a response, each
 */
private[service] final class ApiServer(timeoutMs: Long, config: () => Config) extends AutoCloseable {
  private var client: Option[KubernetesClient] = None

  def opened(): KubernetesClient = synchronized {
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

  override def close(): Unit = synchronized {
    client.foreach(_.close())
    client = None
  }
}

private[service] object ApiServer {

  /** @throws java.io.IOException if the request fails */
  def reading[A](shown: String)(request: => A): A =
    try request
    catch { case NonFatal(e) => throw new IOException(s"$shown cannot be read", reason(e)) }

  /**
   * Watches until one of the watches ends.
   *
   * @param changed runs after each event, and once when all watches work, because of changes before
   * @throws java.lang.Exception if a watch fails
   */
  def watch(working: () => Unit, changed: () => Unit)(watched: Seq[Watchable[_]]): Unit = {
    val ended = new CompletableFuture[Unit]
    var watches = Seq.empty[Watch]
    try {
      watched.foreach(one => watches :+= opened(one, changed, ended))
      working()
      changed()
      ended.get()
    } finally watches.foreach(_.close())
  }

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

/** Checks that Spark's Kubernetes client, which is not a dependency of the connector, is on the class path. */
private[metadata] object KubernetesClasses {
  private val Builder = "io.fabric8.kubernetes.client.KubernetesClientBuilder"

  /**
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION, which names the artifact
   */
  def require(service: String): Unit =
    try {
      val _ = Class.forName(Builder, false, getClass.getClassLoader)
    } catch {
      case e @ (_: ClassNotFoundException | _: LinkageError) =>
        throw Errors.invalidOption(
          "metadataService",
          service,
          s"it requires the Kubernetes client, which is not on the class path. Add '$artifact', for example to " +
            "spark.jars.packages",
          e
        )
    }

  private def artifact: String = {
    val scala = util.Properties.versionNumberString.split('.').take(2).mkString(".")
    s"org.apache.spark:spark-kubernetes_$scala:$SPARK_VERSION"
  }
}
