package io.github.dynamickafka.testkit

import java.util.concurrent.{ConcurrentLinkedQueue, TimeoutException}

import scala.concurrent.duration._
import scala.util.control.NonFatal

import org.apache.kafka.clients.admin.OffsetSpec
import org.apache.kafka.common.IsolationLevel
import org.apache.kafka.common.acl.AclOperation
import org.apache.kafka.common.resource.{PatternType, ResourceType}

/**
 * A Kafka cluster with one broker, which is a separate process.
 *
 * Every method returns when its effect is visible to all clients. Methods that send requests to the broker fail
 * immediately while it is down or frozen. They bypass a proxy, so it may be paused or cut. Thread-safe.
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
    security: Security
) extends AutoCloseable {
  private val process = new BrokerProcess(name)
  @volatile private var config: BrokerConfig = newConfig()
  @volatile private var frozen = false

  // Lazy, because clients would try to connect before the broker has started.
  private val clients = new ConcurrentLinkedQueue[AutoCloseable]
  private lazy val topicAdmin = opened(new Topics(directServers))
  private lazy val records = opened(new Records(directServers))
  private lazy val access = opened(new Access(directServers))
  private lazy val listener = new SecureListener(security, makeCertificates())

  /** The bootstrap servers for clients: those of the proxy, if there is one. */
  def bootstrapServers: String = s"127.0.0.1:${config.advertisedPort}"

  /** The address of the client listener of the broker. */
  def listenerPort: Int = config.port

  /** The id of the current or last process. */
  def pid: Long = process.pid

  /** Whether the process exists, even if it is frozen. */
  def isAlive: Boolean = process.isAlive

  def createTopic(topic: String, partitions: Int = 1, configs: Map[String, String] = Map.empty): Unit =
    admin.create(topic, partitions, configs)

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
   */
  def load(topic: String, records: Long, recordBytes: Int): Unit =
    BulkLoad.run(directServers, topic, admin.partitions(topic).size, records, recordBytes)

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

  /** Sends SIGKILL: the broker does not shut down gracefully. */
  def kill(): Unit = synchronized {
    process.kill()
    frozen = false
  }

  /** Sends SIGSTOP: the broker keeps its connections but does not respond. */
  def freeze(): Unit = synchronized {
    requireServing()
    frozen = true
    process.freeze()
  }

  /** Sends SIGCONT: ends [[freeze]]. */
  def thaw(): Unit = synchronized {
    process.thaw()
    frozen = false
    topicAdmin.awaitAll()
  }

  /** Restarts the broker with the same data and ports. A running broker is shut down first. */
  def restart(): Unit = synchronized {
    endProcess()
    startProcess()
  }

  /**
   * Moves the cluster to a new address with the same data. No process listens on the old address afterwards.
   *
   * @throws java.lang.IllegalStateException if its advertised port is fixed
   */
  def restartOnNewPort(): Unit = synchronized {
    if (fixedAdvertisedPort.nonEmpty) throw new IllegalStateException(s"the port of $name is a proxy's")
    endProcess()
    val port = Ports.free()
    config = config.copy(port = port, advertisedPort = port)
    startProcess()
  }

  /** Ends the broker and deletes its data. The cluster cannot be used again. */
  def stop(): Unit = synchronized {
    process.delete()
    clients.forEach(_.close())
  }

  override def close(): Unit = stop()

  override def toString: String = s"$name ($bootstrapServers)"

  private def address: (String, String) = "bootstrap.servers" -> bootstrapServers

  private def directServers: String = s"127.0.0.1:${config.directPort}"

  private def admin: Topics = {
    requireServing()
    topicAdmin
  }

  private def requireServing(): Unit = {
    if (!isAlive) throw new IllegalStateException(s"$name is down")
    if (frozen) throw new IllegalStateException(s"$name is frozen")
  }

  private def newConfig(): BrokerConfig = {
    val port = fixedPort.getOrElse(Ports.free())
    BrokerConfig(
      version = version,
      port = port,
      directPort = Ports.free(),
      controllerPort = Ports.free(),
      advertisedPort = fixedAdvertisedPort.getOrElse(port),
      protocol = security.protocol,
      properties = extraProperties
    )
  }

  private def formatAndStart(): Unit = {
    if (security != Security.Open) config = config.copy(properties = listener.broker ++ extraProperties)
    process.format(config)
    startProcess()
    security match {
      case Security.Scram(users, _) => users.foreach { case (user, password) =>
          alterPassword(user, password)
        }
      case _ => ()
    }
  }

  private def makeCertificates(): Certificates = {
    if (security == Security.Open) throw new IllegalStateException(s"$name is open to all")
    Certificates.make(process.folder.resolve("tls"), clients = security.isInstanceOf[Security.MutualTls])
  }

  private def startProcess(): Unit = {
    process.start(config)
    // A broker that cannot start exits; on a busy machine, the start may take long.
    Poll.until(process.failure("did not listen").getMessage, patience = 3.minutes) {
      if (!isAlive) throw process.failure("ended while it started")
      Ports.accepts(config.port) && Ports.accepts(config.directPort)
    }
    try topicAdmin.awaitAll()
    catch { case NonFatal(e) => throw process.failure("did not serve").initCause(e) }
  }

  private def opened[A <: AutoCloseable](client: A): A = {
    clients.add(client)
    client
  }

  private def endProcess(): Unit = {
    // A stopped process does not receive SIGTERM.
    if (frozen) process.kill() else process.end()
    frozen = false
  }
}

object KafkaCluster {

  /** The user of clients with [[Security.MutualTls]]. */
  val TlsUser: String = Certificates.ClientName

  /**
   * Starts a broker and returns when it is ready.
   *
   * @param version one of [[BrokerVersions.all]]
   * @param properties additional lines of server.properties, which take precedence over those of the testkit
   * @param port the port of the client listener; by default, a free port
   * @param advertisedPort the advertised port for clients, if it is not that of the broker, such as the port of a proxy
   * @param security the security of the client listener; the testkit uses another listener
   */
  def start(
      name: String,
      version: String = BrokerVersions.default,
      properties: Map[String, String] = Map.empty,
      port: Option[Int] = None,
      advertisedPort: Option[Int] = None,
      security: Security = Security.Open
  ): KafkaCluster = {
    def attempt(): KafkaCluster =
      started(new KafkaCluster(name, version, properties, port, advertisedPort, security))
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
