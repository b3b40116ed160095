package io.github.dynamickafka.admin

import java.nio.file.Files
import java.util.concurrent.{CompletableFuture, TimeUnit}

import org.apache.kafka.clients.admin.OffsetSpec
import org.apache.kafka.common.{IsolationLevel, TopicPartition}

import io.github.dynamickafka.kafka.{ClusterClients, ClusterRequests, ListedOffset, Opening, TopicAnswer}
import io.github.dynamickafka.source.{Entry, HistoryTest, Query, StreamsFile}
import io.github.dynamickafka.testkit.TestAll

/** `plan`, on brokers. What enters, drains and leaves is decided as in `PlannedChangeSuite`. */
class PlanProcedureSuite extends HistoryTest {

  private val Columns =
    "change STRING,cluster STRING,topic STRING,partition INT,position BIGINT,target BIGINT," +
      "records BIGINT,bytes BIGINT,lost BOOLEAN"

  test(
    "what enters, drains and leaves, by the metadata of the catalog and by a file, and then by the query itself"
  ) {
    val topic = newTopicOn(1, blue, green, red)
    Seq(blue, red).foreach(produce(_, topic, 1, Seq("a", "b", "c")))
    produce(green, topic, 1, Seq("x", "y"))
    scene { s =>
      s.orders(Entry("blue", blue, topic), Entry("red", red, topic))
      s.catchUp("newClusterStartingOffsets" -> "latest")
      Seq(blue, red).foreach(produce(_, topic, 1, Seq("d", "e")))
      val k = catalog(s.options())
      val call = s"CALL $k.system.plan('${s.checkpoint}'"
      assert(columns(s"$call)") == Columns && rows(s"$call)").isEmpty)
      // The next metadata as a file: blue leaves, red drains, green enters, by the option of the query.
      val file = new StreamsFile(newFolder())
      val next = Seq(Entry("green", green, topic), Entry("red", red, topic).draining)
      file.write("orders" -> next)
      val expected = Seq(
        row("enters", "green", topic, 0, 2L, null, null, null, false),
        row("drains", "red", topic, 0, 3L, 5L, 2L, null, false)
      )
      val planned = rows(s"$call, metadata => '${file.path}')")
      assert(planned.take(2) == expected)
      val Seq(leaves) = planned.drop(2)
      assert(leaves.take(7) == row("leaves", "blue", topic, 0, 3L, null, 2L) && leaves(8) == true)
      assert(leaves(7).asInstanceOf[Long] > 0)
      s.orders(next: _*)
      assert(rows(s"$call)") == planned)
      s.catchUp("newClusterStartingOffsets" -> "latest")
      val offsets = rows(s"CALL $k.system.offsets('${s.checkpoint}', 1)")
      assert(offsets.map(r => (r(1), r(4), r(5))).toSet.contains(("green", 2L, "active")))
      assert(offsets.map(r => (r(1), r(5))).toSet.contains(("blue", "retained")))
    }
  }

  /** Runs the body with a query that has read one record, of a topic that green has as well. */
  private def afterOne[A](body: (Query, String) => A): A = {
    val topic = newTopicOn(1, blue, green)
    produce(blue, topic, 1, Seq("a"))
    scene { s =>
      s.orders(Entry("blue", blue, topic))
      s.catchUp()
      body(s, topic)
    }
  }

  test("the time of a log-in is none of the attempt to ask a cluster") {
    afterOne { (s, topic) =>
      val file = new StreamsFile(newFolder())
      file.write("orders" -> Seq(Entry("blue", blue, topic)))
      val reply = CommandLine.running { (file, timeout, hadoop) =>
        val context = Context.ofFile(file, timeout, hadoop)
        new Context(
          context.catalog,
          context.file,
          () => "alice",
          // Both together take longer than an attempt.
          config =>
            new ClusterClients(_ => Opening[ClusterRequests](new SlowRequests(3000L, 2000L))(_.close()))
              .connect(Map.empty, config.requestTimeoutMs),
          isCommand = true
        )
      }("plan", s.checkpoint.toString, file.path.toString, "--timeout", "4.5")
      assert(reply.exitCode == 0 && reply.out.contains("next batch: 0 records"), reply.all)
    }
  }

  test("a cluster that replaces another one: by the policy of the query, and then by the query itself") {
    val topic = newTopicOn(1, blue, green)
    produce(blue, topic, 1, Seq("a", "b", "c"))
    produce(green, topic, 1, Seq("x", "y"))
    scene { s =>
      s.orders(Entry("blue", blue, topic))
      val standby = Entry("green", green, topic).replacing("blue")
      def planned(options: (String, String)*) = {
        s.orders(Entry("blue", blue, topic))
        s.catchUp(options: _*)
        s.orders(standby)
        s"CALL ${catalog(s.options())}.system.plan('${s.checkpoint}')"
      }
      val (_, text) = error(planned())
      assert(
        text.contains("cluster 'green' replaces cluster 'blue'") && text.contains("CLUSTER_REPLACED"),
        text
      )
      produce(blue, topic, 1, Seq("d"))
      val latest = "replacedClusterPolicy" -> "latest"
      val found = rows(planned(latest))
      assert(found.head == row("enters", "green", topic, 0, 2L, null, null, null, false))
      assert(found(1).take(5) == row("leaves", "blue", topic, 0, 4L))
      s.catchUp(latest)
      assert(s.seen.map(_.value).sorted == Seq("a", "b", "c", "d"))
      produce(green, topic, 1, Seq("z"))
      s.catchUp(latest)
      assert(s.seen.map(_.value).sorted == Seq("a", "b", "c", "d", "z"))
    }
  }

