package io.github.dynamickafka.testkit

import java.lang.ProcessBuilder.Redirect
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, NoSuchFileException, Path, Paths}
import java.util.concurrent.TimeUnit

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.kafka.common.Uuid

/** The operating system's side of one broker: its folder, and at most one process at a time. */
private[testkit] final class BrokerProcess(name: String) {
  val folder: Path = Files.createTempDirectory(Reaper.FolderPrefix)
  private val log: Path = folder.resolve("broker.log")
  private val properties: Path = folder.resolve("server.properties")
  private val reaper: Reaper = Reaper.start(folder)
  @volatile private var process: Option[Process] = None

  def pid: Long = process.map(_.pid).getOrElse(throw new IllegalStateException(s"$name was never started"))

  def isAlive: Boolean = process.exists(_.isAlive)

  /** Prepares an empty data folder. */
  def format(config: BrokerConfig): Unit = {
    write(config)
    // It ends before the optimizing compiler would be of use.
    val formatting = java(config.version, "-XX:TieredStopAtLevel=1", "kafka.tools.StorageTool")(
      "format",
      "--cluster-id",
      Uuid.randomUuid().toString,
      "--config",
      properties.toString
    )
    if (formatting.waitFor() != 0) throw failure("could not format its data folder")
  }

  /** Starts the process and returns at once. */
  def start(config: BrokerConfig): Unit = {
    write(config)
    // Only the log of this start tells why it failed.
    Files.deleteIfExists(log)
    val started = java(config.version, "kafka.Kafka")(properties.toString)
    reaper.watch(started.pid)
    started.onExit().thenRun(() => reaper.forget(started.pid))
    process = Some(started)
  }

  /** SIGTERM, and SIGKILL if that takes long. Returns when the process has ended. */
  def end(): Unit = process.foreach { running =>
    running.destroy()
    if (!running.waitFor(20, TimeUnit.SECONDS)) kill()
  }

  /** SIGKILL. Returns when the process has ended. */
  def kill(): Unit = process.foreach { running =>
    running.destroyForcibly()
    running.waitFor()
    ()
  }

  def freeze(): Unit = {
    signal("STOP")
    Poll.until(s"$name is stopped")(isStopped)
  }

  def thaw(): Unit = {
    signal("CONT")
    Poll.until(s"$name runs on")(!isStopped)
  }

  /** Ends everything at once and deletes the data. */
  def delete(): Unit = if (Files.exists(folder)) {
    kill()
    Using.resource(Files.walk(folder)) { paths =>
      paths.iterator.asScala.toSeq.reverse.foreach(Files.delete(_))
    }
    reaper.dismiss()
  }

  def failure(what: String): BrokerFailure = new BrokerFailure(s"broker $name $what", logTail)

  private def write(config: BrokerConfig): Unit = {
    Files.write(properties, config.lines(folder.resolve("data")).asJava)
    ()
  }

  private def java(version: String, optionsAndClass: String*)(arguments: String*): Process = {
    val binary = Paths.get(System.getProperty("java.home"), "bin", "java").toString
    val command = Seq(
      binary,
      "-Xmx512m",
      "-XX:+UseSerialGC",
      "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
      "-cp",
      BrokerVersions.classpath(version)
    ) ++ optionsAndClass ++ arguments
    new ProcessBuilder(command.asJava)
      .directory(folder.toFile)
      .redirectInput(Redirect.from(Paths.get("/dev/null").toFile))
      .redirectErrorStream(true)
      .redirectOutput(Redirect.appendTo(log.toFile))
      .start()
  }

  // The JDK can only end processes; `kill` of the shell needs nothing installed.
  private def signal(signal: String): Unit = {
    val sender =
      new ProcessBuilder("sh", "-c", """kill -s "$1" "$2"""", "signal", signal, pid.toString).start()
    if (sender.waitFor() != 0) throw failure(s"did not take SIG$signal")
  }

  // The state is the first field after the command, which stands in brackets and may contain any.
  private def isStopped: Boolean = {
    val stat = Files.readString(Paths.get(s"/proc/$pid/stat"))
    stat.substring(stat.lastIndexOf(')') + 2).startsWith("T")
  }

  private def logTail: String =
    try new String(Files.readAllBytes(log), UTF_8).takeRight(4000)
    catch { case _: NoSuchFileException => "(there is no log)" }
}
