package io.github.dynamickafka.testkit

import java.io.PrintStream
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.Executors

import scala.io.Source

import com.fasterxml.jackson.databind.json.JsonMapper
import com.fasterxml.jackson.module.scala.DefaultScalaModule

/**
 * The testkit for other languages, with JSON lines on stdin and stdout.
 *
 * A request is `{"id": 1, "method": "start", "params": {"name": "blue", ...}}`, and its response is `{"id": 1,
 * "result": ...}` or `{"id": 1, "error": "..."}`. Requests run concurrently, so responses arrive in any order; a client
 * that requires an order must wait for a response before the next request. The end of stdin stops all clusters.
 * [[Requests]] has the methods.
 */
object TestkitServer {
  private val mapper = JsonMapper.builder().addModule(DefaultScalaModule).build()

  def main(args: Array[String]): Unit = {
    val answers = new PrintStream(System.out, true, UTF_8)
    // The output of libraries must not be mixed with the responses.
    System.setOut(System.err)
    val requests = new Requests
    val threads = Executors.newCachedThreadPool()
    Source.fromInputStream(System.in, "UTF-8").getLines().foreach { line =>
      threads.execute { () =>
        val answer = handle(requests, line)
        answers.synchronized(answers.println(answer))
      }
    }
    requests.close()
    // A pending start ends with this JVM.
    sys.exit()
  }

  /** The line of the response. There is always one, because a client would otherwise wait forever. */
  private def handle(requests: Requests, line: String): String = {
    val request = mapper.readTree(line)
    def answer(kind: String, value: Any): String =
      mapper.writeValueAsString(Map("id" -> request.path("id"), kind -> value))
    try {
      val params = Option(request.get("params")).getOrElse(mapper.createObjectNode())
      requests.answer(request.path("method").asText, new Params(params)) match {
        case () => answer("result", null)
        case result => answer("result", result)
      }
    } catch {
      case e: Throwable => answer("error", e.toString)
    }
  }
}
