package io.github.dynamickafka.sink.commit

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration

import io.github.dynamickafka.admin.CommandLine
import io.github.dynamickafka.source.{Entry, Queries, Query, StreamsFile, Target}
import io.github.dynamickafka.testkit.{KafkaCluster, TestAll}

/** Decisions that a query cannot complete, on brokers: the commands, and the query after them. */
class ResolveSuite extends Queries {

  /** Each row is written to both clusters. */
  private val sink = Seq(
    "deliveryGuarantee" -> "exactly-once",
    "clusterRouting" -> "all",
    "clusterRequestTimeoutMs" -> "4000",
    "commitTimeoutMs" -> "6000"
  )

  private final class Operated(t: Target, s: Query, other: KafkaCluster) {
    private val ids = Map("blue" -> blue, "other" -> other)
    private val from = newTopicOn(2, blue)
    private val out = newTopicOn(2, blue, other)
    private val file = new StreamsFile(newFolder())
    private def entries = ids.toSeq.sortBy(_._1).map { case (id, cluster) => Entry(id, cluster, out) }
    s.orders(Entry("blue", blue, from))
    t.out(entries: _*)
    file.write("out" -> entries)

    def onlyBlue(): Unit = t.out(Entry("blue", blue, out))

    def input(values: String*): Unit = produce(blue, from, 2, values)

    def run(): Unit = { val _ = t.catchUp(s.frame().select("key", "value"), sink: _*) }

    /** The condition with which the query fails. */
    def fails(): String = condition(refused(t.start(s.frame().select("key", "value"), sink: _*)))

    /** A run that dies at a step of its next commit. */
    def dies(step: String): Unit = dying(step)(t.start(s.frame().select("key", "value"), sink: _*))

    def visible: Map[String, Seq[String]] = ids.keys.map(id => id -> visibleOn(id)).toMap

    def visibleOn(id: String): Seq[String] = committed(ids(id), out).map(_.value).sorted

    def prepared: Seq[Prepared] =
      new Journal(t.checkpoint.toString, new Configuration).newest().toSeq.flatMap(_._1.transactions)

    def expire(transaction: Prepared): Unit = PreparedScene.expire(ids(transaction.cluster), transaction)

    private def tool(command: String, more: String*): CommandLine.Reply = CommandLine.run(
      Seq(
        command,
        t.checkpoint.toString,
        "--metadata",
        file.path.toString,
        "--timeout",
        "4",
        "--json"
      ) ++ more: _*
    )

    /** The states of the transactions of the open decision, by cluster; the exit code says whether there is one. */
    def states: Map[String, Set[String]] = {
      val answer = tool("transactions")
      val decisions = answer.json.at("/decisions")
      assert(answer.exitCode == (if (decisions.isEmpty) 0 else 1), answer)
      decisions.elements.asScala.flatMap(_.get("transactions").elements.asScala)
        .map(one => one.get("cluster").asText -> one.get("state").asText).toSeq
        .groupMap(_._1)(_._2).map { case (id, all) => id -> all.toSet }
    }

    def resolve(batch: Long, how: String*): CommandLine.Reply =
      tool("resolve", Seq("--batch", batch.toString, s"--${how.head}") ++ how.tail: _*)
  }

  private def operated(other: KafkaCluster)(body: Operated => Unit): Unit = target { t =>
    scene(s => body(new Operated(t, s, other)))
  }

  private def numbers(from: Int, until: Int) = (from until until).map(n => f"$n%03d")

  test(
    "a cluster that is gone: each start fails, and after abandon-cluster the query continues without it",
    TestAll
  ) {
    operated(red) { o =>
      o.input(numbers(0, 10): _*)
      o.run()
      assert(o.visible == Map("blue" -> numbers(0, 10), "other" -> numbers(0, 10)) && o.states.isEmpty)
      o.input(numbers(10, 20): _*)
      o.dies("decided")
      assert(o.states == Map("blue" -> Set("open"), "other" -> Set("open")))
      killed(red) {
        assert(o.states == Map("blue" -> Set("open"), "other" -> Set("unreachable")))
        assert(o.fails() == "COMMIT_INCOMPLETE")
        val done = o.resolve(1L, "abandon-cluster", "other")
        assert(done.exitCode == 0, done)
        assert(o.states.isEmpty)
        o.onlyBlue()
        o.input(numbers(20, 30): _*)
        o.run()
        assert(o.visibleOn("blue") == numbers(0, 30))
      }
    }
  }

  test(
    "a part is committed and another one lost: rewrite is refused, and accept-loss closes the batch",
    TestAll
  ) {
    operated(green) { o =>
      o.input(numbers(0, 10): _*)
      o.dies("between-commits")
      val lost = o.prepared.last
      o.prepared.tail.foreach(o.expire)
      assert(o.states.values.flatten.toSet == Set("committed", "aborted"))
      assert(o.fails() == "PARTIAL_COMMIT")
      val refused = o.resolve(0L, "rewrite")
      assert(refused.exitCode == 1 && refused.toString.contains("it is committed"), refused)
      val before = o.visible
      val done = o.resolve(0L, "accept-loss")
      assert(done.exitCode == 0 && done.toString.contains(lost.transactionalId), done)
      o.input(numbers(10, 20): _*)
      o.run()
      assert(before.values.flatten.nonEmpty && before.values.map(_.size).sum < 20)
      // What was lost stays lost, and nothing is there twice.
      assert(o.visible == before.map { case (id, values) => id -> (values ++ numbers(10, 20)) })
    }
  }

  test("a part is lost and none committed: after rewrite the batch is there exactly once", TestAll) {
    operated(green) { o =>
      o.input(numbers(0, 10): _*)
      o.dies("decided")
      o.expire(o.prepared.head)
      assert(o.states.values.flatten.toSet == Set("open", "aborted"))
      val done = o.resolve(0L, "rewrite")
      assert(done.exitCode == 0 && !done.toString.contains("\"open\""), done)
      assert(o.states.isEmpty && o.visible.values.forall(_.isEmpty))
      o.input(numbers(10, 20): _*)
      o.run()
      assert(o.visible == Map("blue" -> numbers(0, 20), "other" -> numbers(0, 20)))
    }
  }
}
