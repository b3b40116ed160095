package io.github.dynamickafka.testkit

import java.util.concurrent.{ConcurrentLinkedQueue, TimeoutException}

import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration._
import scala.concurrent.{Await, Future, blocking}
import scala.util.control.NonFatal

import org.apache.kafka.clients.admin.OffsetSpec
import org.apache.kafka.common.acl.AclOperation
import org.apache.kafka.common.resource.{PatternType, ResourceType}
import org.apache.kafka.common.{IsolationLevel, Uuid}

/**
 * A Kafka cluster with one broker or several, each a separate process.
 *
 * Every method returns when its effect is visible to all clients. Methods that send requests fail immediately while the
 * broker is down or frozen, or half of several brokers are. They bypass a proxy, so it may be paused or cut. Thread-safe.
 *
 * [[stop]] ends the broker and deletes its data. This also happens when the JVM exits in any way without it.
 *
 * @param name a name for tests; not known to Kafka
 */
final class KafkaCluster private (
    val name: String,
    val version: String,
    extraProperties: Map[String, String],
    fixedPort: Option[Int],
    fixedAdvertisedPort: Option[Int],
    security: Security,
    nodeCount: Int,
    racks: Seq[String],
    jvmOptions: Seq[String]
) extends AutoCloseable {

  /** The brokers, by id. */
  val nodes: Seq[KafkaNode] = makeNodes()

  // Lazy, because clients would try to connect before the broker has started.
  private val clients = new ConcurrentLinkedQueue[AutoCloseable]
  private lazy val topicAdmin = opened(new Topics(directServers, () => running))
  private lazy val records = opened(new Records(directServers))
  private lazy val access = opened(new Access(directServers))
  private lazy val transactionAdmin = opened(new Transactions(directServers))
  private lazy val listener = new SecureListener(security, makeCertificates())

  /** The bootstrap servers for clients: those of the proxy, if there is one. */
  def bootstrapServers: String = nodes.map(n => s"127.0.0.1:${n.config.advertisedPort}").mkString(",")

  /** The bootstrap servers of a listener without security that bypasses a proxy. */
  def directServers: String = nodes.map(_.directAddress).mkString(",")

  /** The port of the client listener of the broker, of the first one if there are several. */
  def listenerPort: Int = nodes.head.listenerPort

  /** The id of the current or last process, of the first one if there are several. */
  def pid: Long = nodes.head.pid

  /** Whether any process exists, even if it is frozen. */
  def isAlive: Boolean = nodes.exists(_.isAlive)

  /** @param id 1, 2, ... */
  def node(id: Int): KafkaNode =
    nodes.find(_.id == id).getOrElse(throw new IllegalArgumentException(s"$name has no node $id"))

  /**
   * The id of the node that leads a partition, or None if the partition has no leader. A node that was killed or frozen
   * leads until its session has expired.
   */
  def leader(topic: String, partition: Int): Option[Int] = admin.placement(topic, partition).leader

  /** The ids of the nodes whose replica of a partition is in sync. */
  def inSync(topic: String, partition: Int): Set[Int] = admin.placement(topic, partition).inSync

  /** The id of the active controller. Waits for the election of another one if that node was killed or frozen. */
  def controller(): Int = admin.controller()

  /**
   * @param replicas the ids of the nodes that store each partition; the first one that runs leads them. By default Kafka
   *                 chooses the nodes
   */
  def createTopic(
      topic: String,
      partitions: Int = 1,
      configs: Map[String, String] = Map.empty,
      replicas: Seq[Int] = Nil
  ): Unit = {
    replicas.foreach(node)
    admin.create(topic, partitions, configs, replicas)
  }

  def deleteTopic(topic: String): Unit = admin.delete(topic)

  /** @param total the new number of partitions */
  def addPartitions(topic: String, total: Int): Unit = admin.addPartitions(topic, total)

  /** All topics without the internal topics of Kafka. */
  def topics(): Set[String] = admin.names()

  /** The latest offsets by partition. */
  def endOffsets(topic: String): Map[Int, Long] = admin.offsets(topic, OffsetSpec.latest())

  /**
   * Waits until no transaction is open on a topic: a broker acknowledges a commit or an abort before it writes the markers
   * (KIP-98).
   *
   * @return false if one is still open after `patience`
   */
  def awaitTransactionsEnded(topic: String, patience: FiniteDuration = 10.seconds): Boolean =
    try {
      Poll.until(s"the end of the transactions on $topic", patience) {
        admin.offsets(topic, OffsetSpec.latest(), IsolationLevel.READ_COMMITTED) == endOffsets(topic)
      }
      true
    } catch { case _: TimeoutException => false }

  /** The state of the last transaction of each transactional id, such as `Ongoing`. Requires Kafka 3.0. */
  def transactions(): Map[String, String] = {
    requireServing()
    transactionAdmin.states()
  }

  /** The earliest offsets by partition. */
  def beginningOffsets(topic: String): Map[Int, Long] = admin.offsets(topic, OffsetSpec.earliest())

  def deleteRecords(topic: String, partition: Int, beforeOffset: Long): Unit =
    admin.deleteRecords(topic, partition, beforeOffset)

  /** Commits offsets of a consumer group without members. */
  def commitOffsets(group: String, topic: String, offsets: Map[Int, Long]): Unit =
    admin.commitOffsets(group, topic, offsets)

  /** The committed offsets of a consumer group, by topic and partition. */
  def committedOffsets(group: String): Map[String, Map[Int, Long]] = admin.committedOffsets(group)

  /**
   * Produces the records in this order and returns when all replicas have them.
   *
   * @return the partition and offset of each record
   */
  def produce(topic: String, records: Seq[Record]): Seq[(Int, Long)] = {
    requireServing()
    this.records.produce(topic, records)
  }

  /**
   * All records of a topic, ordered by partition and offset.
   *
   * @param committedOnly whether to omit records of open and aborted transactions
   */
  def dump(topic: String, committedOnly: Boolean = false): Seq[StoredRecord] =
    records.dump(admin.partitions(topic), if (committedOnly) "read_committed" else "read_uncommitted")

  /**
   * Fills a topic as fast as possible, round robin over its partitions, with 8-byte keys 0, 1, 2, ... (big endian) and
   * random values.
   *
   * @param recordBytes the size of key and value together
   * @param times
   *   the times of the records in epoch milliseconds, from the first one, inclusive, to the second one, exclusive; None: now
   */
  def load(topic: String, records: Long, recordBytes: Int, times: Option[(Long, Long)] = None): Unit =
    BulkLoad.run(directServers, topic, admin.partitions(topic).size, records, recordBytes, times)

  /** The properties of a client that authenticates with a password, which may be wrong. */
  def scramClient(user: String, password: String): Map[String, String] =
    listener.scramClient(user, password) + address

  /** The properties of a client with a certificate, whose user is [[KafkaCluster.TlsUser]]. */
  def tlsClient(expired: Boolean = false): Map[String, String] = listener.tlsClient(expired) + address

  /** Changes the password of a user, or creates a user. Authenticated connections stay open. */
  def alterPassword(user: String, password: String): Unit = {
    requireServing()
    access.setPassword(user, password, scramClient(user, password))
  }

  /** Allows a user these operations on a topic, which need not exist. */
  def addAcl(user: String, topic: String, operations: AclOperation*): Unit = {
    requireServing()
    access.add(user, ResourceType.TOPIC, topic, operations)
  }

  /** Allows a user these operations on a consumer group, which need not exist. */
  def addGroupAcl(user: String, group: String, operations: AclOperation*): Unit = {
    requireServing()
    access.add(user, ResourceType.GROUP, group, operations)
  }

  /** Like [[addAcl]], for all transactional ids that start with this prefix. */
  def addTransactionalIdAcl(user: String, prefix: String, operations: AclOperation*): Unit = {
    requireServing()
    access.add(user, ResourceType.TRANSACTIONAL_ID, prefix, operations, PatternType.PREFIXED)
  }

  /** Sends SIGKILL to all nodes: they do not shut down gracefully. */
  def kill(): Unit = synchronized(nodes.foreach(_.kill()))

  /** Sends SIGSTOP to all nodes: they keep their connections but do not respond. */
  def freeze(): Unit = synchronized {
    requireServing()
    running.foreach(_.freeze())
  }

  /** Sends SIGCONT: ends [[freeze]]. */
  def thaw(): Unit = synchronized {
    nodes.filter(_.isFrozen).foreach(_.resume())
    awaitServing()
  }

  /**
   * Restarts all nodes with the same data and ports. A running broker is shut down first; if there are several, they are
   * killed, because the last ones could not hand their partitions over.
   */
  def restart(): Unit = synchronized {
    endAll()
    startAll()
  }

  /**
   * Moves the cluster to a new address with the same data. No process listens on the old address afterwards.
   *
   * @throws java.lang.IllegalStateException if its advertised port is fixed
   */
  def restartOnNewPort(): Unit = synchronized {
    if (fixedAdvertisedPort.nonEmpty) throw new IllegalStateException(s"the port of $name is a proxy's")
    endAll()
    nodes.foreach { node =>
      val port = Ports.free()
      node.config = node.config.copy(port = port, advertisedPort = port)
    }
    startAll()
  }

  /** Ends all brokers and deletes their data. The cluster cannot be used again. */
  def stop(): Unit = synchronized {
    nodes.foreach(_.delete())
    clients.forEach(_.close())
  }

  override def close(): Unit = stop()

  override def toString: String = s"$name ($bootstrapServers)"

  private def address: (String, String) = "bootstrap.servers" -> bootstrapServers

  private def running: Seq[KafkaNode] = nodes.filter(_.isServing)

  private def admin: Topics = {
    requireServing()
    topicAdmin
  }

  private def requireServing(): Unit = if (!serves) {
    if (nodes.exists(node => node.isAlive && node.isFrozen))
      throw new IllegalStateException(s"$name is frozen")
    throw new IllegalStateException(s"$name is down")
  }

  /** A majority of controllers is required for any change. */
  private def serves: Boolean = running.size * 2 > nodes.size

  private def makeNodes(): Seq[KafkaNode] = {
    val controllerPorts = Seq.fill(nodeCount)(Ports.free())
    (1 to nodeCount).map { id =>
      val port = fixedPort.getOrElse(Ports.free())
      val config = BrokerConfig(
        version = version,
        id = id,
        rack = racks.lift(id - 1),
        port = port,
        directPort = Ports.free(),
        controllerPorts = controllerPorts,
        advertisedPort = fixedAdvertisedPort.getOrElse(port),
        protocol = security.protocol,
        properties = extraProperties,
        jvmOptions = jvmOptions
      )
      new KafkaNode(this, id, if (nodeCount == 1) name else s"$name-$id", config)
    }
  }

  private def formatAndStart(): Unit = {
    if (security != Security.Open) {
      val properties = listener.broker ++ extraProperties
      nodes.foreach(node => node.config = node.config.copy(properties = properties))
    }
    val clusterId = Uuid.randomUuid().toString
    // All have ended before one of them fails, because their directories are deleted then.
    nodes.map(node => Future(blocking(node.format(clusterId))))
      .map(Await.ready(_, Duration.Inf))
      .foreach(_.value.foreach(_.get))
    startAll()
    security match {
      case Security.Scram(users, _) => users.foreach { case (user, password) =>
          alterPassword(user, password)
        }
      case _ => ()
    }
  }

  private def makeCertificates(): Certificates = {
    if (security == Security.Open) throw new IllegalStateException(s"$name is open to all")
    Certificates.make(nodes.head.folder.resolve("tls"), clients = security.isInstanceOf[Security.MutualTls])
  }

  private def startAll(): Unit = {
    nodes.foreach(_.start())
    awaitServing()
  }

  private def endAll(): Unit = nodes match {
    case Seq(only) => only.end()
    case several => several.foreach(_.kill())
  }

  /** Returns when all running nodes are in sync, or at once if they are too few to serve. */
  private[testkit] def awaitServing(): Unit = if (serves) {
    val started = running
    // A broker that cannot start exits; on a busy machine, the start may take long.
    def requireAlive(): Unit =
      started.find(!_.isAlive).foreach(node => throw node.failure("ended while it started"))
    Poll.until(silentNodes(started), patience = KafkaCluster.StartPatience) {
      requireAlive()
      started.forall(_.isListening)
    }
    try topicAdmin.awaitAll()
    catch { case NonFatal(e) => throw started.head.failure("did not serve").initCause(e) }
    // Another process may listen on a port of a broker that has not exited yet.
    requireAlive()
  }

  /** The logs of all nodes, with the threads of those that do not listen. */
  private def silentNodes(started: Seq[KafkaNode]): String =
    started.map { node =>
      val failure = if (node.isListening) node.failure("listens") else node.silence("did not listen")
      failure.getMessage
    }.mkString("\n")

  private def opened[A <: AutoCloseable](client: A): A = {
    clients.add(client)
    client
  }
}

