package io.github.dynamickafka.testkit

import java.util.concurrent.ConcurrentLinkedQueue

import scala.concurrent.duration._
import scala.util.control.NonFatal

import org.apache.kafka.clients.admin.OffsetSpec
import org.apache.kafka.common.acl.AclOperation
import org.apache.kafka.common.resource.ResourceType

/**
 * A Kafka cluster of one broker, which is a process of its own.
 *
 * Every method returns when its effect can be seen by any client. Methods that talk to the broker fail at
 * once while it is down or frozen. They reach it directly, so a proxy in front of it may be paused or cut.
 * All methods may be called by any thread.
 *
 * The broker and its data are gone after [[stop]], and also when this JVM ends in any way without it.
 *
 * @param name how tests call it; Kafka doesn't know it
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

  // Clients that nobody needs yet would knock at a broker that isn't there yet.
  private val clients = new ConcurrentLinkedQueue[AutoCloseable]
  private lazy val topicAdmin = opened(new Topics(directServers))
  private lazy val records = opened(new Records(directServers))
  private lazy val access = opened(new Access(directServers))
  private lazy val listener = new SecureListener(security, makeCertificates())

  /** Where clients connect: the proxy if there is one. */
  def bootstrapServers: String = s"127.0.0.1:${config.advertisedPort}"

  /** Where the broker itself listens for clients. */
  def listenerPort: Int = config.port

  /** Of the process that runs, or ran last. */
  def pid: Long = process.pid

  /** Whether the process exists; a frozen one does. */
  def isAlive: Boolean = process.isAlive

  def createTopic(topic: String, partitions: Int = 1, configs: Map[String, String] = Map.empty): Unit =
    admin.create(topic, partitions, configs)

  def deleteTopic(topic: String): Unit = admin.delete(topic)

  /** @param total how many partitions the topic has afterwards */
  def addPartitions(topic: String, total: Int): Unit = admin.addPartitions(topic, total)

  /** Without Kafka's own topics. */
  def topics(): Set[String] = admin.names()

  /** Offset of the next record, by partition. */
  def endOffsets(topic: String): Map[Int, Long] = admin.offsets(topic, OffsetSpec.latest())

  /** Offset of the first record that can be read, by partition. */
  def beginningOffsets(topic: String): Map[Int, Long] = admin.offsets(topic, OffsetSpec.earliest())

  def deleteRecords(topic: String, partition: Int, beforeOffset: Long): Unit =
    admin.deleteRecords(topic, partition, beforeOffset)

  /** Commits for a consumer group, which has no member. */
  def commitOffsets(group: String, topic: String, offsets: Map[Int, Long]): Unit =
    admin.commitOffsets(group, topic, offsets)

  /** Offsets that a consumer group has committed, by topic and partition. */
  def committedOffsets(group: String): Map[String, Map[Int, Long]] = admin.committedOffsets(group)

  /**
   * Produces in the order given and returns when all replicas have all records.
   *
   * @return partition and offset of each record
   */
  def produce(topic: String, records: Seq[Record]): Seq[(Int, Long)] = {
    requireServing()
    this.records.produce(topic, records)
  }

  /**
   * All records of a topic, ordered by partition and offset.
   *
   * @param committedOnly leaves out what open and aborted transactions wrote
   */
  def dump(topic: String, committedOnly: Boolean = false): Seq[StoredRecord] =
    records.dump(admin.partitions(topic), if (committedOnly) "read_committed" else "read_uncommitted")

  /**
   * Fills a topic as fast as possible, round robin over its partitions: 8-byte keys 0, 1, 2, ... (big
   * endian), random values.
   *
   * @param recordBytes size of a record, key and value together
   */
  def load(topic: String, records: Long, recordBytes: Int): Unit =
    BulkLoad.run(directServers, topic, admin.partitions(topic).size, records, recordBytes)

  /** All properties of a client that logs in with a password, which need not be the right one. */
  def scramClient(user: String, password: String): Map[String, String] =
    listener.scramClient(user, password) + address

  /** All properties of a client with a certificate; as a user it is [[KafkaCluster.TlsUser]]. */
  def tlsClient(expired: Boolean = false): Map[String, String] = listener.tlsClient(expired) + address

  /** Gives a user a new password, or makes a user. Connections that have logged in before live on. */
  def alterPassword(user: String, password: String): Unit = {
    requireServing()
    access.setPassword(user, password, scramClient(user, password))
  }

  /** Allows a user these operations on a topic, which need not be there. */
  def addAcl(user: String, topic: String, operations: AclOperation*): Unit = {
    requireServing()
    access.add(user, ResourceType.TOPIC, topic, operations)
  }

  /** Allows a user these operations on a consumer group, which need not be there. */
  def addGroupAcl(user: String, group: String, operations: AclOperation*): Unit = {
    requireServing()
    access.add(user, ResourceType.GROUP, group, operations)
  }

  /** As [[addAcl]], on transactional ids: on one, or on all with `*`. */
  def addTransactionalIdAcl(user: String, id: String, operations: AclOperation*): Unit = {
    requireServing()
    access.add(user, ResourceType.TRANSACTIONAL_ID, id, operations)
  }

  /** SIGKILL: the broker has no moment to say good-bye. */
  def kill(): Unit = synchronized {
    process.kill()
    frozen = false
  }

  /** SIGSTOP: the broker keeps its connections and says nothing. */
  def freeze(): Unit = synchronized {
    requireServing()
    frozen = true
    process.freeze()
  }

  /** SIGCONT: ends [[freeze]]. */
  def thaw(): Unit = synchronized {
    process.thaw()
    frozen = false
    topicAdmin.awaitAll()
  }

  /** Starts the broker again with the same data and ports. One that still runs is shut down first. */
  def restart(): Unit = synchronized {
    endProcess()
    startProcess()
  }

  /**
   * Moves the cluster: the same data at a new address, and nobody listens at the old one.
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

  /** Ends the broker and deletes its data. The cluster can't be used again. */
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
    // One that cannot start ends; one that shares its machine with many others may take its time.
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
    // A stopped process would not hear SIGTERM.
    if (frozen) process.kill() else process.end()
    frozen = false
  }
}

object KafkaCluster {

  /** What a broker with [[Security.MutualTls]] calls its clients. */
  val TlsUser: String = Certificates.ClientName

  /**
   * Starts a broker and returns when it serves.
   *
   * @param version one of [[BrokerVersions.all]]
   * @param properties more lines of server.properties; they win over the harness's own
   * @param port the port that clients connect to; without it, a free one
   * @param advertisedPort the port that clients are told to use instead of the broker's own: a proxy's
   * @param security what it asks of clients; the harness itself is never asked
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
      // Somebody took one of its ports between their choice and the broker's start.
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
