package io.github.dynamickafka.sink.operate

import java.nio.file.{Files, Path}

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.hadoop.conf.Configuration
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.sink.commit.CommitScene
import io.github.dynamickafka.sink.journal.{Journal, JournalCluster}
import io.github.dynamickafka.testkit.TimeLimit

/** The replies of the Java side for all that an operator can meet, without brokers. */
class OperatorToolSuite extends AnyFunSuite with TimeLimit {

  private val Secret = "hunter2secret"

  private val folder = Files.createTempDirectory("dynamic-kafka-operator-")
  private val metadata: Path = Files.writeString(
    folder.resolve("streams.yaml"),
    s"""version: 1
       |clusters:
       |  blue:
       |    properties:
       |      bootstrap.servers: 127.0.0.1:1
       |      security.protocol: SASL_PLAINTEXT
       |      sasl.mechanism: PLAIN
       |      sasl.jaas.config: 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="$Secret";'
       |streams:
       |  out:
       |    clusters:
       |      blue: {topics: [t]}
       |""".stripMargin
  )

  private def decided(): Path = {
    val checkpoint = Files.createTempDirectory(folder, "checkpoint-")
    val journal = new Journal(checkpoint.toString, new Configuration)
    val entry =
      CommitScene.entry(4L, 0, CommitScene.prepared("blue", 0), CommitScene.prepared("gone", 1))
    journal.decide(entry.copy(clusters =
      entry.clusters + ("gone" -> JournalCluster(None, Map("bootstrap.servers" -> "127.0.0.1:1")))
    ))
    checkpoint
  }

  private def reply(command: String, checkpoint: Path, more: String*): JsonNode = {
    val text = OperatorTool.reply(Seq(command, checkpoint.toString, metadata.toString, "1000") ++ more)
    assert(!text.contains(Secret))
    new ObjectMapper().readTree(text)
  }

  private def reason(reply: JsonNode): String = reply.get("reasons").get(0).asText

  test(
    "clusters that do not answer, in the metadata or only in the journal, are unreachable, with their reasons"
  ) {
    val answer = reply("transactions", decided())
    val decision = answer.at("/result/decisions/0")
    assert(
      answer.get("exit").asInt == 1 && decision.get("batch").asInt == 4 && decision.get(
        "generation"
      ).asInt == 2
    )
    Seq("blue", "gone").zipWithIndex.foreach { case (id, n) =>
      val transaction = decision.at(s"/transactions/$n")
      assert(
        transaction.get("cluster").asText == id && transaction.get("state").asText == "unreachable" &&
          transaction.get("transactional_id").asText.nonEmpty
      )
      assert(answer.at(s"/reasons/$n").asText.startsWith(s"cluster '$id' is unreachable: 127.0.0.1:1: "))
    }
  }

  test("no open decision: exit code 0 and an empty list") {
    val checkpoint = Files.createTempDirectory(folder, "idle-")
    val _ = new Journal(checkpoint.toString, new Configuration).claim("q", "run")
    val answer = reply("transactions", checkpoint)
    assert(answer.toString == """{"result":{"decisions":[]},"exit":0,"reasons":[]}""")
  }

  test("no journal, a damaged one, damaged metadata: a reason each, and no result") {
    val empty = Files.createTempDirectory(folder, "empty-")
    val damaged = decided()
    val file = damaged.resolve(Journal.Folder).resolve("4-0.json")
    Files.deleteIfExists(file.resolveSibling(".4-0.json.crc"))
    Files.writeString(file, "{")
    Seq(empty -> "has no journal of decisions", damaged -> "JOURNAL_CONFLICT").foreach {
      case (checkpoint, why) =>
        Seq(
          reply("transactions", checkpoint),
          reply("resolve", checkpoint, "alice", "4", "accept-loss")
        ).foreach { answer =>
          assert(
            answer.get("exit").asInt == 1 && !answer.has("result") && reason(answer).contains(why),
            answer
          )
        }
    }
    val bad = Files.writeString(folder.resolve("bad.yaml"), "version: 9")
    val answer =
      OperatorTool.reply(Seq("transactions", decided().toString, bad.toString, "1000"))
    assert(answer.contains("The metadata is invalid") && answer.contains("\"exit\":1"), answer)
  }

  test(
    "a checkpoint on a file system that Hadoop does not have, and one of a query that does not write: a reason"
  ) {
    val ofReader = Files.createTempDirectory(folder, "reader-")
    Files.createDirectories(ofReader.resolve("offsets"))
    Seq(
      "nofs://bucket/checkpoint" -> "\"nofs\"",
      ofReader.toString -> "has no journal of decisions"
    ).foreach {
      case (checkpoint, why) =>
        val answer = new ObjectMapper().readTree(
          OperatorTool.reply(Seq("transactions", checkpoint, metadata.toString, "1000"))
        )
        assert(
          answer.get("exit").asInt == 1 && !answer.has("result") && reason(answer).contains(why),
          answer
        )
    }
  }

  test("a resolution that is refused: its reasons, exit code 1, and the decision stays open") {
    val checkpoint = decided()
    val answer = reply("resolve", checkpoint, "alice", "5", "rewrite")
    assert(answer.get("exit").asInt == 1 && reason(answer).contains("not of batch 5"))
    assert(new Journal(checkpoint.toString, new Configuration).newest().exists(!_._2))
  }
}
