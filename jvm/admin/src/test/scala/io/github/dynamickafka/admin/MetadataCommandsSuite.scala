package io.github.dynamickafka.admin

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit

/** `validate`, `describe`, `diff`, `schema` and edits of files, by the command line; examples are in `CliExamplesSuite`. */
class MetadataCommandsSuite extends AnyFunSuite with TimeLimit {

  private val Secret = "hunter2"
  private val Streams =
    s"""version: 1
       |clusters:
       |  blue:
       |    properties:
       |      bootstrap.servers: blue:9092
       |      security.protocol: SASL_SSL
       |      sasl.jaas.config: 'x.PlainLoginModule required username="reader" password="$Secret";'
       |      ssl.key.password: $Secret
       |      fetch.max.wait.ms: 10
       |      some.vendors.token: $Secret
       |  green:
       |    properties: {bootstrap.servers: "green:9092"}
       |streams:
       |  orders:
       |    clusters:
       |      blue: {topics: [orders, more], state: draining}
       |      green: {topics: [orders], starting_offsets: {orders: {0: 42}}}
       |  payments:
       |    clusters:
       |      green: {topics: [payments]}
       |""".stripMargin

  private val root = Path.of(System.getProperty("dynamickafka.root"))
  private val folder = Files.createTempDirectory("dynamic-kafka-metadata-")
  private val file = write("streams.yaml", Streams)

  private def write(name: String, text: String): String =
    Files.writeString(folder.resolve(name), text).toString

  private def changed(replacements: (String, String)*): String =
    write("other.yaml", replaced(Streams, replacements: _*))

  private def replaced(text: String, replacements: (String, String)*): String =
    replacements.foldLeft(text) { case (t, (old, now)) =>
      assert(t.contains(old), old)
      t.replace(old, now)
    }

  /** With the names of files in place of their paths. */
  private def run(arguments: String*): CommandLine.Reply = {
    val reply = CommandLine.run(arguments: _*)
    assert(!reply.all.contains(Secret))
    def plain(text: String) = text.replace(s"$folder/", "")
    CommandLine.Reply(reply.exitCode, plain(reply.out), plain(reply.err))
  }

  test("validate: all errors, as text and as JSON") {
    val other = changed("[orders, more]" -> "[orders, 7]", "state: draining" -> "sate: draining")
    val reply = run("validate", other)
    assert(reply.exitCode == 1 && reply.out.isEmpty)
    val Seq(topics, state, total) = reply.err.linesIterator.toSeq
    val where = "other.yaml:16: stream 'orders', cluster 'blue', key"
    assert(Set(
      topics,
      state
    ).exists(_ == s"$where 'topics': must be text, but is a number: put it in quotes"))
    assert(Set(topics, state).exists(_.startsWith(s"$where 'sate': there is no such key here")))
    assert(total == "2 errors")
    val json = run("validate", other, "--json")
    assert(json.exitCode == 1 && !json.json.get("valid").asBoolean)
    val Seq(one, _) = json.json.get("errors").elements.asScala.toSeq
    assert(one.fieldNames.asScala.toSeq == Seq("file", "line", "stream", "cluster", "key", "message"))
    assert(one.get("line").asInt == 16 && one.get("file").asText == "other.yaml")
    assert(run("validate", file, "--json").json.toString ==
      """{"file":"streams.yaml","valid":true,"errors":[],"warnings":[]}""")
  }

  test("validate: warnings do not change the exit code") {
    val reply =
      run("validate", changed("  green:\n" -> "  red: {properties: {bootstrap.servers: 'r:1'}}\n  green:\n"))
    assert(reply == CommandLine.Reply(
      0,
      "other.yaml: 2 streams on 2 clusters\n",
      "other.yaml:11: cluster 'red': no stream uses this cluster (warning)\n"
    ))
  }

  test("other commands refuse a bad file with all errors") {
    val other = changed("version: 1" -> "version: 2", "state: draining" -> "state: drained")
    val commands = Seq(
      Seq("streams", other) -> 1,
      Seq("describe", other, "orders") -> 1,
      Seq("diff", file, other) -> 2,
      Seq("diff", other, file, "--json") -> 2,
      Seq("drain", other, "blue") -> 1,
      Seq("publish", other, "--bootstrap-servers", "localhost:1", "--topic", "t") -> 1
    )
    commands.foreach { case (arguments, exitCode) =>
      val reply = run(arguments: _*)
      assert(reply.exitCode == exitCode && reply.out.isEmpty, arguments)
      val Seq(version, state) = reply.err.linesIterator.toSeq
      assert(version == "other.yaml:1: key 'version': version 2 is unknown; this release supports version 1")
      assert(
        state.startsWith("other.yaml:16: stream 'orders', cluster 'blue', key 'state': 'drained' is not")
      )
    }
    assert(Files.readString(Path.of(other)).contains("drained"))
  }

