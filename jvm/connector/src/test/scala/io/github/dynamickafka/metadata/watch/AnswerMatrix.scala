package io.github.dynamickafka.metadata.watch

import java.util.concurrent.atomic.AtomicInteger
import java.{util => ju}

import org.scalatest.Assertion

import io.github.dynamickafka.config.{DiscoveryOptions, Subscription}
import io.github.dynamickafka.metadata.Streams._
import io.github.dynamickafka.metadata.document.DocumentWriter
import io.github.dynamickafka.metadata.{KafkaMetadataService, KafkaStream}

/**
 * What a running query makes of a bad, a partial and a late answer, by the kind of its subscription and its options: one table for all
 * metadata services.
 */
trait AnswerMatrix extends WatcherTest {
  import AnswerMatrix._

  /** How long a call may take that is not [[Late]]; a service that waits for a file needs seconds. */
  private val LateMs = 1500L

  private val subscriptions =
    Seq(Subscription.Ids(Seq("orders", "payments")), Subscription.Pattern("orders|payments".r))

  /** Runs the answers that the door has, and compares what queries make of them with the table. */
  protected def assertMatrix(door: Door): Assertion = {
    val found = for ((name, answer, _) <- Expected; results <- results(door, answer)) yield name -> results
    val expected = for ((name, _, results) <- Expected) yield name -> door.instead.getOrElse(name, results)
    assert(found.nonEmpty)
    val names = found.map(_._1).toSet
    assert(found == expected.filter(e => names(e._1)))
  }

  /** None: the door does not have the answer. */
  private def results(door: Door, answer: Answer): Option[Seq[Result]] = {
    val _ = door.put(Good)
    val watched = for ((allowMissing, most) <- options; subscription <- subscriptions) yield {
      val service = new Counting(door.service())
      val discovery = DiscoveryOptions(
        Soon,
        1000000,
        callTimeoutMs = if (answer == Late) LateMs else Never,
        allowMissing,
        maxRemovedClusters = most,
        removalConfirmations = 2
      )
      service -> MetadataWatcher(service, subscription, discovery, "matrix", WatcherTiming(confirmMs = 1))
    }
    try {
      val before = watched.map { case (_, watcher) => ids(watcher.awaitFirst()) }
      Option.when(door.put(answer)) {
        val asked = watched.map(_._1.calls.get)
        watched.zip(before).zip(asked).map { case (((service, watcher), before), asked) =>
          eventually(assert(service.calls.get > asked + 4 || watcher.current.consecutiveFailures > 1))
          if (current(watcher) != before) Removal
          else if (watcher.current.consecutiveFailures > 0) Failure
          else Same
        }
      }
    } finally {
      door.release()
      watched.foreach(_._2.close())
    }
  }
}

object AnswerMatrix {
  sealed trait Result
  case object Same extends Result
  case object Failure extends Result
  case object Removal extends Result

  sealed trait Answer

  /** @param invalid ids of streams that cannot be used */
  final case class Has(streams: Seq[KafkaStream], invalid: Seq[String] = Nil) extends Answer
  case object Down extends Answer
  case object NoDocument extends Answer
  case object Late extends Answer

  /** Where a test gives answers to a real service. */
  trait Door {

    /** One more service with the answers. */
    def service(): KafkaMetadataService

    /** Returns whether the service can have such an answer. */
    def put(answer: Answer): Boolean

    /** Ends the wait of a late answer. */
    def release(): Unit = ()

    /** What differs from the table, by the name of the answer. */
    def instead: Map[String, Seq[Result]] = Map.empty
  }

  private val (orders, other) =
    (stream("orders", "blue" -> cluster("a")), stream("other", "black" -> cluster("c")))
  private val payments = stream("payments", "green" -> cluster("b"), "red" -> cluster("b"))
  val Good: Has = Has(Seq(orders, payments, other))

  /** `allowMissingStreams` and `maxRemovedClustersPerChange`. */
  private val options =
    Seq(false -> None, true -> None, true -> Some(10), true -> Some(0)): Seq[(Boolean, Option[Int])]

  private def all(result: Result) = Seq.fill(2 * options.size)(result)

  /** For documents that are refused as a whole. */
  val Whole: Map[String, Seq[Result]] = Map("another stream is invalid" -> all(Failure))

  /** For `streamIds` and `streamPattern`, by the options above. */
  private val Expected: Seq[(String, Answer, Seq[Result])] = Seq(
    ("the same", Good, all(Same)),
    ("a subscribed stream is invalid", Has(Seq(payments, other), Seq("orders")), all(Failure)),
    ("another stream is invalid", Has(Seq(orders, payments), Seq("other")), all(Same)),
    (
      "a subscribed stream is missing",
      Has(Seq(payments, other)),
      Seq(Failure, Removal, Removal, Removal, Removal, Removal, Failure, Failure)
    ),
    (
      "a subscribed stream has no cluster",
      Has(Seq(stream("orders"), payments, other)),
      Seq(Failure, Failure, Removal, Removal, Removal, Removal, Failure, Failure)
    ),
    ("another stream is missing", Has(Seq(orders, payments)), all(Same)),
    (
      "a cluster is missing",
      Has(Seq(orders, stream("payments", "green" -> cluster("b")), other)),
      Seq(Removal, Removal, Removal, Removal, Removal, Removal, Failure, Failure)
    ),
    // By default, these are more than half of the clusters.
    ("no stream", Has(Nil), Seq(Failure, Failure, Failure, Failure, Removal, Removal, Failure, Failure)),
    ("an exception", Down, all(Failure)),
    ("no document", NoDocument, all(Failure)),
    ("late", Late, all(Failure))
  )

  /** The text of a document, in which a stream that cannot be used has no valid topic. */
  def text(answer: Has): String =
    DocumentWriter.text(answer.streams ++ answer.invalid.map(stream(_, "blue" -> cluster("no topic"))))

  private final class Counting(service: KafkaMetadataService) extends KafkaMetadataService {
    val calls = new AtomicInteger

    override def getAllStreams(): ju.Set[KafkaStream] = counted(service.getAllStreams())
    override def describeStreams(ids: ju.Collection[String]): ju.Map[String, KafkaStream] =
      counted(service.describeStreams(ids))
    override def isClusterActive(cluster: String): Boolean = service.isClusterActive(cluster)
    override def onChange(changed: Runnable): AutoCloseable = service.onChange(changed)
    override def close(): Unit = service.close()

    private def counted[A](answer: A): A = {
      calls.incrementAndGet()
      answer
    }
  }
}
