package io.github.dynamickafka.admin

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8

import org.scalatest.Assertion

import io.github.dynamickafka.source.{Entry, Queries, Query}
import io.github.dynamickafka.testkit.{KafkaCluster, Record}

/** `plan` where a Kafka cluster replaces another one: what it says, and then what the next batch of the query does. */
class PlanReplacementSuite extends Queries {
  private val since = System.currentTimeMillis() - 3600000L

  /** Records of two partitions, one a second; each cluster has the same time for a value. */
  private def write(cluster: KafkaCluster, topic: String, values: Range): Unit = {
    cluster.produce(
      topic,
      values.map(i => Record(math.floorMod(i, 2), Some(s"k$i"), s"v$i", timestamp = Some(since + i * 1000L)))
    )
    ()
  }

  /** Twenty records of blue are read. Green has a copy of its log, from a value on, up to ten unread records. */
  private def failedOver(from: Int, options: (String, String)*)(body: (Query, String) => Any): Unit =
    scene { s =>
      val topic = newTopicOn(2, blue, green)
      write(blue, topic, 0 until 20)
      write(green, topic, from until 30)
      s.orders(Entry("blue", blue, topic))
      s.catchUp(options: _*)
      body(s, topic)
      ()
    }

  private def planned(s: Query): String =
    s"CALL ${catalog(s.options())}.system.plan('${s.checkpoint}')"

  /** That the next batch enters where the plan says. */
  private def assertDone(s: Query, id: String, options: Seq[(String, String)]): Map[Int, Long] = {
    val before = s.logged
    val found = rows(planned(s))
    assert(rows(planned(s)) == found && s.logged == before, "nothing is decided by asking")
    val enters = found.filter(_.head == "enters").map { r =>
      assert(r(1) == id)
      r(3).asInstanceOf[Int] -> r(4).asInstanceOf[Long]
    }.toMap
    assert(enters.nonEmpty && found.forall(_(8) == false), found)
    s.catchUp(options: _*)
    val after = s.logged
    assert(after.entered.get(id).map(_.iterator.map { case (_, p, at) => p -> at }.toMap).contains(enters))
    enters
  }

  private def assertRefused(s: Query, texts: String*): Assertion = {
    val (condition, text) = error(planned(s))
    assert(condition == "PROCEDURE_REFUSED" && texts.forall(text.contains), text)
  }

  private val same = Seq("replacedClusterPolicy" -> "same-offsets")

  test("same-offsets: under the same id, and with 'replaces'; refused by its check") {
    failedOver(from = 0, same: _*) { (s, topic) =>
      s.orders(Entry("blue", green, topic))
      assert(assertDone(s, "blue", same) == Map(0 -> 10L, 1 -> 10L))
    }
    failedOver(from = 0, same: _*) { (s, topic) =>
      write(blue, topic, 20 until 24)
      s.orders(Entry("green", green, topic).replacing("blue"))
      assert(assertDone(s, "green", same) == Map(0 -> 10L, 1 -> 10L))
    }
    failedOver(from = 2, same: _*) { (s, topic) =>
      s.orders(Entry("blue", green, topic))
      assertRefused(s, "cluster 'blue'", "CLUSTER_REPLACED", "the record at offset 9 has the time")
      s.orders(Entry("green", green, topic).replacing("blue"))
      assertRefused(s, "cluster 'green' replaces cluster 'blue'", "the record at offset 9 has the time")
    }
  }

  /** A checkpoint, whose bytes are those of a text because its numbers are small. */
  private def checkpoint(group: String, topic: String, partition: Int, upstream: Long, downstream: Long) = {
    def text(of: String) = ByteBuffer.allocate(2).putShort(of.length.toShort).array ++ of.getBytes(UTF_8)
    val key = text(group) ++ text(topic) ++ ByteBuffer.allocate(4).putInt(partition).array
    val value = ByteBuffer.allocate(20).putShort(0.toShort).putLong(upstream).putLong(downstream)
      .putShort(0.toShort).array
    Record(0, Some(new String(key, UTF_8)), new String(value, UTF_8))
  }

  test("mirror-maker: by the checkpoints, with the alias and the names of topics of the query") {
    val (group, alias) = (newTopic("group"), newTopic("old"))
    val options = Seq(
      "replacedClusterPolicy" -> "mirror-maker",
      "mirrorMakerSourceAlias" -> alias,
      "mirrorMakerReplicationPolicy" -> "identity",
      "commitOffsets" -> "true",
      "commitGroupId" -> group
    )
    failedOver(from = -4, options: _*) { (s, topic) =>
      s.orders(Entry("blue", green, topic))
      val checkpoints = s"$alias.checkpoints.internal"
      assertRefused(s, "CLUSTER_REPLACED", s"the new cluster has no topic '$checkpoints'")
      green.createTopic(checkpoints, 1)
      green.produce(
        checkpoints,
        Seq(
          checkpoint(group, topic, 0, 8, 9),
          checkpoint(group, topic, 1, 10, 12),
          checkpoint(group, topic, 0, 11, 13),
          checkpoint("other", topic, 0, 10, 12)
        )
      )
      assert(assertDone(s, "blue", options) == Map(0 -> 9L, 1 -> 12L))
    }
  }

  test("a query that fails by its policy") {
    failedOver(from = -4) { (s, topic) =>
      s.orders(Entry("blue", green, topic))
      assertRefused(s, "another Kafka cluster", "CLUSTER_REPLACED")
      s.orders(Entry("green", green, topic).replacing("blue"))
      assertRefused(s, "cluster 'green' replaces cluster 'blue'", "CLUSTER_REPLACED")
    }
  }
}