  test("describe") {
    val expected =
      """stream orders
        |
        |cluster blue
        |  state               draining
        |  topics              orders, more
        |  bootstrap.servers   blue:9092
        |  fetch.max.wait.ms   10
        |  sasl.jaas.config    (redacted)
        |  security.protocol   SASL_SSL
        |  some.vendors.token  (redacted)
        |  ssl.key.password    (redacted)
        |
        |cluster green
        |  state              active
        |  topics             orders
        |  starting_offsets   {"orders":{"0":42}}
        |  bootstrap.servers  green:9092
        |""".stripMargin
    assert(run("describe", file, "orders") == CommandLine.Reply(0, expected, ""))
    assert(
      run("describe", file, "orders", "--json").json.at("/clusters/green").toString ==
        """{"state":"active","topics":["orders"],"starting_offsets":"{\"orders\":{\"0\":42}}","stopping_offsets":null,""" +
        """"properties":{"bootstrap.servers":"green:9092"}}"""
    )
    assert(run("describe", file, "oders") ==
      CommandLine.Reply(1, "", "streams.yaml: there is no stream 'oders'. Did you mean 'orders'?\n"))
    val other = changed(
      "green: {topics: [payments]}" -> "green: {topic_pattern: 'payments-.*'}",
      "blue: {topics: [orders, more]" -> "blue: {write: false, partitions: {orders: [0, 2]}"
    )
    val lines = run("describe", other, "orders").out.linesIterator.toSeq
    assert(lines.slice(2, 6) == Seq(
      "cluster blue",
      "  state               draining",
      "  write               false",
      "  partitions          orders (0, 2)"
    ))
    assert(run("describe", other, "orders", "--json").json.at("/clusters/blue/write").toString == "false")
    assert(run("describe", other, "payments").out.contains("  topic_pattern      payments-.*\n"))
    assert(run("diff", file, other).out ==
      """~ stream orders, cluster blue takes no writes
        |- stream orders, cluster blue, topic more leaves
        |~ stream orders, cluster blue, partitions orders changes: all -> 0, 2
        |- stream payments, cluster green, topic payments leaves
        |~ stream payments, cluster green, topic_pattern changes: none -> payments-.*
        |""".stripMargin)
  }

  test("diff") {
    val same = changed("[orders, more]" -> "[more, orders]", "blue:\n" -> "blue: # a comment\n")
    assert(run("diff", file, same) == CommandLine.Reply(0, "", ""))
    assert(run("diff", file, same, "--json").json.toString == """{"same":true,"changes":[]}""")
    val other = changed(
      "state: draining" -> "state: active",
      "blue: {topics: [orders, more]" -> "blue: {topics: [orders, fewer]",
      "{0: 42}" -> "{0: 43}",
      s"ssl.key.password: $Secret" -> s"ssl.key.password: $Secret-new",
      s"      some.vendors.token: $Secret\n" -> "",
      "fetch.max.wait.ms: 10" -> "fetch.max.wait.ms: 20",
      "  payments:\n" -> "  audits:\n",
      "      green: {topics: [payments]}" -> "      red: {topics: [audits]}",
      "streams:\n" -> "  red: {properties: {bootstrap.servers: 'red:9092', client.id: x}}\nstreams:\n"
    )
    assert(run("diff", file, other) == CommandLine.Reply(
      1,
      """~ cluster blue, property fetch.max.wait.ms changes: 10 -> 20
        |- cluster blue, property some.vendors.token leaves: (redacted)
        |~ cluster blue, property ssl.key.password changes: (redacted) -> (redacted)
        |+ cluster red enters
        |+ stream audits enters
        |+ stream audits, cluster red enters
        |~ stream orders, cluster blue is active again
        |+ stream orders, cluster blue, topic fewer enters
        |- stream orders, cluster blue, topic more leaves
        |~ stream orders, cluster green, starting_offsets changes: {"orders":{"0":42}} -> {"orders":{"0":43}}
        |- stream payments leaves
        |- stream payments, cluster green leaves
        |""".stripMargin,
      ""
    ))
    val back = run("diff", other, file).out.linesIterator.toSeq
    assert(back.contains("~ stream orders, cluster blue drains") && back.contains("- cluster red leaves"))
    val json = run("diff", file, other, "--json").json
    assert(!json.get("same").asBoolean)
    assert(json.at(
      "/changes/1"
    ).toString == """{"what":"property","how":"leaves","stream":null,"cluster":"blue",""" +
      """"name":"some.vendors.token","old":"(redacted)","new":null}""")
    assert(run("diff", file, changed("state: draining" -> "state: removed")).out ==
      "~ stream orders, cluster blue is removed\n")
    val without = changed(", starting_offsets: {orders: {0: 42}}" -> "")
    assert(run("diff", without, file).out ==
      "~ stream orders, cluster green, starting_offsets changes: none -> {\"orders\":{\"0\":42}}\n")
  }

