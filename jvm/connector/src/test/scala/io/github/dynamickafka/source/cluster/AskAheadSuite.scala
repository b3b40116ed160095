package io.github.dynamickafka.source.cluster

import java.util.concurrent.TimeUnit

import scala.collection.immutable.SortedMap
import scala.util.{Success, Try}

import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.config.Options
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.OffsetsPolicy
import io.github.dynamickafka.offset.{ClusterView, Ending, Positions, TopicOffsets}
import io.github.dynamickafka.source.Logs
import io.github.dynamickafka.testkit.TimeLimit

/** Clusters that are asked ahead of the triggers. `blue` is the one that does not respond. */
class AskAheadSuite extends AnyFunSuite with TimeLimit with Eventually {
  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(60, Seconds), interval = Span(5, Millis))

  private val MaxAgeMs = 300L

  private final class World(limitMs: Long, skip: Boolean, maxAgeMs: Long = MaxAgeMs) extends AutoCloseable {
    val (blue, green) = (ScriptedCluster.led(1), ScriptedCluster.led(1))
    private val clusters = Map("blue" -> blue, "green" -> green)
    private val options = Options.parse("clusterRequestTimeoutMs" -> limitMs.toString)
    private val config = ClusterConfigs(options, clusters.keySet)
    val streams = new ClusterStreams(
      (id, config) =>
        new ClusterStream(
          id,
          config,
          Clock.System,
          clusters(id).clients
        ),
      skipUnreachable = skip,
      failureTimeoutMs = -1,
      Clock.System,
      maxAgeMs
    )
    streams.set(clusters.map { case (id, _) => id -> config(id, Map("bootstrap.servers" -> "h:1")) })

    def trigger(question: ClusterQuestion = reads(4L)): Map[String, ClusterView] =
      streams.ask(Map("blue" -> question, "green" -> question), _ => false).get

    def freeze(): Unit = {
      blue.describes = _ => false
      blue.silent = Set(1)
    }
    def thaw(): Unit = {
      blue.describes = _ => true
      blue.silent = Set.empty
    }

    override def close(): Unit = streams.close()
  }

  private def world(limitMs: Long, skip: Boolean, maxAgeMs: Long = MaxAgeMs)(body: World => Any): Unit = {
    val w = new World(limitMs, skip, maxAgeMs)
    try { val _ = body(w) }
    finally w.close()
  }

  private def reads(at: Long) = ClusterQuestion(Set("t"), Positions.from(Seq(("t", 0, at))), Map.empty)
  private def end(view: ClusterView): Option[Long] = view match {
    case found: ClusterView.Reachable => found.ends.get("t", 0)
    case _ => None
  }
  private def endsAt(o: Long) = Map(("t", 0) -> o)
  private def msSince(nanos: Long) = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - nanos)

  /** What is logged about the silence of blue. */
  private def warnings(body: => Any): Seq[String] =
    Logs.during(classOf[ClusterStreams])(
      body
    ).filter(_.startsWith("Kafka cluster 'blue' (h:1) has not responded"))

  test("fail: a frozen cluster ends the query after its limit, and until then the other cluster is read") {
    world(limitMs = 6000, skip = false) { w =>
      assert(w.trigger().values.forall(end(_).contains(10L)))
      w.freeze()
      val from = System.nanoTime()
      var slowest = 0L
      var without = 0
      var ofGreen = from
      val warned = warnings {
        val error = intercept[Errors.Runtime] {
          while (true) {
            val one = System.nanoTime()
            w.green.ends = endsAt(10L + msSince(from))
            val views = w.trigger()
            slowest = math.max(slowest, msSince(one))
            // On a busy machine its response may be late for a trigger.
            if (end(views("green")).isDefined) ofGreen = System.nanoTime()
            assert(msSince(ofGreen) < 3000, "the other cluster is read")
            if (views("blue") == ClusterView.Pending) without += 1
            Thread.sleep(10)
          }
        }
        assert(error.getMessage.contains("blue") && error.getMessage.contains("6000"), error.getMessage)
      }
      val ending = "other clusters, and fails if the cluster does not respond within 6000 ms"
      assert(warned.size == 1 && warned.head.endsWith(ending), warned)
      assert(msSince(from) >= 5000 && without > 10, s"$without")
      assert(slowest < 3000, s"no trigger waits for it: $slowest ms")
    }
  }

  test("skip: a frozen cluster is left out at once, counts as unreachable after its limit, and returns") {
    world(limitMs = 2000, skip = true) { w =>
      assert(w.trigger().values.forall(end(_).contains(10L)))
      w.freeze()
      val warned = warnings {
        eventually(assert(w.trigger()("blue") == ClusterView.Pending))
        assert(w.streams.unreachable.isEmpty)
        eventually {
          val views = w.trigger()
          assert(views("blue") == ClusterView.Unreachable && end(views("green")).isDefined)
        }
      }
      assert(warned.size == 1 && warned.head.endsWith("other clusters"), warned)
      assert(w.streams.unreachable == Set("blue"))
      w.thaw()
      w.blue.ends = endsAt(30L)
      eventually(assert(end(w.trigger()("blue")).contains(30L)))
      assert(w.streams.unreachable.isEmpty)
    }
  }

  test("a cluster that does not respond is not waited for with another question either") {
    world(limitMs = 600000, skip = true) { w =>
      w.trigger()
      w.freeze()
      eventually {
        w.trigger()
        assert(w.streams.isLate("blue"))
      }
      val from = System.nanoTime()
      val views = w.trigger(reads(4L).copy(when = ClusterQuestion.Afterwards))
      assert(views("blue") == ClusterView.Pending && end(views("green")).isDefined)
      assert(msSince(from) < 60000)
    }
  }

  test("clients close while requests are pending, whose failure their cluster takes") {
    val w = new World(limitMs = 600000, skip = true)
    w.trigger()
    w.freeze()
    eventually(assert(w.trigger()("blue") == ClusterView.Pending))
    w.close()
    eventually(assert(w.blue.closed.get == w.blue.opened.get))
    assert(w.blue.stuck.get == 0)
  }

  /** What would be lost or wrong with an older response is asked for, and waited for, when it comes up. */
  private def afterwards(name: String, question: ClusterQuestion): Unit =
    test(s"asked afterwards: $name") {
      world(limitMs = 600000, skip = false, maxAgeMs = 600000) { w =>
        (1 to 3).foreach(_ => w.trigger())
        w.blue.ends = endsAt(20L)
        assert(end(w.trigger(question)("blue")).contains(20L))
        assert(w.streams.times.earlier.intersect(Set("blue")).isEmpty)
      }
    }

  private val ending =
    Ending(Some(OffsetsPolicy.Latest), "latest", TopicOffsets(None, SortedMap.empty[Int, Long]))
  afterwards("a batch read, a first start, AvailableNow", reads(4L).copy(complete = true))
  afterwards("a topic that enters", reads(4L).copy(entering = Map("t" -> OffsetsPolicy.Latest)))
  afterwards("an end at latest", reads(4L).copy(ending = Map("t" -> ending)))
  afterwards("drain targets, metadata that have changed", reads(4L).copy(when = ClusterQuestion.Afterwards))
  afterwards("other partitions", reads(4L).copy(only = Map("t" -> Set(0))))

  test("asked afterwards: what a trigger doubts, of one cluster") {
    world(limitMs = 600000, skip = false, maxAgeMs = 600000) { w =>
      // Nothing to read: the next requests are sent after a pause.
      eventually {
        w.trigger(reads(10L))
        assert(w.streams.times.earlier.contains("blue"))
      }
      w.blue.ends = endsAt(20L)
      val again = w.streams.askAfterwards(Map("blue" -> reads(4L)), _ => false).get
      assert(again.keySet == Set("blue") && end(again("blue")).contains(20L))
      assert(!w.streams.times.earlier("blue"))
    }
  }

  test("a steady question is asked ahead, and its response is used by the next trigger") {
    world(limitMs = 600000, skip = false, maxAgeMs = 600000) { w =>
      w.trigger()
      val before = w.blue.listings.get
      eventually {
        w.trigger()
        assert(w.blue.listings.get > before)
      }
      w.blue.ends = endsAt(20L)
      eventually(assert(end(w.trigger()("blue")).contains(20L)))
      assert(w.streams.times.ages.keySet == Set("blue", "green"))
    }
  }

  test("a topic that does not exist is asked for ahead, and enters by a response that is waited for") {
    world(limitMs = 600000, skip = false, maxAgeMs = 600000) { w =>
      val question =
        reads(4L).copy(topics = Set("t", "later"), entering = Map("later" -> OffsetsPolicy.Latest))
      w.trigger(question)
      w.blue.delayMs = 1000L
      // A request of the same millisecond counts as one of this trigger.
      val asked = Clock.System.monotonicMs()
      eventually(assert(Clock.System.monotonicMs() > asked))
      w.trigger(question)
      assert(w.streams.times.earlier.contains("blue"), "the trigger has waited for a topic that is missing")
      w.blue.delayMs = 0L
      w.blue.ends += ("later", 0) -> 7L
      w.blue.leaders += ("later", 0) -> Some(1)
      eventually {
        w.trigger(question)("blue") match {
          case view: ClusterView.Reachable if !view.missing("later") =>
            assert(!w.streams.times.earlier("blue"), "an older response has decided where it enters")
            assert(view.entering.get("later", 0).contains(7L))
          case other => fail(other.toString)
        }
      }
    }
  }

  /** Triggers until blue has responded, which takes three seconds; green has something new in each one. */
  private def beside(w: World, ofBlue: ClusterQuestion): ClusterView = {
    val from = System.nanoTime()
    var (without, slowest, longest, ofGreen) = (0, 0L, 0L, from)
    val found = eventually {
      val one = System.nanoTime()
      w.green.ends = endsAt(10L + msSince(from))
      val views = Try(w.streams.ask(Map("blue" -> ofBlue, "green" -> reads(4L)), _ => false).get)
      slowest = math.max(slowest, msSince(one))
      if (views.toOption.flatMap(found => end(found("green"))).isDefined) ofGreen = System.nanoTime()
      longest = math.max(longest, msSince(ofGreen))
      val ofBlueNow = views.map(_("blue"))
      if (ofBlueNow == Success(ClusterView.Pending)) without += 1
      assert(ofBlueNow != Success(ClusterView.Pending))
      ofBlueNow
    }.get
    assert(longest < 2500, "the other cluster is read")
    assert(without > 10 && slowest < 2500, s"$without, $slowest ms")
    found
  }

  test("while a topic enters on a distant cluster, the other cluster is read") {
    world(limitMs = 600000, skip = false) { w =>
      w.trigger()
      w.blue.delayMs = 3000L
      w.blue.ends += ("later", 0) -> 7L
      w.blue.leaders += ("later", 0) -> Some(1)
      val question =
        reads(4L).copy(topics = Set("t", "later"), entering = Map("later" -> OffsetsPolicy.Latest))
      beside(w, question) match {
        case view: ClusterView.Reachable => assert(view.entering.get("later", 0).contains(7L))
        case other => fail(other.toString)
      }
    }
  }

  test("while a distant cluster enters, the other cluster is read") {
    world(limitMs = 600000, skip = false) { w =>
      w.streams.ask(Map("green" -> reads(4L)), _ => false)
      w.blue.delayMs = 3000L
      assert(end(beside(w, reads(4L))).contains(10L))
    }
  }

  test("a cluster that enters and does not respond fails the query after its limit") {
    world(limitMs = 2000, skip = false) { w =>
      w.streams.ask(Map("green" -> reads(4L)), _ => false)
      w.freeze()
      val error = intercept[Errors.Runtime](beside(w, reads(4L)))
      assert(error.getMessage.contains("blue"), error.getMessage)
    }
  }

  test("a cluster that fails after it has left, and enters again later, is asked again") {
    world(limitMs = 1000, skip = false) { w =>
      val green = Map("green" -> reads(4L))
      val both = green + ("blue" -> reads(4L))
      w.streams.ask(green, _ => false)
      w.freeze()
      assert(w.streams.ask(both, _ => false).get("blue") == ClusterView.Pending)
      val from = System.nanoTime()
      eventually {
        w.streams.ask(green, _ => false)
        assert(msSince(from) > 1500)
      }
      w.thaw()
      val found = eventually {
        val view = Try(w.streams.ask(both, _ => false).get("blue"))
        assert(view != Success(ClusterView.Pending))
        view
      }
      assert(end(found.get).contains(10L))
    }
  }

  test("with an age of 0 each trigger asks, and waits for all clusters") {
    world(limitMs = 600000, skip = false, maxAgeMs = 0) { w =>
      (1 to 20).foreach { i =>
        w.blue.ends = endsAt(10L + i)
        assert(end(w.trigger()("blue")).contains(10L + i) && w.streams.times.earlier.isEmpty)
      }
    }
  }
}