object KafkaCluster {

  /** The user of clients with [[Security.MutualTls]]. */
  val TlsUser: String = Certificates.ClientName

  /** How long a broker may take to listen: a disk of a busy machine may stand still for a minute. */
  private[testkit] val StartPatience: FiniteDuration = 5.minutes

  /**
   * Starts a cluster and returns when it is ready.
   *
   * @param version one of [[BrokerVersions.all]]
   * @param properties additional lines of server.properties, which take precedence over those of the testkit. By default
   *                   the internal topics have one partition: its leader is the coordinator of all groups, or of all
   *                   transactions
   * @param port the port of the client listener; by default, a free port
   * @param advertisedPort the advertised port for clients, if it is not that of the broker, such as the port of a proxy
   * @param security the security of the client listener; the testkit uses another listener
   * @param nodes the number of brokers. By default a topic has as many replicas, at most three, and `min.insync.replicas`
   *              is one less. Several brokers have free ports and no security
   * @param racks the rack of each broker, or none. Consumers with a `client.rack` read from the replica in their rack
   * @param jvmOptions options of the JVM of each broker, such as `-Djava.security.krb5.conf=<file>`
   */
  def start(
      name: String,
      version: String = BrokerVersions.default,
      properties: Map[String, String] = Map.empty,
      port: Option[Int] = None,
      advertisedPort: Option[Int] = None,
      security: Security = Security.Open,
      nodes: Int = 1,
      racks: Seq[String] = Nil,
      jvmOptions: Seq[String] = Nil
  ): KafkaCluster = {
    require(nodes > 0, s"$nodes nodes")
    require(racks.isEmpty || racks.size == nodes, s"$nodes nodes and ${racks.size} racks")
    require(nodes == 1 || port.orElse(advertisedPort).isEmpty, "several nodes cannot have one port")
    require(nodes == 1 || security == Security.Open, "several nodes have no security")
    def attempt(): KafkaCluster =
      started(
        new KafkaCluster(name, version, properties, port, advertisedPort, security, nodes, racks, jvmOptions)
      )
    try attempt()
    catch {
      // Another process took one of the ports before the broker started.
      case e: BrokerFailure if e.portIsTaken => attempt()
    }
  }

  private def started(cluster: KafkaCluster): KafkaCluster =
    try {
      cluster.formatAndStart()
      cluster
    } catch {
      case NonFatal(e) =>
        cluster.stop()
        throw e
    }
}
