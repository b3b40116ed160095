package io.github.dynamickafka.sink.commit

import java.nio.file.{Files, Path}

import org.apache.hadoop.conf.Configuration
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.admin.CommandLine
import io.github.dynamickafka.testkit.TimeLimit

/** `transactions` and `resolve` for all that an operator can meet, without brokers. */
class TransactionCommandsSuite extends AnyFunSuite with TimeLimit {

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

  private def run(command: String, checkpoint: String, more: String*): CommandLine.Reply = {
    val common = Seq(command, checkpoint, "--metadata", metadata.toString, "--timeout", "1")
    val reply = CommandLine.run(common ++ more: _*)
    assert(!reply.all.contains(Secret))
    reply
  }

  test(
    "clusters that do not answer, in the metadata or only in the journal, are unreachable, with their reasons"
  ) {
    val checkpoint = decided().toString
    val reply = run("transactions", checkpoint, "--json")
    val decision = reply.json.at("/decisions/0")
    assert(reply.exitCode == 1)
    assert(decision.get("batch").asInt == 4 && decision.get("generation").asInt == 2)
    Seq("blue", "gone").zipWithIndex.foreach { case (id, n) =>
      val transaction = decision.at(s"/transactions/$n")
      assert(
        transaction.get("cluster").asText == id && transaction.get("state").asText == "unreachable" &&
          transaction.get("transactional_id").asText.nonEmpty
      )
    }
    assert(
      reply.err.linesIterator.map(_.takeWhile(_ != '(')).toSeq.zip(Seq("blue", "gone")).forall {
        case (line, id) =>
          line.startsWith(s"cluster '$id' is unreachable: 127.0.0.1:1: ")
      },
      reply.err
    )
    val text = run("transactions", checkpoint).out
    assert(
      text.startsWith("batch 4, decided by generation 2, not finished\n\ncluster  transactional_id "),
      text
    )
  }

  test("no open decision: exit code 0 and an empty list") {
    val checkpoint = Files.createTempDirectory(folder, "idle-")
    val _ = new Journal(checkpoint.toString, new Configuration).claim("q", "run")
    assert(run(
      "transactions",
      checkpoint.toString,
      "--json"
    ) == CommandLine.Reply(0, "{\n  \"decisions\": []\n}\n", ""))
    assert(run("transactions", checkpoint.toString) == CommandLine.Reply(0, "no decision is open\n", ""))
  }

  test(
    "no journal, a damaged one, a file system that is not known, damaged metadata: a reason, and no result"
  ) {
    val ofReader = Files.createTempDirectory(folder, "reader-")
    Files.createDirectories(ofReader.resolve("offsets"))
    val damaged = decided()
    val file = damaged.resolve(Journal.Folder).resolve("4-0.json")
    Files.deleteIfExists(file.resolveSibling(".4-0.json.crc"))
    Files.writeString(file, "{")
    Seq(
      ofReader.toString -> "has no journal of decisions",
      damaged.toString -> "JOURNAL_CONFLICT",
      "nofs://bucket/checkpoint" -> "\"nofs\""
    ).foreach { case (checkpoint, why) =>
      Seq(
        run("transactions", checkpoint),
        run("resolve", checkpoint, "--batch", "4", "--accept-loss")
      ).foreach(reply =>
        assert(reply.exitCode == 1 && reply.out.isEmpty && reply.err.contains(why), reply)
      )
    }
    val bad = Files.writeString(folder.resolve("bad.yaml"), "version: 9").toString
    val reply = CommandLine.run("transactions", decided().toString, "--metadata", bad)
    assert(reply.exitCode == 1 && reply.err.contains("version 9 is unknown"), reply)
  }

  test("a resolution that is refused: its reasons, exit code 1, and the decision stays open") {
    val checkpoint = decided()
    val reply = run("resolve", checkpoint.toString, "--batch", "5", "--rewrite")
    assert(reply.exitCode == 1 && reply.err.contains("not of batch 5"))
    assert(new Journal(checkpoint.toString, new Configuration).newest().exists(!_._2))
  }

  test("exactly one resolution has to be chosen") {
    Seq(Nil, Seq("--rewrite", "--accept-loss"), Seq("--rewrite", "--abandon-cluster", "blue")).foreach {
      how =>
        val reply = run("resolve", decided().toString, Seq("--batch", "4") ++ how: _*)
        assert(reply.exitCode == 2 && reply.out.isEmpty && reply.err.contains("exactly one of"), reply)
    }
  }
}