  test("a history: refused while files are left, and then by the query itself", TestAll) {
    twoClusters() { (s, _, all, path) =>
      s.service.histories = history(path)
      s.catchUp("historyFilesPerTrigger" -> "2")
      val call = s"CALL ${catalog(s.options())}.system.plan('${s.checkpoint}')"
      val files = s.batchCount - 1
      assert(files > 1)
      // The batch of Kafka, and the one before.
      s.unlog()
      assert(rows(call).isEmpty)
      s.unlog()
      val (_, text) = error(call)
      assert(text.contains("the query still reads a history: "), text)
      s.catchUp("historyFilesPerTrigger" -> "2")
      assertSame(s.seen, all)
    }
  }

  test("a checkpoint that was migrated: what the first start refuses") {
    afterOne { (s, topic) =>
      s.rewriteLogged(_ => s"""{"version":2,"clusters":{"bleu":{"$topic":{"0":1}}}}""")
      val own = s.checkpoint.resolve("sources/0/dynamic-kafka")
      Files.move(own, own.resolveSibling("away"))
      val call = s"CALL ${catalog(s.options())}.system.plan('${s.checkpoint}')"
      assert(error(call)._2.contains(
        "the query fails with MIGRATION_MISMATCH: the metadata lacks cluster 'bleu'. Did you mean 'blue'?"
      ))
      s.rewriteLogged(_.replace("bleu", "blue"))
      assert(error(call)._2.contains("does not name the streams of the query"))
      s.orders(Entry("blue", blue, newTopicOn(1, blue)))
      assert(error(call)._2.contains(s"the metadata lacks topic '$topic' on cluster 'blue'"))
    }
  }

  test("where it cannot tell, it is refused with the reason") {
    afterOne { (s, topic) =>
      val k = catalog(s.options("clusterRequestTimeoutMs" -> "4000"))
      val call = s"CALL $k.system.plan('${s.checkpoint}')"
      s.orders(Entry("blue", blue, topic), Entry.at("green", "127.0.0.1:1", topic))
      val (condition, text) = error(call)
      assert(condition == "PROCEDURE_REFUSED" && text.contains("cluster 'green': 127.0.0.1:1: "), text)
      s.service.streams = Map("other" -> Seq(Entry("blue", blue, topic)))
      assert(error(call)._1 == "METADATA_INVALID")
      val bad = Files.writeString(newFolder().resolve("bad.yaml"), "version: 2")
      assert(error(s"CALL $k.system.plan('${s.checkpoint}', '$bad')")._1 == "METADATA_INVALID")
      s.orders(Entry("blue", green, topic))
      assert(error(call)._2.contains("cluster 'blue' is another Kafka cluster than the one that was read"))
    }
  }
}

/** A client that logs in with its first request, of a cluster whose topics have one partition with one record. */
private final class SlowRequests(logInMs: Long, listingMs: Long) extends ClusterRequests {
  private lazy val loggedIn = after(logInMs)

  private def after(ms: Long) = CompletableFuture.supplyAsync[Unit](
    () => (),
    CompletableFuture.delayedExecutor(ms, TimeUnit.MILLISECONDS)
  )

  override def clusterId: CompletableFuture[String] = loggedIn.thenApply[String](_ => "")

  override def describe(topics: Set[String]): Map[String, CompletableFuture[TopicAnswer]] =
    topics.map(_ -> loggedIn.thenApply[TopicAnswer](_ => TopicAnswer(Map(0 -> Some(1))))).toMap

  override def offsets(
      specs: Map[TopicPartition, OffsetSpec],
      isolation: IsolationLevel
  ): Map[TopicPartition, CompletableFuture[ListedOffset]] = specs.map { case (at, spec) =>
    val offset = if (spec.isInstanceOf[OffsetSpec.EarliestSpec]) 0L else 1L
    at -> loggedIn.thenCompose[Unit](_ => after(listingMs)).thenApply[ListedOffset](_ => ListedOffset(offset))
  }

  override def topics: CompletableFuture[Set[String]] = unused
  override def committed(group: String): CompletableFuture[Map[TopicPartition, Long]] = unused
  override def commit(
      group: String,
      offsets: Map[TopicPartition, Long]
  ): Map[TopicPartition, CompletableFuture[Unit]] = unused
  override def close(): Unit = ()

  private def unused: Nothing = throw new UnsupportedOperationException("the plan needs no such request")
}
