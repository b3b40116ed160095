package io.github.dynamickafka.source.realtime

import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}

import io.github.dynamickafka.source.{Entry, HistoryTest}

/** Real-time mode reads Kafka only, so a history has to be read before. */
class RealTimeHistorySuite extends RealTimeTest with HistoryTest {

  /** Expects that a query in real-time mode is refused when it starts, and hands no row over. */
  private def assertRefused(start: => StreamingQuery, rows: HandedRows): Unit = {
    val e = refused(start)
    assert(condition(e) == "INVALID_OPTION")
    Seq("history", "orders", "real-time", "pendingHistoryFiles").foreach(part =>
      assert(text(e).contains(part), text(e))
    )
    assert(rows.seen.isEmpty)
    ()
  }

  test("a query whose history is not read completely is refused by name, and runs once its files are read") {
    twoClusters() { (s, topic, all, path) =>
      handedRows(s) { rows =>
        s.service.histories = history(path)
        assertRefused(rows.start(s.frame()), rows)
        s.inBatch = id => if (id == 1) throw new IllegalStateException("as a crash")
        val query = s.start(Trigger.AvailableNow(), "historyFilesPerTrigger" -> "1")
        eventually(assert(!query.isActive))
        s.inBatch = _ => ()
        assertRefused(rows.start(s.frame()), rows)
        s.catchUp("historyFilesPerTrigger" -> "1")
        assertSame(s.seen, all)
        rows.start(s.frame(), "1 second")
        produce(blue, topic, 2, values("later", 2))
        waitFor("rows")(rows.seen.size == 2)
        assert(rows.seen.map(_.value).toSet == values("later", 2).toSet)
      }
    }
  }

  test("a query that has read its files and nothing of Kafka yet continues in real-time mode") {
    scene { s =>
      val topic = newTopicOn(2, blue, green)
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      Seq(blue, green).foreach(produce(_, topic, 2, values("old", 6)))
      write(archived(s), s.folder.resolve("archive"))
      s.service.histories = history(s.folder.resolve("archive"))
      val old = storedOnBoth(topic)
      s.catchUp()
      assertSame(s.seen, old)
      assert(s.logged.history.nonEmpty, "no batch of Kafka")
      handedRows(s) { rows =>
        rows.start(s.frame(), "1 second")
        produce(green, topic, 2, values("later", 4))
        waitFor("rows")(rows.seen.size == 4)
        assert(rows.seen.map(_.value).toSet == values("later", 4).toSet)
        eventually(assert(rows.log("commits").map(rows.logged).lastOption.exists(_.history.isEmpty)))
      }
    }
  }
}
