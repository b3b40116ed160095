package io.github.dynamickafka.testkit

import java.lang.ProcessBuilder.Redirect
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, NoSuchFileException, Path, Paths}
import java.util.concurrent.{TimeUnit, TimeoutException}

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._
import scala.util.Using

/** The directory of one broker, and its process, at most one at a time. */
private[testkit] final class BrokerProcess(name: String) {
  val folder: Path = Files.createTempDirectory(Reaper.FolderPrefix)
  private val log: Path = folder.resolve("broker.log")
  private val properties: Path = folder.resolve("server.properties")
  private val reaper: Reaper = Reaper.start(folder)
  @volatile private var process: Option[Process] = None

  def pid: Long = process.map(_.pid).getOrElse(throw new IllegalStateException(s"$name was never started"))

  def isAlive: Boolean = process.exists(_.isAlive)

  /** Formats an empty data directory. */
  def format(config: BrokerConfig, clusterId: String): Unit = {
    write(config)
    // The process is too short-lived for the C2 compiler.
    val formatting = java(config, sharing(config.version) :+ "-XX:TieredStopAtLevel=1")(
      "kafka.tools.StorageTool",
      "format",
      "--cluster-id",
      clusterId,
      "--config",
      properties.toString
    )
    if (formatting.waitFor() != 0) throw failure("could not format its data directory")
  }

  /** Starts the process and returns immediately. */
  def start(config: BrokerConfig): Unit = {
    write(config)
    // The log must only contain the reason of this failure.
    Files.deleteIfExists(log)
    val options =
      BrokerArchive.toWrite.fold(sharing(config.version))(a => Seq(s"-XX:ArchiveClassesAtExit=$a"))
    val started = java(config, options)("kafka.Kafka", properties.toString)
    reaper.watch(started.pid)
    started.onExit().thenRun(() => reaper.forget(started.pid))
    process = Some(started)
  }

  /** Sends SIGTERM, and SIGKILL after a timeout. Returns when the process has ended. */
  def end(): Unit = process.foreach { running =>
    running.destroy()
    if (!running.waitFor(20, TimeUnit.SECONDS)) kill()
  }

  /** Sends SIGKILL. Returns when the process has ended. */
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

  /** Kills the process and deletes the data. */
  def delete(): Unit = if (Files.exists(folder)) {
    kill()
    Using.resource(Files.walk(folder)) { paths =>
      paths.iterator.asScala.toSeq.reverse.foreach(Files.delete(_))
    }
    reaper.dismiss()
  }

  def failure(what: String): BrokerFailure = new BrokerFailure(s"broker $name $what", logTail(4000))

  /** With the threads of the process, if it can still print them. */
  def silence(what: String): BrokerFailure = {
    printThreads()
    new BrokerFailure(s"broker $name $what", logTail(40000))
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

  private def java(config: BrokerConfig, options: Seq[String])(classAndArguments: String*): Process = {
    val binary = Paths.get(System.getProperty("java.home"), "bin", "java").toString
    val command = Seq(
      binary,
      s"-Xmx${config.heapMb}m",
      "-XX:+UseSerialGC",
      "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
      "-cp",
      BrokerVersions.classpath(config.version)
    ) ++ options ++ classAndArguments
    new ProcessBuilder(command.asJava)
      .directory(folder.toFile)
      .redirectInput(Redirect.from(Paths.get("/dev/null").toFile))
      .redirectErrorStream(true)
      .redirectOutput(Redirect.appendTo(log.toFile))
      .start()
  }

  // The JDK cannot send other signals; `kill` is available in every shell.
  private def signal(signal: String): Unit = {
    val sender =
      new ProcessBuilder("sh", "-c", """kill -s "$1" "$2"""", "signal", signal, pid.toString).start()
    if (sender.waitFor() != 0) throw failure(s"did not take SIG$signal")
  }

  // The state is the first field after the command, which is in parentheses and may contain parentheses.
  private def isStopped: Boolean = {
    val stat = Files.readString(Paths.get(s"/proc/$pid/stat"))
    stat.substring(stat.lastIndexOf(')') + 2).startsWith("T")
  }

  private def printThreads(): Unit = {
    signal("QUIT")
    try Poll.until(s"the threads of $name", patience = 10.seconds)(logTail(40000).contains("JNI global refs"))
    // The process is stopped, or hangs as a whole.
    catch { case _: TimeoutException => () }
  }

  private def logTail(characters: Int): String =
    try new String(Files.readAllBytes(log), UTF_8).takeRight(characters)
    catch { case _: NoSuchFileException => "(there is no log)" }
}
