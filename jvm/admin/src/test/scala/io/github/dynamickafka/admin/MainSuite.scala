package io.github.dynamickafka.admin

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.Modules
import io.github.dynamickafka.base.Json
import io.github.dynamickafka.build.BuildInfo
import io.github.dynamickafka.testkit.TimeLimit

/** Usage of the command line, and `streams`. */
class MainSuite extends AnyFunSuite with TimeLimit {

  private val folder = Files.createTempDirectory("dynamic-kafka-main-")
  private val file = write(
    "streams.yaml",
    """version: 1
      |clusters:
      |  blue: {properties: {bootstrap.servers: "blue:9092", ssl.key.password: hunter2}}
      |  green: {properties: {bootstrap.servers: "green:9092"}}
      |streams:
      |  orders:
      |    clusters:
      |      blue: {partitions: {orders: [0, 2]}, state: draining}
      |      green: {topics: [orders, more]}
      |  payments: {clusters: {green: {topic_pattern: 'payments-.*'}}}
      |""".stripMargin
  )

  private def write(name: String, text: String): Path = Files.writeString(folder.resolve(name), text)

  private def run(arguments: String*): CommandLine.Reply = CommandLine.run(arguments: _*)

  test("a file system that is in no jar: the scheme, and where its jars have to be") {
    Seq("validate" -> "s3a", "validate" -> "gs", "offsets" -> "s3a", "validate" -> "unknown").foreach {
      case (command, scheme) =>
        val reply = run(command, s"$scheme://bucket/orders")
        val why =
          s"'$scheme://bucket/orders' cannot be read: the file system of $scheme: is in no jar. Its jars"
        assert(reply.exitCode == 1 && reply.err.contains(why) && reply.err.contains("--jars"), reply.err)
    }
    val reply = run("validate", "hdfs://nowhere.invalid/orders")
    assert(reply.exitCode == 1 && reply.err.contains("nowhere.invalid") && !reply.err.contains("--jars"))
  }

  test("wrong usage exits with 2 and names the mistake, with the nearest name") {
    Seq(
      Seq("stream") -> "there is no command 'stream'. Did you mean 'streams'?",
      Seq("clusters") -> "there is no command 'clusters'",
      Seq("--json", "streams", s"$file") -> "the command is missing before --json",
      Seq("streams") -> "FILE is missing",
      Seq("streams", s"$folder") -> s"FILE '$folder' is a folder",
      Seq("streams", s"$folder/nowhere.yaml") -> "nowhere.yaml' does not exist",
      Seq("streams", s"$file", "more") -> "'more' is one argument too many. Usage: streams FILE [OPTIONS]",
      Seq("streams", s"$file", "--jsn") -> "'streams' has no option --jsn. Did you mean '--json'?",
      Seq("streams", s"$file", "--watch") -> "'streams' has no option --watch",
      Seq("transactions", s"$folder") -> "--metadata is missing",
      Seq("transactions", s"$folder", "--metadat", s"$file") -> "Did you mean '--metadata'?",
      Seq("transactions", s"$folder", "--metadata") -> "--metadata needs a value",
      Seq(
        "transactions",
        s"$folder",
        "--metadata",
        s"$file",
        "--timeout",
        "0"
      ) -> "a number of seconds above 0",
      Seq("resolve", s"$folder", "--metadata", s"$file", "--rewrite") -> "--batch is missing",
      Seq(
        "resolve",
        s"$folder",
        "--metadata",
        s"$file",
        "--batch=-1"
      ) -> "'-1' of --batch is not a number, 0 or greater",
      Seq(
        "resolve",
        s"$folder",
        "--metadata",
        s"$file",
        "--batch=1",
        "--batch",
        "2"
      ) -> "--batch is given twice"
    ).foreach { case (arguments, said) =>
      val reply = run(arguments: _*)
      assert(reply.exitCode == 2 && reply.out.isEmpty && reply.err.contains(said), s"$arguments: $reply")
    }
    assert(run().exitCode == 2)
  }

  test("help: all commands, and the arguments of each one") {
    val all = run("--help")
    assert(all.exitCode == 0 && all.err.isEmpty)
    Commands.all.filter(_.isCommand).foreach { command =>
      assert(all.out.contains(s"\n  ${command.commandName} "), command.name)
      val one = run(command.commandName, "--help")
      assert(one.exitCode == 0 && command.onLine.forall(p => one.out.contains(s"  ${p.lineName}")), one)
    }
    assert(run("--version").out == s"dynamic-kafka ${BuildInfo.version}\n")
  }

  test("streams: text and JSON, topics by name, partition and pattern") {
    assert(run("streams", s"$file") == CommandLine.Reply(
      0,
      """stream    cluster  state     topics
        |orders    blue     draining  orders (0, 2)
        |orders    green    active    orders, more
        |payments  green    active    matching payments-.*
        |""".stripMargin,
      ""
    ))
    val json = run("streams", "--json", s"$file").json
    assert(json.get("file").asText == s"$file")
    assert(json.at("/streams/0/clusters/0").toString ==
      """{"cluster":"blue","state":"draining","topics":[],"partitions":{"orders":[0,2]}}""")
    assert(
      json.at("/streams/1").toString ==
        """{"stream":"payments","clusters":[{"cluster":"green","state":"active","topics":[],"topic_pattern":"payments-.*"}]}"""
    )
    val invalid = run("streams", write("bad.yaml", "version: 2\nstreams: {}").toString)
    assert(
      invalid.exitCode == 1 && invalid.out.isEmpty && invalid.err.contains("version 2 is unknown"),
      invalid
    )
  }

  test("a command that an error or the program names exists, with the options that follow it") {
    val root = Path.of(sys.props("dynamickafka.root"))
    val sources = (Modules.all.map(module => s"jvm/$module/src/main") :+ "python/src/dynamic_kafka").flatMap(
      folder =>
        Using.resource(Files.walk(root.resolve(folder)))(_.iterator.asScala.filter(file =>
          file.toString.matches(".*\\.(scala|py|json)")
        ).toVector)
    )
    val named = """python -m dynamic_kafka ([a-z][a-z-]*)([^.,\n]*)""".r
    val found = sources.flatMap(file => named.findAllMatchIn(Files.readString(file)))
      .map(m => m.group(1) -> """(?<![\w-])--[a-z][a-z-]*""".r.findAllIn(m.group(2)).toSeq)
    assert(found.map(_._1).toSet.size >= 2 && found.exists(_._2.nonEmpty))
    found.foreach { case (name, options) =>
      val help = run(name, "--help")
      assert(help.exitCode == 0 && options.forall(help.out.contains(_)), s"$name $options")
    }
  }

  test("JSON is indented, and empty lists are short") {
    val value =
      Json.fields("a" -> Seq.empty, "b" -> Seq[Any](1, Json.fields("é\"" -> None)), "c" -> Some(true))
    assert(Json.pretty(value) ==
      """{
        |  "a": [],
        |  "b": [
        |    1,
        |    {
        |      "é\"": null
        |    }
        |  ],
        |  "c": true
        |}""".stripMargin)
  }
}
