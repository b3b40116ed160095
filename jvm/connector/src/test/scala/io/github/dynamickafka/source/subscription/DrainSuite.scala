package io.github.dynamickafka.source.subscription

import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}

import io.github.dynamickafka.offset.Positions
import io.github.dynamickafka.source.{Entry, Hold, Queries, Query}
import io.github.dynamickafka.testkit.TestAll

/** What is read to its end before it is removed: `draining`, or `removedClusterPolicy=drain`. */
class DrainSuite extends Queries {

  private val slowly = "maxOffsetsPerTrigger" -> "2"
  private val drain = "removedClusterPolicy" -> "drain"

  /**
   * A query that drains blue, with 16 records left, and is blocked in its first batch; its target; and the block.
   * Records after the target have already been written.
   */
  private def draining(
      s: Query,
      topic: String,
      left: Seq[Entry],
      more: (String, String)*
  ): (StreamingQuery, Positions, Hold) = {
    produce(blue, topic, 2, values("read", 4))
    s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
    s.catchUp(more: _*)
    produce(blue, topic, 2, values("drained", 16))
    s.orders(left: _*)
    val held = s.hold()
    val query = s.start(slowly +: more: _*)
    eventually(assert(s.logged.draining.contains("blue")))
    val target = s.logged.draining("blue")
    assert(target.of(topic).values.sum == 20L && !s.logged.retained.contains("blue"))
    produce(blue, topic, 2, values("late", 6))
    held.await()
    (query, target, held)
  }

  private def upToTarget(topic: String) =
    stored("blue", blue, topic).filterNot(_.value.startsWith("late"))

  for {
    (how, left, options) <- Seq[(String, String => Seq[Entry], Seq[(String, String)])](
      (
        "state draining",
        topic => Seq(Entry("blue", blue, topic).draining, Entry("green", green, topic)),
        Nil
      ),
      (
        "removedClusterPolicy=drain",
        topic => Seq(Entry("green", green, topic)),
        Seq(drain)
      )
    )
  } {
    // A cluster drains by the same steps, whatever the reason.

    test(s"$how: read up to the end offsets of that moment over several batches, then retired") {
      scene { s =>
        val topic = newTopicOn(2, blue, green)
        val (query, target, held) = draining(s, topic, left(topic), options: _*)
        held.release()
        eventually(assert(s.logged.retained.keySet == Set("blue")))
        assert(s.logged.retained("blue").positions == target)
        assert(s.logged.draining.isEmpty && s.logged.clusters.keySet == Set("green"))
        settle(query)
        assertSame(s.seen, upToTarget(topic))
        assert(s.sizes.drop(1).max == 2, "limits apply")
      }
    }

    test(s"$how: a restart in the middle keeps the target", TestAll) {
      scene { s =>
        val topic = newTopicOn(2, blue, green)
        val (query, target, held) = draining(s, topic, left(topic), options: _*)
        // Like a crash before the batch is committed.
        query.stop()
        held.release()
        assert(s.logged.draining == Map("blue" -> target) && !s.isFinished)
        produce(blue, topic, 2, values("late-too", 4))
        val again = s.start(slowly +: options: _*)
        eventually(assert(s.logged.retained.contains("blue")))
        assert(s.logged.retained("blue").positions == target)
        settle(again)
        assertSame(s.seen, upToTarget(topic))
      }
    }

    test(s"$how: active again cancels the target, and reading continues", TestAll) {
      scene { s =>
        val topic = newTopicOn(2, blue, green)
        val (query, _, held) = draining(s, topic, left(topic), options: _*)
        s.change(Entry("blue", blue, topic), Entry("green", green, topic))
        held.release()
        settle(query)
        assertSame(s.seen, stored("blue", blue, topic))
        assert(s.logged.draining.isEmpty && s.logged.retained.isEmpty)
      }
    }

    test(s"$how: a partition that is added meanwhile is read once the cluster is active again", TestAll) {
      scene { s =>
        val topic = newTopicOn(2, blue, green)
        val (query, _, held) = draining(s, topic, left(topic), options: _*)
        blue.addPartitions(topic, 3)
        produce(blue, topic, 3, values("late-added", 6))
        held.release()
        eventually(assert(s.logged.retained.contains("blue")))
        settle(query)
        assertSame(s.seen, upToTarget(topic))
        s.change(Entry("blue", blue, topic), Entry("green", green, topic))
        settle(query)
        assertSame(s.seen, stored("blue", blue, topic))
      }
    }

    test(s"$how: AvailableNow drains and retires within its run", TestAll) {
      scene { s =>
        val topic = newTopicOn(2, blue, green)
        produce(blue, topic, 2, values("a", 4))
        s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
        s.catchUp(options: _*)
        produce(blue, topic, 2, values("b", 6))
        s.orders(left(topic): _*)
        s.catchUp(slowly +: options: _*)
        assertSame(s.seen, stored("blue", blue, topic))
        s.catchUp(slowly +: options: _*)
        assert(s.logged.retained.keySet == Set("blue"))
      }
    }
  }

