package io.github.dynamickafka.source.cluster

import java.io.RandomAccessFile
import java.nio.file.{Files, Path}
import java.util.concurrent.{CompletableFuture, Executors, ForkJoinPool, TimeUnit}

import scala.collection.immutable.SortedMap
import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, ExecutionContext, Future}
import scala.sys.process.Process

import org.apache.kafka.common.TopicPartition
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.github.dynamickafka.base.{Clock, ManualClock}
import io.github.dynamickafka.config.Options
import io.github.dynamickafka.kafka.{ClusterClients, ClusterRequests, Opening}
import io.github.dynamickafka.offset.{ClusterView, CompositeOffset, Positions}
import io.github.dynamickafka.testkit.TimeLimit

/** Clients that hang while they are opened, because a file of theirs cannot be read: here a named pipe without a writer. */
class HangingClientSuite extends AnyFunSuite with TimeLimit with Eventually {
  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(60, Seconds), interval = Span(5, Millis))

  private val question = ClusterQuestion(Set("t"), Positions.from(Seq(("t", 0, 4L))), Map.empty)

  private def properties(pipe: Path) = Map(
    "bootstrap.servers" -> "127.0.0.1:1",
    "security.protocol" -> "SSL",
    "ssl.truststore.type" -> "PKCS12",
    "ssl.truststore.location" -> pipe.toString
  )

  /** The client of blue hangs until the body has ended. */
  private def withPipe(body: Path => Unit): Unit = {
    val folder = Files.createTempDirectory("pipe")
    val pipe = folder.resolve("keys")
    assert(Process(Seq("mkfifo", pipe.toString)).! == 0)
    try body(pipe)
    finally {
      // Ends the threads that wait for a writer, and does not wait for a reader.
      new RandomAccessFile(pipe.toFile, "rw").close()
      Files.delete(pipe)
      Files.delete(folder)
    }
  }

  private def streams(pipe: Path, green: ScriptedCluster, skip: Boolean, limitMs: Long) = {
    val options = Options.parse(
      "clusterRequestTimeoutMs" -> limitMs.toString,
      "commitOffsets" -> "true",
      "commitGroupId" -> "g"
    )
    val config = ClusterConfigs(options, Set("blue", "green"))
    val all = new ClusterStreams(
      (id, config) =>
        new ClusterStream(
          id,
          config,
          Clock.System,
          if (id == "blue") ClusterClients.OfDriver else green.clients
        ),
      skip,
      failureTimeoutMs = -1,
      Clock.System,
      maxAgeMs = 1000L
    )
    all.set(Map(
      "blue" -> config("blue", properties(pipe)),
      "green" -> config("green", Map("bootstrap.servers" -> "h:1"))
    ))
    all
  }

  /** Fails if the thread of the query does not return. */
  private def returns[A](within: Int)(body: => A): A = {
    val thread = Executors.newSingleThreadExecutor()
    try Await.result(Future(body)(ExecutionContext.fromExecutor(thread)), within.seconds)
    finally thread.shutdownNow()
  }

  private def reached(offset: Long) = CompositeOffset(
    SortedMap.from(Seq("blue", "green").map(_ -> Positions.from(Seq(("t", 0, offset)))))
  )
  private val answer = ClusterView.Reachable(Positions.empty, Positions.empty)

  test("skip: the other cluster is read, group commits are queued, and closing ends") {
    withPipe { pipe =>
      val green = ScriptedCluster.led(1)
      val all = streams(pipe, green, skip = true, limitMs = 1000)
      val questions = Map("blue" -> question, "green" -> question)
      (1 to 20).foreach { i =>
        green.ends = Map(("t", 0) -> (10L + i))
        val views = returns(20)(all.ask(questions, _ => false).get)
        assert(views("blue") == ClusterView.Unreachable)
        assert(views("green").isInstanceOf[ClusterView.Reachable])
      }
      val counter = new CommitCounter
      (1 to 3).foreach(i =>
        returns(20)(Seq("blue", "green").foreach(
          all.commit(_, reached(i.toLong), answer, counter)
        ))
      )
      returns(20)(all.close())
    }
  }

  test("fail: commits do not block, and the error names the time limit") {
    withPipe { pipe =>
      val all = streams(pipe, ScriptedCluster.led(1), skip = false, limitMs = 1000)
      returns(20)(all.commit("blue", reached(1L), answer, new CommitCounter))
      val e = returns(20)(intercept[RuntimeException](all.ask(Map("blue" -> question), _ => false)))
      assert(e.getMessage.contains("'blue'") && e.getMessage.contains("1000 ms"), e.getMessage)
      returns(20)(all.close())
    }
  }

  test("a probe of silent leaders neither waits for its client nor opens another one meanwhile") {
    withPipe { pipe =>
      val clock = new ManualClock
      val options = Options.parse("clusterRequestTimeoutMs" -> "1000")
      val config = ClusterConfigs(options, Set("blue"))("blue", Map("bootstrap.servers" -> "h:1"))
      @volatile var opened = 0
      val leaders = new SilentLeaders(
        new ClusterClients(_ =>
          Opening[ClusterRequests] {
            opened += 1
            Files.readAllBytes(pipe)
            throw new IllegalStateException("not made")
          }(_.close())
        ),
        config,
        clock
      )
      val silent = Map(new TopicPartition("t", 0) -> Unanswered(Some(1), "frozen"))
      leaders.found(silent)
      def remain() = assert(returns(20)(leaders.current()) == silent)
      (1 to 20).foreach { _ =>
        remain()
        clock.advanceMs(TimeUnit.MINUTES.toMillis(1))
      }
      eventually(assert(opened == 1))
      // After the time limit of its requests as well, which is in real time.
      val limit = CompletableFuture.delayedExecutor(1200, TimeUnit.MILLISECONDS)
      CompletableFuture.runAsync(() => (), limit).join()
      remain()
      returns(20)(leaders.close())
    }
  }

  test("a client that is made late sends nothing of attempts that have been given up meanwhile") {
    val kafka = new ScriptedCluster
    kafka.leaders = Map(("t", 0) -> Some(1))
    kafka.byTime = Map(("t", 0) -> 4L)
    val config = ClusterConfigs(Options.parse("clusterRequestTimeoutMs" -> "20000"), Set("blue"))(
      "blue",
      Map("bootstrap.servers" -> "h:1")
    )
    val made = new CompletableFuture[ClusterRequests]
    val clients = new ClusterClients(_ => new Opening(made)(_.close()))
    val stream = new ClusterStream("blue", config, Clock.System, clients)
    val asked = stream.times(Map(new TopicPartition("t", 0) -> 0L), ForkJoinPool.commonPool)
    // An attempt takes 4500 ms, and the next one begins after 250 ms.
    val later = CompletableFuture.delayedExecutor(config.attemptMs, TimeUnit.MILLISECONDS)
    CompletableFuture.runAsync(() => (), later).join()
    assert(!asked.isDone)
    made.complete(kafka.requests())
    assert(asked.get(20, TimeUnit.SECONDS).values.map(_.offset).toSeq == Seq(4L))
    assert(kafka.timeRequests.get == 1)
    returns(20)(stream.close())
  }
}
