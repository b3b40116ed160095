package io.github.dynamickafka.testkit

import java.lang.ProcessBuilder.Redirect
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, NoSuchFileException, Path, Paths}
import java.util.concurrent.{TimeUnit, TimeoutException}

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._
import scala.util.Using

/**
 * The directory of one JVM, and its process, at most one at a time. Both are gone when this JVM has exited, in any way.
 *
 * @param name for error messages
 */
private[testkit] class JavaProcess(name: String) {
  final val folder: Path = Files.createTempDirectory(Reaper.FolderPrefix)
  private val log: Path = folder.resolve("process.log")
  private val reaper: Reaper = Reaper.start(folder)
  @volatile private var process: Option[Process] = None

  def pid: Long = process.map(_.pid).getOrElse(throw new IllegalStateException(s"$name was never started"))

  def isAlive: Boolean = process.exists(_.isAlive)

  /** Runs a program to its end, and returns its exit code. */
  def run(command: JavaProcess.Command): Int = begin(command).waitFor()

  /** Starts the process and returns immediately. */
  def start(command: JavaProcess.Command): Unit = {
    // The log must only contain the reason of this failure.
    Files.deleteIfExists(log)
    val started = begin(command)
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

  def failure(what: String): BrokerFailure = new BrokerFailure(s"$name $what", logTail(4000))

  /** A failure with the threads of the process, if it can still print them. */
  def silence(what: String): BrokerFailure = {
    printThreads()
    new BrokerFailure(s"$name $what", logTail(40000))
  }

  private def begin(command: JavaProcess.Command): Process = {
    val binary = Paths.get(System.getProperty("java.home"), "bin", "java").toString
    val words = Seq(
      binary,
      s"-Xmx${command.heapMb}m",
      "-XX:+UseSerialGC",
      // Else the JVM wakes up twenty times a second to sample counters that are not read.
      "-XX:-UsePerfData",
      "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
      "-cp",
      command.classpath
    ) ++ command.options ++ command.classAndArguments
    new ProcessBuilder(words.asJava)
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

private[testkit] object JavaProcess {

  /** A program with the jars of its own. */
  final case class Command(
      classpath: String,
      heapMb: Int,
      classAndArguments: Seq[String],
      options: Seq[String] = Nil
  )
}
