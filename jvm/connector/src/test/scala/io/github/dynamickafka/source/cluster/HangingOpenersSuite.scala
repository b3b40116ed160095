package io.github.dynamickafka.source.cluster

import java.lang.reflect.{InvocationTargetException, Proxy}
import java.util.concurrent.{CountDownLatch, ExecutorService, Executors}

import scala.collection.immutable.SortedMap
import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, ExecutionContext, Future}
import scala.util.Random

import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.base.ManualClock
import io.github.dynamickafka.config.Options
import io.github.dynamickafka.kafka.{ClusterClients, ClusterRequests, Opening}
import io.github.dynamickafka.offset.{ClusterView, CompositeOffset, Positions}
import io.github.dynamickafka.testkit.TimeLimit

/**
 * Random histories of clusters whose clients hang while they are opened, asked or closed: no call of the thread of the query waits for
 * them, and all other clusters respond. A client hangs until a history releases it, however long the limits of this suite are.
 */
class HangingOpenersSuite extends AnyFunSuite with TimeLimit with Eventually {
  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(60, Seconds), interval = Span(5, Millis))

  private val Histories = 20
  private val Steps = 20
  private val ids = Seq("blue", "green", "red")
  private val question = ClusterQuestion(Set("t"), Positions.from(Seq(("t", 0, 4L))), Map.empty)
  private val options = Options.parse(
    // Longer than any response takes; a hanging client makes some triggers wait for as long.
    "clusterRequestTimeoutMs" -> "100",
    "commitOffsets" -> "true",
    "commitGroupId" -> "g"
  )

  private final class History(seed: Long) {
    private val random = new Random(seed)
    private val clock = new ManualClock
    private val kafka = ids.map(_ -> ScriptedCluster.led(1, 2)).toMap
    @volatile private var hanging, closing = Map.empty[String, CountDownLatch]
    private var addresses = ids.map(_ -> 1).toMap
    private var steps = Vector.empty[String]

    private def open(id: String): ClusterRequests = {
      hanging.get(id).foreach(_.await())
      val client = kafka(id).requests()
      Proxy.newProxyInstance(
        getClass.getClassLoader,
        Array(classOf[ClusterRequests]),
        (_, method, arguments) => {
          if (method.getName == "close") closing.get(id).foreach(_.await())
          try method.invoke(client, Option(arguments).toSeq.flatten: _*)
          catch { case e: InvocationTargetException => throw e.getCause }
        }
      ).asInstanceOf[ClusterRequests]
    }
    private val clients = new ClusterClients(properties =>
      Opening(open(properties("bootstrap.servers").takeWhile(_ != ':')))(_.close())
    )
    private val streams = new ClusterStreams(
      (id, config) =>
        new ClusterStream(id, config, clock, clients),
      skipUnreachable = true,
      failureTimeoutMs = -1,
      clock,
      maxAgeMs = 1000L
    )
    private val counter = new CommitCounter
    private val configs = ClusterConfigs(options, ids.toSet)
    private val query: ExecutorService = Executors.newSingleThreadExecutor()

    /** Fails if the thread of the query does not return. */
    private def returns[A](body: => A): A =
      try Await.result(Future(body)(ExecutionContext.fromExecutor(query)), 30.seconds)
      catch { case e: Exception => fail(s"DYNAMIC_KAFKA_SEED=$seed: ${steps.mkString("; ")}", e) }

    private def ask(): Map[String, ClusterView] =
      returns(streams.ask(ids.map(_ -> question).toMap, _ => false).get)

    private def set(): Unit = returns(streams.set(addresses.map { case (id, port) =>
      id -> configs(id, Map("bootstrap.servers" -> s"$id:$port"))
    }))

    private def release(id: String): Unit = {
      (hanging.get(id) ++ closing.get(id)).foreach(_.countDown())
      hanging -= id
      closing -= id
    }

    private def step(): Unit = {
      val id = ids(random.nextInt(ids.size))
      clock.advanceMs(random.nextInt(3000).toLong)
      random.nextInt(10) match {
        case 9 if !closing.contains(id) =>
          steps :+= s"hang closing $id"
          closing += id -> new CountDownLatch(1)
          // A new address closes the client of the cluster.
          addresses += id -> (addresses(id) + 1)
          set()
        case 0 | 1 if !hanging.contains(id) =>
          steps :+= s"hang $id"
          hanging += id -> new CountDownLatch(1)
          // The next client of the cluster hangs, and a new address needs one now.
          addresses += id -> (addresses(id) + 1)
          set()
        case 2 =>
          steps :+= s"release $id"
          release(id)
        case 3 =>
          steps :+= s"silence $id"
          kafka(id).silent = if (random.nextBoolean()) Set(1) else Set.empty
        case 4 =>
          steps :+= "commit"
          ids.foreach { id =>
            val reached = CompositeOffset(
              SortedMap(id -> Positions.from(Seq(("t", 0, random.nextInt(10).toLong))))
            )
            val answer = ClusterView.Reachable(Positions.empty, Positions.empty)
            returns(streams.commit(id, reached, answer, counter))
          }
        case 5 =>
          steps :+= "identities"
          val found = returns(streams.identities(ids.map(_ -> Set("t")).toMap))
          assert(found.keySet == ids.toSet)
        case 6 =>
          steps :+= "move"
          addresses += id -> (addresses(id) + 1)
          set()
        case _ =>
          steps :+= "ask"
          val _ = ask()
      }
    }

    def run(): Unit =
      try {
        set()
        (1 to Steps).foreach(_ => step())
        kafka.valuesIterator.foreach(_.silent = Set.empty)
        eventually {
          clock.advanceMs(60000)
          val silent = ask().collect { case (id, ClusterView.Unreachable | ClusterView.Pending) => id }.toSet
          assert(
            silent.subsetOf(hanging.keySet),
            s"DYNAMIC_KAFKA_SEED=$seed: ${steps.mkString("; ")}; hanging: ${hanging.keySet.mkString(", ")}"
          )
        }
        returns(streams.close())
      } finally {
        ids.foreach(release)
        val _ = query.shutdownNow()
      }
  }

  test("no call waits for a client that hangs, and the other clusters respond, in any history") {
    val first = TestSeed()
    (first until first + Histories).foreach(seed => new History(seed).run())
  }
}
