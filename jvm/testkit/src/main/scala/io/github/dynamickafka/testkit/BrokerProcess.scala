package io.github.dynamickafka.testkit

import java.nio.file.StandardCopyOption.{ATOMIC_MOVE, REPLACE_EXISTING}
import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import org.apache.kafka.common.Uuid

/** The directory of one broker, and its process, at most one at a time. */
private[testkit] final class BrokerProcess(name: String) extends JavaProcess(s"broker $name") {
  private val properties: Path = folder.resolve("server.properties")
  private val data: Path = folder.resolve("data")
  private val Bootstrap = "bootstrap.checkpoint"

  /** Formats an empty data directory: with Kafka's tool, or as it has done for another broker of this version. */
  def format(config: BrokerConfig, clusterId: String): Unit = {
    write(config)
    val formatted = BrokerVersions.formatted(config.version)
    if (Files.exists(formatted) && !config.properties.keys.exists(decidesFormat))
      copy(formatted, config, clusterId)
    else {
      formatWithTool(config, clusterId)
      if (!config.properties.keys.exists(decidesFormat)) keep(formatted)
    }
  }

  private def formatWithTool(config: BrokerConfig, clusterId: String): Unit = {
    val formatter = Seq("kafka.tools.StorageTool", "format", "--cluster-id", clusterId)
    // The process is too short-lived for the C2 compiler.
    val options = sharing(config.version) :+ "-XX:TieredStopAtLevel=1"
    if (run(command(config, options, formatter ++ Seq("--config", properties.toString))) != 0)
      throw failure("could not format its data directory")
  }

  /** Only the first file differs between brokers; the other one has the features of the version. */
  private def copy(formatted: Path, config: BrokerConfig, clusterId: String): Unit = {
    Files.createDirectories(data)
    val lines = Seq(
      "version=1",
      s"cluster.id=$clusterId",
      s"node.id=${config.id}",
      s"directory.id=${Uuid.randomUuid()}"
    )
    Files.write(data.resolve("meta.properties"), lines.asJava)
    Files.copy(formatted, data.resolve(Bootstrap))
    ()
  }

  private def keep(formatted: Path): Unit = {
    Files.createDirectories(formatted.getParent)
    // Another process may do the same at this moment.
    val written = Files.createTempFile(formatted.getParent, formatted.getFileName.toString, ".new")
    Files.copy(data.resolve(Bootstrap), written, REPLACE_EXISTING)
    Files.move(written, formatted, ATOMIC_MOVE)
    ()
  }

  private def decidesFormat(property: String): Boolean =
    property.startsWith("unstable.") || Set("log.dirs", "metadata.log.dir", "process.roles")(property)

  /** Starts the process and returns immediately. */
  def start(config: BrokerConfig): Unit = {
    write(config)
    val options =
      BrokerArchive.toWrite.fold(sharing(config.version))(a => Seq(s"-XX:ArchiveClassesAtExit=$a"))
    start(command(config, options ++ config.jvmOptions, Seq("kafka.Kafka", properties.toString)))
  }

  private def write(config: BrokerConfig): Unit = {
    Files.write(properties, config.lines(data).asJava)
    ()
  }

  private def sharing(version: String): Seq[String] = {
    val archive = BrokerVersions.archive(version)
    // A JVM that cannot use the archive starts without it, and would say so in the log.
    if (Files.exists(archive)) Seq(s"-XX:SharedArchiveFile=$archive", "-Xlog:cds*=off") else Nil
  }

  private def command(config: BrokerConfig, options: Seq[String], classAndArguments: Seq[String]) =
    JavaProcess.Command(BrokerVersions.classpath(config.version), config.heapMb, classAndArguments, options)
}
