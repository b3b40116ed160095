package io.github.dynamickafka.metadata.watch

import java.io.FileNotFoundException

import scala.collection.immutable.SortedMap
import scala.util.Using

import org.apache.hadoop.fs.PathIsDirectoryException

import io.github.dynamickafka.config.{DiscoveryOptions, Subscription}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.Streams._
import io.github.dynamickafka.metadata.{ScriptedService, Topology, TopologyCluster, TopologyTopic}

/** The first answer of a run: at a first start, and at a restart with the topology of the checkpoint. */
class MetadataWatcherStartSuite extends WatcherTest {

  test("a first start retries up to the threshold, then fails with the last cause") {
    val service = new ScriptedService(() => Seq.empty)
    service.throws(new IllegalStateException("no database", new RuntimeException("no route")))
    watching(service, intervalMs = Never) { watcher =>
      val e = unavailable(watcher.awaitFirst())
      Seq("'scripted'", "consecutive failures: 4", "no database", "no route").foreach(s =>
        assert(e.getMessage.contains(s))
      )
      assert(e.getCause.getMessage == "no database")
      // Polling continues, which shows whether the failure is over.
      assert(service.calls.get >= 4)
      assert(watcher.current.fatal.exists(_.getMessage.contains("no database")))
    }
  }

  test("a first start tolerates failures within the threshold") {
    val service = new ScriptedService(() => Seq.empty)
    service.throws {
      if (service.calls.get == 3) service.answers(one)
      new IllegalStateException("not yet")
    }
    watching(service, intervalMs = Never) { watcher =>
      assert(ids(watcher.awaitFirst()) == Seq("blue"))
      assert(watcher.current.consecutiveFailures == 0)
    }
  }

  for {
    intervalMs <- Seq(Never, -1L)
    (mistake, answer) <- Seq[(String, ScriptedService => Unit)](
      "a stream that is missing" -> (_.answers(stream("order", "blue" -> cluster("a")))),
      "a document that is invalid" ->
        (_.throws(Errors.metadataInvalid("file streams.yaml, line 3", "a tab is not allowed"))),
      "a path that is a directory" -> (_.throws(new PathIsDirectoryException("streams"))),
      "a path that does not exist" ->
        (_.throws(new RuntimeException(new FileNotFoundException("nowhere.yaml does not exist"))))
    )
  } test(s"interval $intervalMs: $mistake fails a first start at once") {
    val service = new ScriptedService(() => Seq.empty)
    answer(service)
    watching(service, intervalMs, threshold = 100) { watcher =>
      val text = unavailable(watcher.awaitFirst()).getMessage
      assert(text.contains("failed (consecutive failures: 1)"), text)
      assert(
        Seq("Did you mean 'order'?", "line 3", "nowhere.yaml", "Is a directory").count(text.contains(_)) == 1,
        text
      )
    }
  }

  test("a stream that a running query misses is an outage, and no other stream is suggested") {
    val service = new ScriptedService(() => Seq(one))
    watching(service, threshold = 1000) { watcher =>
      watcher.awaitFirst()
      service.answers(stream("order", "blue" -> cluster("a")))
      eventually(assert(watcher.current.consecutiveFailures > 2))
      assert(watcher.current.fatal.isEmpty && current(watcher) == Seq("blue"))
    }
  }

  test("a query that writes fails at once too, unless an earlier run has written") {
    for ((earlier, failures) <- Seq(Set.empty[String] -> 1, Set("blue") -> 4)) {
      val service = new ScriptedService(() => Seq.empty)
      service.answers(stream("order", "blue" -> cluster("a")))
      val discovery = DiscoveryOptions(Soon, 3, Never, allowMissingStreams = false)
      Using.resource(MetadataWatcher.forWriting(
        service,
        Subscription.Ids(Seq("orders")),
        discovery,
        "scripted",
        earlier = earlier
      )) { watcher =>
        val text = unavailable(watcher.awaitFirst()).getMessage
        assert(
          text.contains(s"failed (consecutive failures: $failures)") && text.contains(
            "Did you mean 'order'?"
          ),
          text
        )
      }
    }
  }

