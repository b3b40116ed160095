package io.github.dynamickafka.admin

import java.nio.file.Files
import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.kafka.clients.admin.OffsetSpec
import org.apache.kafka.common.IsolationLevel
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.source.checkpoint.SourceCheckpoint
import io.github.dynamickafka.source.cluster.{ClusterConfig, ClusterConfigs}
import io.github.dynamickafka.testkit.TimeLimit

/** `offsets`, `lag` and `reset` on the command line, with scripted brokers. */
class CheckpointCommandsSuite extends AnyFunSuite with TimeLimit {

  private val Offset =
    """{"version":2,"clusters":{"blue":{"orders":{"0":42,"1":7,"10":3}},"green":{"orders":{"0":5}}},""" +
      """"entered":{"green":{"orders":{"0":0}}},"draining":{"blue":{"orders":{"0":120,"1":7}}},""" +
      """"retained":{"old":{"topics":{"orders":{"since":1763700000000,"offsets":{"0":99}}}},""" +
      """"red":{"topics":{"orders":{"since":1763700000000,"offsets":{"0":120}}},"drained":["orders"]}}}"""

  private def checkpoint(): CheckpointFolder =
    CheckpointFolder.temporary().log(
      7,
      Offset
    ).commit(7).topology(Seq("blue" -> "orders", "green" -> "orders"))

  private val metadata = Files.writeString(
    Files.createTempDirectory("dynamic-kafka-metadata-").resolve("streams.yaml"),
    """version: 1
      |clusters:
      |  blue: {properties: {bootstrap.servers: "new-blue:9092", isolation.level: read_committed}}
      |streams:
      |  orders: {clusters: {blue: {topics: [orders]}}}
      |""".stripMargin
  ).toString

  private val asked = new ConcurrentLinkedQueue[ClusterConfig]

  /** All clusters have the end 50 but green, which does not answer. */
  private def run(arguments: String*): CommandLine.Reply = {
    asked.clear()
    CommandLine.running((file, timeout, hadoop) =>
      CheckpointFolder.answering { (config, _, spec) =>
        asked.add(config)
        Option.when(!config.bootstrapServers.startsWith("green"))(spec match {
          case _: OffsetSpec.EarliestSpec => 2L
          case _: OffsetSpec.TimestampSpec => -1L
          case _ => 50L
        })
      }(Context.ofFile(file, timeout, hadoop))
    )(arguments: _*)
  }

  private def states(reply: CommandLine.Reply): Seq[String] =
    reply.out.linesIterator.drop(5).map(_.replaceAll(" +", " ")).toSeq

  test("offsets without lag: every section of an offset, and no broker is asked") {
    val reply = run("offsets", s"${checkpoint()}", "--no-lag")
    assert(reply.exitCode == 0 && asked.isEmpty)
    assert(
      reply.out.startsWith("batch 7 of 2026-11-21 07:37:14 UTC, finished\n\nsource 0\n\ncluster  topic ")
    )
    assert(states(reply) == Seq(
      "blue orders 0 42 draining to 120",
      "blue orders 1 7 draining to 7",
      "blue orders 10 3 active",
      "green orders 0 5 active, entered at 0",
      "old orders 0 99 retained since 2025-11-21 04:40:00 UTC",
      "red orders 0 120 retained since 2025-11-21 04:40:00 UTC"
    ))
  }

  test("offsets with lag: what is not known has a reason, in text and JSON") {
    val at = checkpoint()
    val reply = run("offsets", s"$at", "--timeout", "0.2")
    val unknown = "neither the metadata nor the checkpoint has cluster"
    assert(states(reply).takeRight(4) == Seq(
      "lag of the partitions being read: 98 (where known)",
      "lag of cluster green is not known: green-1:9092: no response within 200 ms (green-1:9092: unknown host)",
      s"lag of cluster old is not known: $unknown 'old'",
      s"lag of cluster red is not known: $unknown 'red'"
    ))
    assert(states(reply).head == "blue orders 0 42 50 8 draining to 120")
    val json = run("offsets", s"$at", "--timeout", "0.2", "--json").json
    assert(json.get("batch").asInt == 7 && json.get("finished").asBoolean && json.get(
      "timestamp_ms"
    ).asLong == 1795246634419L)
    assert(json.at("/sources/0/source").asInt == 0)
    assert(json.at("/sources/0/positions/0").toString ==
      """{"cluster":"blue","topic":"orders","partition":0,"position":42,"state":"draining","entered":null,"target":120,""" +
      """"stop":null,"since_ms":null,"end":50,"lag":8}""")
    assert(json.at("/sources/0/lag_unknown").fieldNames.asScala.toSeq == Seq("green", "old", "red"))
    assert(!json.at("/sources/0").has("history_files"))
  }

