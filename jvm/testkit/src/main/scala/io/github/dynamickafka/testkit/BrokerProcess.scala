package io.github.dynamickafka.testkit

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

/** The directory of one broker, and its process, at most one at a time. */
private[testkit] final class BrokerProcess(name: String) extends JavaProcess(s"broker $name") {
  private val properties: Path = folder.resolve("server.properties")

  /** Formats an empty data directory. */
  def format(config: BrokerConfig, clusterId: String): Unit = {
    write(config)
    val formatter = Seq("kafka.tools.StorageTool", "format", "--cluster-id", clusterId)
    // The process is too short-lived for the C2 compiler.
    val options = sharing(config.version) :+ "-XX:TieredStopAtLevel=1"
    if (run(command(config, options, formatter ++ Seq("--config", properties.toString))) != 0)
      throw failure("could not format its data directory")
  }

  /** Starts the process and returns immediately. */
  def start(config: BrokerConfig): Unit = {
    write(config)
    val options =
      BrokerArchive.toWrite.fold(sharing(config.version))(a => Seq(s"-XX:ArchiveClassesAtExit=$a"))
    start(command(config, options ++ config.jvmOptions, Seq("kafka.Kafka", properties.toString)))
  }

  private def write(config: BrokerConfig): Unit = {
    Files.write(properties, config.lines(folder.resolve("data")).asJava)
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