  test("a restart tolerates what fails a first start") {
    val service = new ScriptedService(() => Seq.empty)
    service.throws(new FileNotFoundException("nowhere.yaml does not exist"))
    watching(service) { watcher =>
      assert(watcher.awaitFirstAttempt().isEmpty)
      service.answers(one)
      eventually(assert(current(watcher) == Seq("blue")))
    }
  }

  test("without polling a first start makes five attempts, and no call follows") {
    val service = new ScriptedService(() => Seq.empty)
    service.throws(new IllegalStateException("down"))
    watching(service, intervalMs = -1, threshold = 100) { watcher =>
      assert(unavailable(watcher.awaitFirst()).getMessage.contains("consecutive failures: 5"))
      assert(service.calls.get == 5)
    }
    val well = new ScriptedService(() => Seq(one))
    watching(well, intervalMs = -1)(watcher => assert(ids(watcher.awaitFirst()) == Seq("blue")))
    assert(well.calls.get == 1)
  }

  test("a restart waits for the first attempt, whatever its result") {
    val service = new ScriptedService(() => Seq.empty)
    service.throws(new IllegalStateException("down"))
    watching(service) { watcher =>
      assert(watcher.awaitFirstAttempt().isEmpty)
      assert(watcher.current.consecutiveFailures >= 1)
      service.answers(one)
      eventually(assert(current(watcher) == Seq("blue")))
      assert(watcher.awaitFirstAttempt().map(ids).contains(Seq("blue")))
    }
  }

  private def before(ids: String*) = Topology(
    SortedMap.from(ids.map(id =>
      id -> TopologyCluster(
        id,
        SortedMap("a" -> TopologyTopic("orders")),
        Map("bootstrap.servers" -> "b:9092")
      )
    ))
  )

  for (intervalMs <- Seq(Never, -1L))
    test(
      s"interval $intervalMs: a restart whose first answer removes something waits until it is confirmed"
    ) {
      val service = new ScriptedService(() => Seq(one))
      watching(service, intervalMs, confirmations = 4) { watcher =>
        assert(watcher.awaitFirstAttempt(Some(before("blue", "green"))).map(ids).contains(Seq("blue")))
        assert(service.calls.get == 4)
      }
    }

  test("a restart whose first answer lacks too many clusters uses the checkpoint, up to the threshold") {
    val service = new ScriptedService(() => Seq(one))
    watching(service) { watcher =>
      assert(watcher.awaitFirstAttempt(Some(before("blue", "green", "red", "white"))).isEmpty)
      eventually(assert(watcher.current.fatal.isDefined))
      val text = watcher.current.fatal.map(_.getMessage).getOrElse("")
      Seq("METADATA_UNAVAILABLE", "green, red, white", "maxRemovedClustersPerChange").foreach(s =>
        assert(text.contains(s), text)
      )
    }
  }

  test("failures at a restart count towards the threshold") {
    val service = new ScriptedService(() => Seq.empty)
    service.throws(new IllegalStateException("down"))
    watching(service) { watcher =>
      assert(watcher.awaitFirstAttempt().isEmpty)
      eventually(assert(watcher.current.fatal.isDefined))
      assert(watcher.current.consecutiveFailures >= 4)
    }
  }

  test("a restart without polling makes five attempts, and their failure is not fatal") {
    val service = new ScriptedService(() => Seq.empty)
    service.throws(new IllegalStateException("down"))
    watching(service, intervalMs = -1) { watcher =>
      assert(watcher.awaitFirstAttempt().isEmpty)
      assert(service.calls.get == 5)
      assert(watcher.current.fatal.isEmpty)
    }
  }

  test("a call that hangs at a first start and at a restart") {
    val first = new ScriptedService(() => Seq(one))
    val hung = first.hangs()
    watching(first, intervalMs = Never, callTimeoutMs = 20) { watcher =>
      assert(unavailable(watcher.awaitFirst()).getMessage.contains("consecutive failures: 4"))
    }
    hung.countDown()
    val again = new ScriptedService(() => Seq(one))
    val hungAgain = again.hangs()
    watching(again, intervalMs = Never, callTimeoutMs = 20) { watcher =>
      assert(watcher.awaitFirstAttempt().isEmpty)
      assert(watcher.current.consecutiveFailures == 1)
    }
    hungAgain.countDown()
  }
}