  private def drainsAway(retention: String)(body: (Query, String, StreamingQuery) => Unit): Unit =
    scene { s =>
      val topic = newTopicOn(2, blue, green)
      produce(blue, topic, 2, values("a", 4))
      val stays = Entry("green", green, topic)
      s.orders(Entry("blue", blue, topic).draining, stays)
      val options = Seq("streamMetadataRemovedClusterRetentionMs" -> retention)
      val query = s.start(options: _*)
      eventually(assert(s.logged.clusters.keySet == Set("green")))
      produce(blue, topic, 2, values("late", 4))
      s.service.awaitAnswers()
      settle(query)
      assertSame(s.seen, stored("blue", blue, topic).filterNot(_.value.startsWith("late")))
      body(s, topic, query)
    }

  test("a drained cluster is not read while it is still draining, and resumes exactly once active") {
    drainsAway("-1") { (s, topic, query) =>
      query.stop()
      val again = s.start()
      settle(again)
      assert(s.seen.size == 4, "a restart does not read it again")
      s.change(Entry("blue", blue, topic), Entry("green", green, topic))
      settle(again)
      assertSame(s.seen, stored("blue", blue, topic))
    }
  }

  for (retention <- Seq("0", "300"))
    test(s"a drained cluster that is still draining is not read again after its retention of $retention") {
      drainsAway(retention) { (s, topic, query) =>
        // A batch of its own logs that the offsets have expired.
        eventually(assert(s.logged.retained.forall(_._2.positions.isEmpty)))
        produce(green, topic, 2, values("g", 2))
        settle(query)
        assert(s.seen.count(_.cluster == "blue") == 4, "it was not removed and added again")
        assert(
          s.logged.retained.forall(_._2.positions.isEmpty),
          "its offsets have expired"
        )
        s.change(Entry("blue", blue, topic), Entry("green", green, topic))
        settle(query)
        assert(s.seen.count(_.cluster == "blue") == 12, "now it is a new cluster")
      }
    }

  test("a cluster that is draining when the query first starts is read to its end") {
    scene { s =>
      val topic = newTopicOn(2, blue)
      produce(blue, topic, 2, values("a", 10))
      s.orders(Entry("blue", blue, topic).draining)
      val held = s.hold()
      val query = s.start(slowly)
      eventually(assert(s.logged.draining.contains("blue")))
      produce(blue, topic, 2, values("late", 10))
      held.release()
      eventually(assert(s.logged.retained.contains("blue")))
      settle(query)
      assertSame(s.seen, upToTarget(topic))
    }
  }

  test("one topic of a cluster drains while another one is read") {
    scene { s =>
      val (kept, leaving) = (newTopicOn(1, blue), newTopicOn(1, blue))
      s.orders(Entry("blue", blue, kept, leaving))
      val options = Seq(drain, slowly)
      s.catchUp(options: _*)
      produce(blue, leaving, 1, values("drained", 8))
      s.orders(Entry("blue", blue, kept))
      val held = s.hold()
      val query = s.start(options: _*)
      eventually(assert(s.logged.draining.get("blue").exists(_.topics == Set(leaving))))
      produce(blue, leaving, 1, values("late", 4))
      produce(blue, kept, 1, values("kept", 4))
      held.release()
      eventually(assert(s.logged.retained.contains("blue")))
      settle(query)
      assertSame(
        s.seen,
        stored("blue", blue, kept) ++ stored("blue", blue, leaving).filterNot(_.value.startsWith("late"))
      )
    }
  }

  /** A query has read two topics of blue with `AvailableNow`. One of them is removed and deleted while it is stopped. */
  private def deletedWhileStopped(again: (Query, String) => Unit)(body: (Query, String) => Unit): Unit =
    scene { s =>
      val (kept, deleted) = (newTopicOn(1, blue), newTopicOn(1, blue))
      Seq(kept, deleted).foreach(produce(blue, _, 1, values("a", 4)))
      s.orders(Entry("blue", blue, kept, deleted))
      s.catchUp(drain)
      again(s, deleted)
      s.orders(Entry("blue", blue, kept))
      blue.deleteTopic(deleted)
      produce(blue, kept, 1, values("b", 2))
      body(s, kept)
    }

  test("a topic that was read to its end is removed and deleted between two runs of AvailableNow", TestAll) {
    deletedWhileStopped((_, _) => ()) { (s, kept) =>
      s.catchUp(drain)
      s.catchUp(drain)
      assertSame(s.seen.filter(_.topic == kept), stored("blue", blue, kept))
      assert(s.seen.size == 10 && s.logged.position("blue").topics == Set(kept))
    }
  }

  test("a topic with unread records is removed and deleted while the query is stopped: data loss", TestAll) {
    deletedWhileStopped { (s, deleted) =>
      val query = s.start(drain, "minOffsetsPerTrigger" -> "1000", "maxTriggerDelay" -> "1h")
      settle(query)
      produce(blue, deleted, 1, values("unread", 3))
      eventually(assert(s.metrics(query).get("pendingRecords").contains("3")))
      query.stop()
    } { (s, kept) =>
      (1 to 2).foreach { _ =>
        val e = refused(s.start(Trigger.AvailableNow(), drain))
        assert(condition(e) == "DATA_LOSS" && text(e).contains("has not finished reading it"), text(e))
      }
      s.catchUp(drain, "failOnDataLoss" -> "false")
      s.catchUp(drain)
      assertSame(s.seen.filter(_.topic == kept), stored("blue", blue, kept))
    }
  }
}
