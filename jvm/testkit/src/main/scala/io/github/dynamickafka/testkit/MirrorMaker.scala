package io.github.dynamickafka.testkit

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

/**
 * MirrorMaker 2 from one cluster to another, a process of its own ("dedicated mode"). It copies topics, and writes
 * checkpoints of consumer groups, to the target.
 *
 * It copies with a delay and at least once: after [[kill]] some records are copied again. [[close]] ends it, and so does
 * the end of this JVM, in any way.
 */
final class MirrorMaker private (name: String, lines: Seq[String]) extends AutoCloseable {
  private val process = new JavaProcess(name)
  private val properties: Path = process.folder.resolve("mm2.properties")

  /** The id of the current or last process. */
  def pid: Long = process.pid

  def isAlive: Boolean = process.isAlive

  /** Sends SIGKILL. Returns when the process has ended. */
  def kill(): Unit = synchronized(process.kill())

  /** Ends the process, if it runs. Offsets of what it has copied are stored. */
  def stop(): Unit = synchronized(process.end())

  /** Starts the process again with the same configuration. A running one is stopped first. */
  def restart(): Unit = synchronized {
    stop()
    start()
  }

  /** Ends the process and deletes its files. */
  override def close(): Unit = synchronized(process.delete())

  override def toString: String = name

  private def start(): Unit = {
    Files.write(properties, lines.asJava)
    process.start(MirrorMaker.command(properties))
  }
}

object MirrorMaker {

  /**
   * Starts MirrorMaker and returns immediately: tests wait for what it copies.
   *
   * @param alias the name of the source in MirrorMaker's configuration. Checkpoints are in the topic
   *              `alias.checkpoints.internal` of the target
   * @param targetAlias the name of the target: topics that came from there are not copied back
   * @param topics regular expressions, as MirrorMaker takes them
   * @param groups regular expressions of consumer groups
   * @param identity whether topics keep their names; otherwise the alias and a dot precede them
   * @param properties further lines, which take precedence
   */
  def start(
      source: KafkaCluster,
      target: KafkaCluster,
      alias: String,
      topics: Seq[String],
      groups: Seq[String],
      targetAlias: String = "target",
      identity: Boolean = false,
      properties: Map[String, String] = Map.empty
  ): MirrorMaker = {
    val policy =
      if (identity) Map("replication.policy.class" -> s"$Package.IdentityReplicationPolicy")
      else Map.empty[String, String]
    val flow = Map(
      "clusters" -> s"$alias,$targetAlias",
      s"$alias.bootstrap.servers" -> source.directServers,
      s"$targetAlias.bootstrap.servers" -> target.directServers,
      s"$alias->$targetAlias.enabled" -> "true",
      s"$alias->$targetAlias.topics" -> topics.mkString(","),
      s"$alias->$targetAlias.groups" -> groups.mkString(",")
    )
    val worker = forWorker.map { case (key, value) => s"$targetAlias.$key" -> value }
    val all = flow ++ forTests ++ worker ++ policy ++ properties
    val lines = all.toSeq.sorted.map { case (key, value) => s"$key=$value" }
    val mirror = new MirrorMaker(s"MirrorMaker from $alias to $targetAlias", lines)
    mirror.start()
    mirror
  }

  private val Package = "org.apache.kafka.connect.mirror"

  private def command(properties: Path): JavaProcess.Command = JavaProcess.Command(
    BrokerVersions.mirrorMakerClasspath,
    heapMb = 256,
    Seq(s"$Package.MirrorMaker", properties.toString),
    // Too short-lived for the C2 compiler.
    options = Seq("-XX:TieredStopAtLevel=1")
  )

  // What follows a change is there within a second or two.
  private val forTests: Map[String, String] = Map(
    "tasks.max" -> "1",
    "refresh.topics.interval.seconds" -> "1",
    "refresh.groups.interval.seconds" -> "1",
    "emit.checkpoints.interval.seconds" -> "1",
    "consumer.poll.timeout.ms" -> "100",
    "sync.group.offsets.enabled" -> "true",
    "sync.group.offsets.interval.seconds" -> "1",
    // The other direction would need workers, too.
    "emit.heartbeats.enabled" -> "false",
    "sync.topic.configs.enabled" -> "false",
    "sync.topic.acls.enabled" -> "false",
    "replication.factor" -> "1",
    "checkpoints.topic.replication.factor" -> "1",
    "offset-syncs.topic.replication.factor" -> "1",
    "config.storage.replication.factor" -> "1",
    "offset.storage.replication.factor" -> "1",
    "offset.storage.partitions" -> "1",
    "status.storage.replication.factor" -> "1",
    "status.storage.partitions" -> "1",
    // The manifests of the jars name all connectors.
    "plugin.discovery" -> "service_load"
  )

  /** The target's: the worker that runs the connectors keeps its own topics there. */
  private val forWorker: Map[String, String] = Map(
    "offset.flush.interval.ms" -> "1000",
    "scheduled.rebalance.max.delay.ms" -> "0",
    // The least that brokers allow: a worker that was killed is a member of its group until then.
    "session.timeout.ms" -> "6000",
    "heartbeat.interval.ms" -> "1000",
    "plugin.discovery" -> "service_load"
  )
}
