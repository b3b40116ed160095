package io.github.dynamickafka.testkit

import java.io.{BufferedReader, InputStreamReader}
import java.lang.ProcessBuilder.Redirect
import java.nio.file.{Files, Path, Paths}

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.json.JsonMapper
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

class TestkitServerSuite extends AnyFunSuite with TimeLimit with OnBrokers with Eventually {
  private val mapper = new JsonMapper

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(20, Seconds), interval = Span(50, Millis))

  test("requests are answered by id, and wrong ones with an error", TestAll) {
    withServer { server =>
      assert(server.ask("versions").get("result").get(0).asText === BrokerVersions.default)
      assert(server.ask(
        "topics",
        """{"cluster":"red"}"""
      ).get("error").asText.contains("unknown cluster 'red'"))
      assert(server.ask("topics").get("error").asText.contains("parameter 'cluster' is missing"))
    }
  }

  test("killing the server ends its brokers, even a frozen one, and deletes their data", TestAll) {
    withServer { server =>
      val pids = Seq("running", "frozen").map { name =>
        server.ask("start", s"""{"name":"$name","properties":{}}""").get("result").get("pid").asLong
      }
      server.ask("freeze", """{"cluster":"frozen"}""")
      val folders = pids.map(folder)
      assert(folders.forall(Files.exists(_)))
      server.process.destroyForcibly().waitFor()
      eventually {
        assert(!pids.exists(isRunning))
        assert(!folders.exists(Files.exists(_)))
      }
    }
  }

  test("closing the server's input ends its brokers", TestAll) {
    withServer { server =>
      val pid = server.ask("start", """{"name":"only","properties":{}}""").get("result").get("pid").asLong
      val data = folder(pid)
      val nothing =
        server.ask("createTopic", """{"cluster":"only","topic":"t","partitions":1,"configs":{}}""")
      assert(nothing.get("result").isNull)
      assert(server.ask("endOffsets", """{"cluster":"only","topic":"t"}""").toString.contains("""{"0":0}"""))
      server.process.getOutputStream.close()
      assert(server.process.waitFor() === 0)
      eventually {
        assert(!isRunning(pid))
        assert(!Files.exists(data))
      }
    }
  }

  private final class Server(val process: Process) {
    private val answers = new BufferedReader(new InputStreamReader(process.getInputStream))

    def ask(method: String, params: String = "{}"): JsonNode = {
      process.getOutputStream.write(s"""{"id":1,"method":"$method","params":$params}\n""".getBytes)
      process.getOutputStream.flush()
      mapper.readTree(answers.readLine())
    }
  }

  private def withServer(test: Server => Any): Unit = {
    val java = Paths.get(System.getProperty("java.home"), "bin", "java").toString
    val classpath = System.getProperty("java.class.path")
    val process = new ProcessBuilder(java, "-cp", classpath, "io.github.dynamickafka.testkit.TestkitServer")
      .redirectError(Redirect.INHERIT)
      .start()
    try {
      test(new Server(process))
      ()
    } finally {
      process.destroyForcibly()
      ()
    }
  }

  /** The working directory of a broker is its folder. */
  private def folder(pid: Long): Path = Files.readSymbolicLink(Paths.get(s"/proc/$pid/cwd"))

  // A process that has ended but has not been reaped has no memory, and therefore no command line.
  private def isRunning(pid: Long): Boolean = {
    val commandLine = Paths.get(s"/proc/$pid/cmdline")
    Files.exists(commandLine) && Files.readAllBytes(commandLine).nonEmpty
  }
}
