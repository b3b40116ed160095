package io.github.dynamickafka.testkit

import scala.collection.concurrent.TrieMap
import scala.concurrent.duration._
import scala.util.control.NonFatal

import org.apache.kafka.common.acl.AclOperation

/**
 * The methods of [[TestkitServer]], and the clusters that they started, by name.
 *
 * Thread-safe. Methods that can change the address or the process of a cluster return its description.
 */
private[testkit] final class Requests extends AutoCloseable {
  import Requests._

  private val started = TrieMap.empty[String, Started]
  private val mirrors = TrieMap.empty[String, MirrorMaker]

  /** @return a value that Jackson can serialize */
  def answer(method: String, params: Params): Any = method match {
    case "versions" => BrokerVersions.all
    case "start" => start(params)
    case "stop" => stop(params.string("cluster"))
    case "startMirror" => startMirror(params)
    case "killMirror" => mirror(params).kill()
    case "stopMirror" => mirror(params).stop()
    case "restartMirror" => mirror(params).restart()
    case _ => answer(method, params, find(params.string("cluster")))
  }

  /** Stops all clusters. */
  override def close(): Unit = {
    mirrors.values.foreach(_.close())
    started.keys.foreach(stop)
  }

  private def answer(method: String, params: Params, on: Started): Any = {
    def topic: String = params.string("topic")
    val cluster = on.cluster
    val node = params.optional("node").map(id => cluster.node(id.asInt))
    method match {
      case "describe" => Description.of(cluster)
      case "createTopic" =>
        val replicas = params.ints("replicas")
        cluster.createTopic(topic, params.int("partitions"), params.texts("configs"), replicas)
      case "deleteTopic" => cluster.deleteTopic(topic)
      case "addPartitions" => cluster.addPartitions(topic, params.int("total"))
      case "topics" => cluster.topics().toSeq.sorted
      case "leader" => cluster.leader(topic, params.int("partition"))
      case "inSync" => cluster.inSync(topic, params.int("partition")).toSeq.sorted
      case "controller" => cluster.controller()
      case "produce" => cluster.produce(topic, params.records("records"))
      case "load" =>
        cluster.load(topic, params.long("records"), params.int("recordBytes"), params.range("times"))
      case "dump" => cluster.dump(topic, params.boolean("committedOnly"))
      case "endOffsets" => cluster.endOffsets(topic)
      case "beginningOffsets" => cluster.beginningOffsets(topic)
      case "deleteRecords" =>
        cluster.deleteRecords(topic, params.int("partition"), params.long("beforeOffset"))
      case "committedOffsets" => cluster.committedOffsets(params.string("group"))
      case "transactions" => cluster.transactions()
      case "scramClient" => cluster.scramClient(params.string("user"), params.string("password"))
      case "tlsClient" => cluster.tlsClient(params.boolean("expired"))
      case "alterPassword" => cluster.alterPassword(params.string("user"), params.string("password"))
      case "addAcl" =>
        val operations = params.strings("operations").map(AclOperation.fromString)
        cluster.addAcl(params.string("user"), topic, operations: _*)
      case "kill" => changed(cluster)(node.fold(cluster.kill())(_.kill()))
      case "freeze" => changed(cluster)(node.fold(cluster.freeze())(_.freeze()))
      case "thaw" => changed(cluster)(node.fold(cluster.thaw())(_.thaw()))
      case "restart" => changed(cluster)(node.fold(cluster.restart())(_.restart()))
      case "restartOnNewPort" => changed(cluster)(cluster.restartOnNewPort())
      case "pauseNetwork" => on.network.pause()
      case "cutNetwork" => on.network.cut()
      case "resumeNetwork" => on.network.resume()
      case "delayNetwork" => on.network.delay(params.double("roundTripMs").millis)
      case _ => throw new IllegalArgumentException(s"unknown method '$method'")
    }
  }

  private def start(params: Params): Any = {
    val name = params.string("name")
    requireFree(name)
    val proxy = params.optional("roundTripMs").map(ms => new DelayProxy(ms.asDouble.millis))
    try {
      val cluster = KafkaCluster.start(
        name,
        params.optional("version").fold(BrokerVersions.default)(_.asText),
        params.texts("properties"),
        port = params.optional("port").map(_.asInt),
        advertisedPort = proxy.map(_.port),
        security = params.security,
        nodes = params.optional("nodes").fold(1)(_.asInt),
        racks = params.strings("racks")
      )
      proxy.foreach(_.connectTo(cluster.listenerPort))
      if (started.putIfAbsent(name, Started(cluster, proxy)).nonEmpty) {
        cluster.stop()
        requireFree(name)
      }
      Description.of(cluster)
    } catch {
      case NonFatal(e) =>
        proxy.foreach(_.close())
        throw e
    }
  }

  /** @return the id of the process for later requests */
  private def startMirror(params: Params): String = {
    val mirror = MirrorMaker.start(
      find(params.string("source")).cluster,
      find(params.string("target")).cluster,
      params.string("alias"),
      params.strings("topics"),
      params.strings("groups"),
      params.string("targetAlias"),
      params.boolean("identity"),
      params.texts("properties")
    )
    val id = mirror.pid.toString
    mirrors += id -> mirror
    id
  }

  private def mirror(params: Params): MirrorMaker = {
    val id = params.string("mirror")
    mirrors.getOrElse(id, throw new IllegalArgumentException(s"unknown MirrorMaker '$id'"))
  }

  private def stop(name: String): Unit = started.remove(name).foreach { stopped =>
    stopped.cluster.stop()
    stopped.proxy.foreach(_.close())
  }

  private def requireFree(name: String): Unit =
    require(!started.contains(name), s"cluster '$name' already exists")

  private def find(name: String): Started =
    started.getOrElse(name, throw new IllegalArgumentException(s"unknown cluster '$name'"))

  private def changed(cluster: KafkaCluster)(change: => Unit): Any = {
    change
    Description.of(cluster)
  }
}

private[testkit] object Requests {

  /** The properties of a cluster that may change with its process. */
  private final case class Description(
      name: String,
      version: String,
      bootstrapServers: String,
      directServers: String,
      pid: Long,
      isAlive: Boolean,
      nodes: Seq[NodeDescription]
  )

  private final case class NodeDescription(id: Int, rack: Option[String], pid: Long, isAlive: Boolean)

  private object Description {
    def of(cluster: KafkaCluster): Description = {
      val nodes = cluster.nodes.map(node => NodeDescription(node.id, node.rack, node.pid, node.isAlive))
      Description(
        cluster.name,
        cluster.version,
        cluster.bootstrapServers,
        cluster.directServers,
        cluster.pid,
        cluster.isAlive,
        nodes
      )
    }
  }

  private final case class Started(cluster: KafkaCluster, proxy: Option[DelayProxy]) {
    def network: DelayProxy =
      proxy.getOrElse(throw new IllegalStateException(s"${cluster.name} is not behind a proxy"))
  }
}