  test("files of a history that are read, where reading ends, and an earlier batch") {
    val at = checkpoint()
      .log(8, """{"version":2,"clusters":{"blue":{"orders":{"0":7}}},"history":{"orders":250}}""")
      .log(
        9,
        """{"version":2,"clusters":{"blue":{"orders":{"0":7}}},"ends":{"blue":{"orders":{"by":"latest","offsets":{"0":9}}}}}"""
      )
    assert(run("offsets", s"$at", "--batch", "8", "--no-lag").out.contains(
      "\nstream orders: 250 files of the history are read, and Kafka follows on the last one\n"
    ))
    val json = run("offsets", s"$at", "--batch", "8", "--no-lag", "--json").json
    assert(
      json.at("/sources/0/history_files").toString == """{"orders":250}""" && !json.get("finished").asBoolean
    )
    assert(states(run("offsets", s"$at", "--no-lag")) == Seq("blue orders 0 7 active, ends at 9"))
  }

  test("sources with names, in their order") {
    val folder = CheckpointFolder.temporary()
    val offset = """{"version":2,"clusters":{"blue":{"orders":{"0":42}}}}"""
    Files.createDirectories(folder.path.resolve("offsets"))
    Files.writeString(
      folder.path.resolve("offsets/7"),
      s"v2\n{}\n01:-\nfirst:$offset\n1:{\"orders\":{\"0\":7}}\n0:$offset"
    )
    val json = run("offsets", s"$folder", "--no-lag", "--json").json
    assert(json.at("/sources/0/source").asText == "first" && json.at("/sources/1/source").asInt == 0)
    assert(json.get("timestamp_ms").isNull && run(
      "offsets",
      s"$folder",
      "--no-lag"
    ).out.contains("\nsource first\n"))
  }

  test("lag by cluster and topic; what is retained is not asked") {
    val at = checkpoint()
    val reply = run("lag", s"$at", "--timeout", "0.2")
    assert(reply.exitCode == 1)
    assert(states(reply) == Seq(
      "blue orders 3 98",
      "green orders 1",
      "",
      "lag: 98 (where known)",
      "lag of cluster green is not known: green-1:9092: no response within 200 ms (green-1:9092: unknown host)"
    ))
    assert(asked.asScala.map(_.bootstrapServers).toSet == Set("blue-1:9092", "green-1:9092"))
    val source = run("lag", s"$at", "--timeout", "0.2", "--json").json.at("/sources/0")
    assert(source.get("lag").isNull)
    assert(
      source.at("/topics/0").toString == """{"cluster":"blue","topic":"orders","partitions":3,"lag":98}"""
    )
  }

  test("properties of the metadata take precedence over those of the checkpoint") {
    val reply = run("lag", s"${checkpoint()}", "--metadata", metadata, "--timeout", "0.2")
    assert(reply.exitCode == 1)
    val blue = asked.asScala.find(_.bootstrapServers == "new-blue:9092").get
    assert(blue.isolation == IsolationLevel.READ_COMMITTED)
  }

  test("references that a checkpoint has are not resolved, credentials that it lacks are named") {
    val references = checkpoint()
      .topology(
        Seq("blue" -> "orders", "green" -> "orders"),
        properties = ",\"sasl.jaas.config\":\"$" + "{file:/etc/pw:x}\""
      )
    val reply = run("lag", s"$references", "--timeout", "0.2")
    assert(asked.isEmpty && reply.exitCode == 1)
    assert(
      reply.out.contains(
        "lag of cluster blue is not known: the checkpoint has references (sasl.jaas.config) for this cluster, which are resolved " +
          "only if the metadata has them"
      ),
      reply.out
    )
    assert(run("offsets", s"$references", "--metadata", metadata, "--timeout", "0.2").out.contains(" 50 "))
  }

  test("isolation.level of the query, which its checkpoint has, decides the end") {
    val at = checkpoint().topology(
      Seq("blue" -> "orders", "green" -> "orders"),
      options = """{"kafka.isolation.level":"read_committed"}"""
    )
    run("lag", s"$at", "--timeout", "0.2")
    assert(asked.asScala.map(_.isolation).toSet == Set(IsolationLevel.READ_COMMITTED))
  }

