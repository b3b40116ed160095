package io.github.dynamickafka.testkit

import java.io.{IOException, OutputStream}
import java.lang.ProcessBuilder.Redirect
import java.nio.charset.StandardCharsets.US_ASCII
import java.nio.file.Path

/**
 * A small process that outlives this JVM just long enough to kill a broker and delete its folder.
 *
 * It waits on a pipe that only this JVM holds: however this JVM ends, `kill -9` included, the kernel closes
 * the pipe. SIGKILL then also ends a broker that is stopped.
 */
private[testkit] final class Reaper private (process: Process) {
  private val commands: OutputStream = process.getOutputStream

  /** From now on `pid` is to be killed. */
  def watch(pid: Long): Unit = send(s"watch $pid")

  /** `pid` has ended, so the number may soon be somebody else's. */
  def forget(pid: Long): Unit = send(s"forget $pid")

  /** Ends the reaper with nothing done: the owner has cleaned up. */
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
      // Dismissed already: the end of a killed broker is told after the clean-up.
      case _: IOException if !process.isAlive => ()
    }
  }
}

private[testkit] object Reaper {

  /** What every folder that a reaper may delete is called. */
  val FolderPrefix = "dynamic-kafka-broker-"

  // Signals of the terminal go to the whole group; the reaper has to see the harness end first.
  // The wait before the deletion: a dying broker must not write into a folder that is being deleted.
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
