package io.github.dynamickafka.source.trigger

import org.scalatest.Assertion

import io.github.dynamickafka.offset.CompositeOffset
import io.github.dynamickafka.source.{Entry, Queries, ScriptedRun}

/** A trigger decides with the topology with which it began, whatever the metadata service answers meanwhile. */
class TopologyChangeInTriggerSuite extends Queries {

  private def run(options: (String, String)*)(body: ScriptedRun => Assertion): Unit = {
    spark.version
    val scripted = new ScriptedRun(options: _*)
    try { val _ = body(scripted) }
    finally scripted.close()
  }

  private val onGreen = Entry.at("green", "g:1", "t")

  private def begin(r: ScriptedRun, entries: Entry*): CompositeOffset = {
    r.service.streams = Map("orders" -> entries)
    r.begin()
  }

  /** Returns when the connector uses these entries. */
  private def change(r: ScriptedRun, entries: Entry*): Unit = {
    r.service.streams = Map("orders" -> entries)
    r.service.awaitAnswers()
  }

  test("a cluster enters at its own start, also if it leaves the metadata while the trigger runs") {
    run("cluster.green.startingOffsets" -> "latest", "newClusterStartingOffsets" -> "earliest") { r =>
      def onBlue(servers: String) = Entry.at("blue", servers).matching("t")
      val start = begin(r, onBlue("b:1"))
      val moved = onBlue("b:2")
      change(r, moved, onGreen)
      r.onOpen = {
        // Opened again to list its topics, before the start of green is determined; green is opened afterwards.
        case "blue" => change(r, moved)
        case _ => change(r, moved, onGreen)
      }
      assert(r.next(start).entered("green").get("t", 0).contains(10L))
    }
  }

  for ((how, left) <- Seq("state draining" -> Seq(onGreen.draining), "removedClusterPolicy=drain" -> Nil))
    test(s"$how: the limit of a cluster applies until it is drained") {
      run("cluster.green.maxOffsetsPerTrigger" -> "2", "removedClusterPolicy" -> "drain") { r =>
        val onBlue = Entry.at("blue", "b:1", "t")
        val start = begin(r, onBlue, onGreen)
        change(r, onBlue +: left: _*)
        val ends = Iterator.iterate(start)(r.next).drop(1).take(5).toSeq
        assert(ends.map(_.position("green").get("t", 0)) == Seq(2L, 4L, 6L, 8L, 10L).map(Some(_)))
      }
    }
}
