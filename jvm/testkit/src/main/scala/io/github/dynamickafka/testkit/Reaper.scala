package io.github.dynamickafka.testkit

import java.io.{IOException, OutputStream}
import java.lang.ProcessBuilder.Redirect
import java.nio.charset.StandardCharsets.US_ASCII
import java.nio.file.Path

/**
 * A small process that kills a broker and deletes its directory after this JVM has exited.
 *
 * It reads from a pipe that only this JVM writes to: the kernel closes the pipe when the JVM exits for any reason,
 * including `kill -9`. SIGKILL also ends a stopped broker.
 */
private[testkit] final class Reaper private (process: Process) {
  private val commands: OutputStream = process.getOutputStream

  /** Sets the process to kill. */
  def watch(pid: Long): Unit = send(s"watch $pid")

  /** Called when `pid` has ended, because another process may get the same id. */
  def forget(pid: Long): Unit = send(s"forget $pid")

  /** Ends the reaper without effect, because the owner has cleaned up. */
  def dismiss(): Unit = {
    send("dismiss 0")
    process.waitFor()
    ()
  }

  private def send(line: String): Unit = synchronized {
    try {
      commands.write(s"$line\n".getBytes(US_ASCII))
      commands.flush()
    } catch {
      // The reaper was dismissed already: the end of a killed broker is reported after the clean-up.
      case _: IOException if !process.isAlive => ()
    }
  }
}

private[testkit] object Reaper {

  /** The name prefix of directories that a reaper may delete. */
  val FolderPrefix = "dynamic-kafka-broker-"

  // The terminal sends signals to the whole process group; the reaper must outlive this JVM.
  // It waits before the deletion, because a terminating broker must not write to a directory that is being deleted.
  private val Script =
    s"""trap '' INT TERM HUP
       |broker=
       |while read -r verb pid; do
       |  case $$verb in
       |    watch) broker=$$pid ;;
       |    forget) if [ "$$broker" = "$$pid" ]; then broker=; fi ;;
       |    dismiss) exit 0 ;;
       |  esac
       |done
       |if [ -n "$$broker" ]; then
       |  kill -9 "$$broker"
       |  for second in 1 2 3; do
       |    kill -0 "$$broker" || break
       |    sleep 1
       |  done
       |fi
       |case $$1 in
       |  /*/../*) ;;
       |  /*/$FolderPrefix*) rm -rf -- "$$1" ;;
       |esac
       |""".stripMargin

  def start(folder: Path): Reaper =
    new Reaper(
      new ProcessBuilder("sh", "-c", Script, "reaper", folder.toAbsolutePath.toString)
        .redirectOutput(Redirect.DISCARD)
        .redirectError(Redirect.DISCARD)
        .start()
    )
}
