package io.github.dynamickafka.metadata.zookeeper

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.TimeUnit.MILLISECONDS
import java.util.concurrent.{CompletableFuture, CopyOnWriteArrayList, TimeoutException}

import scala.annotation.tailrec
import scala.util.control.NonFatal

import org.apache.curator.framework.api.{Backgroundable, CuratorEvent, CuratorWatcher, Pathable}
import org.apache.curator.framework.state.ConnectionState
import org.apache.curator.framework.{CuratorFramework, CuratorFrameworkFactory}
import org.apache.curator.retry.RetryOneTime
import org.apache.zookeeper.KeeperException.Code
import org.apache.zookeeper.common.PathUtils

import io.github.dynamickafka.config.MetadataServiceSpecs
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.kafka.SecretReferences
import io.github.dynamickafka.metadata.document.MetadataDocument
import io.github.dynamickafka.metadata.service.{DocumentMetadataService, ServiceArguments}
import io.github.dynamickafka.redaction.Redaction

/**
 * Reads the streams from a document in a node of ZooKeeper, in the format of the metadata file. Each call reads the node. A change is
 * noticed at once, because the node is watched, also across lost connections and sessions.
 *
 * The client is Curator, a dependency of Spark. Failures of a call are `IOException`s and METADATA_INVALID, whose messages contain
 * servers and path.
 *
 * @param connectString `host:port` of the servers, separated by commas, optionally followed by a path that the node is below
 * @param path of the node, from `/` on
 * @param auth the scheme and the credentials, such as `digest:user:password`; empty: none. May contain Kafka's references
 *             `\${file:/path:key}`, `\${env:NAME}` and `\${dir:/path:file}`, which are resolved for each connection
 * @param timeoutMs the time limit of a call in milliseconds; default 10000
 * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION, for an invalid path or `auth`
 */
final class ZooKeeperMetadataService(connectString: String, path: String, auth: String, timeoutMs: Long)
    extends DocumentMetadataService {
  import ZooKeeperMetadataService._

  def this(connectString: String, path: String) =
    this(connectString, path, "", MetadataServiceSpecs.DefaultTimeoutMs)

  try PathUtils.validatePath(path)
  catch {
    case e: IllegalArgumentException => throw Errors.invalidOption(PathOption, path, e.getMessage)
  }
  if (auth.nonEmpty && !auth.contains("${") && !auth.contains(':'))
    throw Errors.invalidOption(AuthOption, Redaction.Redacted, AuthRule)

  private val shown = s"the node $path of ZooKeeper at $connectString"
  private val listeners = new CopyOnWriteArrayList[Runnable]
  private val watcher: CuratorWatcher = event => if (event.getPath != null) changed()
  private var client: Option[CuratorFramework] = None

  override protected def document(): MetadataDocument = MetadataDocument.parse(text(), shown)

  override def onChange(changed: Runnable): AutoCloseable = {
    listeners.add(changed)
    () => { val _ = listeners.remove(changed) }
  }

  override def close(): Unit = synchronized {
    client.foreach(_.close())
    client = None
  }

  override def toString: String = s"ZooKeeperMetadataService($path at $connectString)"

  private def changed(): Unit = listeners.forEach(_.run())

  private def text(): String = {
    val deadline = System.nanoTime() + timeoutMs * 1000000L
    def rest = math.max(1L, (deadline - System.nanoTime()) / 1000000L)
    val connected = opened()
    if (!connected.blockUntilConnected(rest.toInt, MILLISECONDS))
      throw new IOException(s"$shown cannot be read: no connection within $timeoutMs ms")

    @tailrec def read(): Array[Byte] = {
      val found = ask(connected.getData.usingWatcher(watcher), rest)
      if (found.code == Code.OK) found.data
      // Reading a node that does not exist does not watch it, and it may have been created since.
      else if (ask(connected.checkExists().usingWatcher(watcher), rest).code != Code.NONODE) read()
      else throw new IOException(s"$shown does not exist")
    }
    Option(read()).fold("")(new String(_, UTF_8))
  }

  /** One request, whose result is that it has been done or that there is no such node. */
  private def ask(request: Backgroundable[_ <: Pathable[_]], limitMs: Long): Found = {
    val answer = new CompletableFuture[Found]
    val _ = request.inBackground { (_: CuratorFramework, event: CuratorEvent) =>
      val _ = answer.complete(Found(Code.get(event.getResultCode), event.getData))
    }.forPath(path)
    val found =
      try answer.get(limitMs, MILLISECONDS)
      catch {
        case _: TimeoutException =>
          throw new IOException(s"$shown cannot be read: no response within $timeoutMs ms")
      }
    found.code match {
      case Code.OK | Code.NONODE => found
      case code =>
        // The next call resolves the references again.
        if (code == Code.NOAUTH || code == Code.AUTHFAILED) close()
        throw new IOException(s"$shown cannot be read: $code")
    }
  }

  /** Opened by the first call, on the polling thread. */
  private def opened(): CuratorFramework = synchronized {
    client.getOrElse {
      val builder = CuratorFrameworkFactory.builder()
        .connectString(connectString)
        .sessionTimeoutMs(SessionMs)
        .connectionTimeoutMs(timeoutMs.toInt)
        // The connector retries at the next poll.
        .retryPolicy(new RetryOneTime(RetryMs))
      if (auth.nonEmpty)
        SecretReferences.resolve(Map(AuthOption -> auth))(AuthOption).strip.split(":", 2) match {
          case Array(scheme, credentials) => builder.authorization(scheme, credentials.getBytes(UTF_8))
          case _ => throw new IOException(s"'$AuthOption': $AuthRule")
        }
      val created = builder.build()
      created.getConnectionStateListenable.addListener((_, state) =>
        // A session that was lost has no watches any more.
        if (state == ConnectionState.RECONNECTED) changed()
      )
      try created.start()
      catch {
        case NonFatal(e) =>
          created.close()
          throw new IOException(s"$shown cannot be read", e)
      }
      client = Some(created)
      created
    }
  }
}

private object ZooKeeperMetadataService {
  private val PathOption = ServiceArguments.option(MetadataServiceSpecs.NodePath.name)
  private val AuthOption = ServiceArguments.option(MetadataServiceSpecs.NodeAuth.name)
  private val AuthRule = "it does not have the form <scheme>:<credentials>, as in 'digest:user:password'"
  private val SessionMs = 15000
  private val RetryMs = 100

  /** @param data null: of a node without data, or not asked for */
  private final case class Found(code: Code, data: Array[Byte])
}
