package io.github.dynamickafka.metadata.zookeeper

import java.net.ServerSocket
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}

import scala.util.Using

import org.apache.curator.framework.{CuratorFramework, CuratorFrameworkFactory}
import org.apache.curator.retry.RetryForever
import org.apache.zookeeper.data.ACL

/** A process of ZooKeeper. Sessions end after 0.6 s without its client. */
final class ZooKeeperServer extends AutoCloseable {
  private val folder = Files.createTempDirectory("zookeeper")
  private val port = Using.resource(new ServerSocket(0))(_.getLocalPort)
  private val log = folder.resolve("log")
  private val configuration = Files.writeString(
    folder.resolve("zoo.cfg"),
    s"""tickTime=200
       |maxSessionTimeout=600
       |dataDir=${folder.resolve("data")}
       |clientPortAddress=127.0.0.1
       |clientPort=$port
       |admin.enableServer=false
       |""".stripMargin
  )
  private var process = launch()

  val address: String = s"127.0.0.1:$port"

  /** For what a test writes. */
  val client: CuratorFramework =
    CuratorFrameworkFactory.newClient(address, 60000, 60000, new RetryForever(20))
  client.start()
  // Until its JVM has started, calls of a test with a time limit would fail on a busy machine.
  client.blockUntilConnected()

  // A write whose response was lost is repeated, so that it has to be allowed twice.
  def put(path: String, text: String, acl: java.util.List[ACL] = null): Unit = {
    if (client.checkExists().forPath(path) == null)
      client.create().orSetData().creatingParentsIfNeeded().withACL(acl).forPath(path, text.getBytes(UTF_8))
    else client.setData().forPath(path, text.getBytes(UTF_8))
    ()
  }

  def delete(path: String): Unit = { val _ = client.delete().quietly().forPath(path) }

  def kill(): Unit = { val _ = process.destroyForcibly().waitFor() }
  def start(): Unit = process = launch()

  /** It accepts connections, and does not respond. */
  def freeze(): Unit = signal("STOP")
  def thaw(): Unit = signal("CONT")

  override def close(): Unit = {
    kill()
    client.close()
  }

  private def signal(name: String): Unit =
    assert(new ProcessBuilder("kill", s"-$name", process.pid.toString).start().waitFor() == 0)

  private def launch(): Process = {
    val java = Path.of(System.getProperty("java.home"), "bin", "java")
    new ProcessBuilder(
      java.toString,
      "-Xmx128m",
      "-cp",
      System.getProperty("java.class.path"),
      "org.apache.zookeeper.server.quorum.QuorumPeerMain",
      configuration.toString
    ).redirectErrorStream(true).redirectOutput(log.toFile).start()
  }
}