  test("properties that no query stores are not taken from a checkpoint") {
    val at = checkpoint().topology(
      Seq("blue" -> "orders", "green" -> "orders"),
      properties = ""","sasl.oauthbearer.token.endpoint.url":"file:/etc/pw","security.protocol":"SASL_SSL""""
    )
    run("lag", s"$at", "--timeout", "0.2")
    val blue = asked.asScala.find(_.bootstrapServers == "blue-1:9092").get.properties
    assert(blue.client.get("security.protocol").contains("SASL_SSL"))
    assert(Seq(blue.client, blue.admin).forall(!_.contains("sasl.oauthbearer.token.endpoint.url")))
  }

  test("plan takes from a checkpoint only the options that decide a batch: no address, no reference") {
    val at = checkpoint().topology(
      Seq("blue" -> "orders", "green" -> "orders"),
      options =
        ("""{"streamIds":"orders","cluster.blue.kafka.bootstrap.servers":"evil:9092","kafka.client.id":"REF",""" +
          """"kafka.isolation.level":"REF","kafka.group.id":"evil"}""").replace("REF", "$" + "{env:PATH}")
    )
    val context = Context.ofFile(Some(metadata), Some(200L), () => new Configuration)
    val options = context.catalog.readingAs(
      new SourceCheckpoint(at.path.resolve("sources/0").toString, new Configuration).topology.get.options
    )
    val blue = ClusterConfigs(options, Set("blue"))("blue", Map("bootstrap.servers" -> "new-blue:9092"))
    assert(blue.bootstrapServers == "new-blue:9092" && blue.isolation == IsolationLevel.READ_UNCOMMITTED)
    assert(!blue.properties.toString.contains("PATH") && blue.committedGroup.isEmpty)
  }

  test("reset: JSON, text, and the form of the positions") {
    def reset(to: String, more: String*) = {
      val at = checkpoint()
      at -> run(Seq("reset", s"$at", "--cluster", "blue", "--to", to, "--metadata", metadata) ++ more: _*)
    }
    val (at, json) = reset("""{"orders": {"0": 6, "10": -1}}""", "--json")
    assert(json.exitCode == 0 && json.json.toString ==
      """{"changes":[{"source":0,"cluster":"blue","topic":"orders","partition":0,"from":42,"to":6},""" +
      """{"source":0,"cluster":"blue","topic":"orders","partition":10,"from":3,"to":50}]}""")
    assert(
      Files.readString(at.path.resolve("offsets/7")).contains(""""blue":{"orders":{"0":6,"1":7,"10":50}}""")
    )
    val edit = at.path.resolve("dynamic-kafka-edits").toFile.listFiles.head.toPath.resolve("edit.json")
    assert(Files.readString(edit).contains(""""by":"alice""""))
    // A partition that drains is read up to its target.
    assert(reset("timestamp:1767268800000")._2.out ==
      """after batch 7, the query continues at
        |
        |source  cluster  topic   partition  from  to
        |0       blue     orders          0    42  50
        |0       blue     orders         10     3  50
        |""".stripMargin)
    assert(reset("""{"orders": {"1": 7}}""")._2 == CommandLine.Reply(0, "nothing to change\n", ""))
    Seq("first", "{}", """{"orders": {"0": -3}}""", "[" * 3000).foreach(form =>
      assert(
        reset(form)._2.exitCode == 2 && reset(form)._2.err.contains("is neither 'earliest', 'latest'"),
        form
      )
    )
    assert(reset("""{"orders": {"0": 51}}""")._2.err.contains("has the offsets 2 to 50, not 51"))
    assert(reset("latest", "--json")._2.exitCode == 0)
    val (_, unknown) = reset("""{"order": {"0": 5}}""")
    assert(unknown.exitCode == 1 && unknown.err.contains(
      "reads no topic 'order' of cluster blue. Did you mean 'orders'?"
    ))
  }

  test("what is no checkpoint is refused with the reason") {
    val empty = CheckpointFolder.temporary()
    Seq("offsets", "lag").foreach { command =>
      val reply = run(command, s"$empty")
      assert(reply.exitCode == 1 && reply.out.isEmpty && reply.err.contains(
        "is not a checkpoint of a streaming query"
      ))
      assert(run(command, s"$empty/nowhere").exitCode == 2)
    }
    val reply = run("lag", s"${checkpoint()}", "--watch", "--json")
    assert(reply.exitCode == 2 && reply.err.contains("--watch has no --json"))
  }
}