  test("schema, which names all formats and is JSON") {
    val schema = run("schema")
    assert(schema.exitCode == 0 && run("schema", "--json").out == schema.out)
    assert(
      new ObjectMapper().readTree(schema.out).get("title").asText == "Metadata of Dynamic Kafka for Spark"
    )
  }

  test("edits: what changes, nothing to change, refusals, and wrong usage") {
    val edited = changed()
    assert(run(
      "drain",
      edited,
      "green",
      "--stream",
      "payments"
    ).out == "~ stream payments, cluster green drains\n")
    assert(Files.readString(Path.of(edited)) == Streams.replace(
      "[payments]}",
      "[payments], state: draining}"
    ))
    assert(run("drain", edited, "green", "--stream", "payments") ==
      CommandLine.Reply(0, "other.yaml: nothing to change\n", ""))
    assert(
      run("activate", edited, "green", "--json").json.toString ==
        """{"file":"other.yaml","changes":[{"what":"state","how":"is active again","stream":"payments","cluster":"green",""" +
        """"name":null,"old":"draining","new":"active"}]}"""
    )
    assert(run("move", edited, "--stream", "payments", "--from", "green", "--to", "blue").out ==
      "+ stream payments, cluster blue enters\n~ stream payments, cluster green drains\n")
    val before = Files.readString(Path.of(edited))
    Seq(
      Seq("drain", edited, "gren") -> "'clusters' has no cluster 'gren'. Did you mean 'green'?",
      Seq(
        "drain",
        edited,
        "blue",
        "--stream",
        "oders"
      ) -> "there is no stream 'oders'. Did you mean 'orders'?",
      Seq("move", edited, "--stream", "orders", "--from", "blue", "--to", "blue") ->
        "stream 'orders' cannot move from cluster 'blue' to itself"
    ).foreach { case (arguments, says) =>
      assert(run(arguments: _*) == CommandLine.Reply(1, "", s"other.yaml: $says\n"))
    }
    assert(Files.readString(Path.of(edited)) == before)
    Seq(Seq("drain", edited), Seq("move", edited, "--stream", "orders", "--to", "green"), Seq("validate"))
      .foreach(arguments => assert(run(arguments: _*).exitCode == 2, arguments))
  }

  test("publish: what is refused before a broker is asked") {
    def publish(more: String*) =
      run(Seq("publish", file, "--bootstrap-servers", "localhost:1", "--topic", "t") ++ more: _*)
    val wrong = publish("--property", "security.protocol")
    assert(wrong.exitCode == 2 && wrong.err.contains("'security.protocol' of --property is not NAME=VALUE"))
    val unknown = publish("--stream", "order")
    assert(unknown.exitCode == 1)
    assert(unknown.err == "streams.yaml: there is no stream 'order'; the streams are orders, payments\n")
    val down = publish("--timeout", "0.5")
    assert(down.exitCode == 1 && down.err.contains("the Kafka topic 't' at localhost:1 cannot be read"), down)
  }

  private val Command = """(?m)^\$ (.+)\n((?:(?!\$ |```).*\n)*)""".r

  private def document(name: String) = Files.readString(root.resolve("docs").resolve(name))

  private def yamlOf(text: String) = """(?s)```yaml\n(.*?)```""".r.findFirstMatchIn(text).get.group(1)

  /** Runs a line of a document, whose files are in the folder. */
  private def runLine(line: String): String = {
    val arguments = line.split(" ").toSeq.drop(3).map(word =>
      if (word.endsWith(".yaml")) folder.resolve(word).toString else word
    )
    run(arguments: _*).all
  }

  test("the change in docs/changing.md, one step after the other") {
    val text = document("changing.md")
    val first = yamlOf(text)
    val lines = """(?s)changed:\n\n```text\n(.*?)```""".r.findFirstMatchIn(text).get.group(1)
    write("streams.yaml", first)
    val steps = Command.findAllMatchIn(text).map(m => m.group(1) -> m.group(2)).toSeq
    assert(steps.size == 6)
    steps.foreach {
      case ("cp streams.yaml before.yaml", _) => write("before.yaml", first)
      case (line, output) =>
        assert(runLine(line) == output, line)
        if (line.contains(" move ")) assert(
          Files.readString(folder.resolve("streams.yaml")) ==
            replaced(first, "      blue: {topics: [orders]}\n" -> lines)
        )
    }
    write("streams.yaml", Streams)
  }
}
