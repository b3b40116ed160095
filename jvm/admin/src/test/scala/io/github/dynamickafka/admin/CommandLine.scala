package io.github.dynamickafka.admin

import java.io.{ByteArrayOutputStream, PrintStream}
import java.nio.charset.StandardCharsets.UTF_8

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.hadoop.conf.Configuration

/** The command line in this process. */
object CommandLine {

  final case class Reply(exitCode: Int, out: String, err: String) {
    def json: JsonNode = new ObjectMapper().readTree(out)

    /** As a terminal shows it: what goes to standard error is last. */
    def all: String = out + err
  }

  def run(arguments: String*): Reply = running(Context.ofFile)(arguments: _*)

  /** @param more commands beside those of the connector */
  private[dynamickafka] def running(
      contextOf: (Option[String], Option[Long], () => Configuration) => Context,
      more: Seq[Command] = Nil
  )(arguments: String*): Reply = {
    val (out, err) = (new ByteArrayOutputStream, new ByteArrayOutputStream)
    def stream(to: ByteArrayOutputStream) = new PrintStream(to, true, UTF_8)
    val main = new Main(stream(out), stream(err), Commands.all ++ more, new Configuration, contextOf)
    val exitCode = main.run(arguments)
    Reply(exitCode, out.toString(UTF_8), err.toString(UTF_8))
  }
}
