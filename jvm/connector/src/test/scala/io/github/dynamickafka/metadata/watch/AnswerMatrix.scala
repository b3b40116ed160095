package io.github.dynamickafka.metadata.watch

import java.util.concurrent.atomic.AtomicInteger
import java.{util => ju}

import org.scalatest.Assertion

import io.github.dynamickafka.config.{DiscoveryOptions, Subscription}
import io.github.dynamickafka.metadata.Streams._
import io.github.dynamickafka.metadata.document.DocumentWriter
import io.github.dynamickafka.metadata.{KafkaMetadataService, KafkaStream}

/**
 * What running queries that read and that write make of a bad, a partial and a late answer, by the kind of the subscription and the
 * options: one table for all metadata services.
 */
trait AnswerMatrix extends WatcherTest {
  import AnswerMatrix._

  /** How long a call may take that is not [[Late]]; a service that waits for a file needs seconds. */
  private val LateMs = 1500L

  private val subscriptions =
    Seq(Subscription.Ids(Seq("orders", "payments")), Subscription.Pattern("orders|payments"))

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
    def discovery(allowMissing: Boolean, most: Option[Int]) = DiscoveryOptions(
      Soon,
      1000000,
      callTimeoutMs = if (answer == Late) LateMs else Never,
      allowMissing,
      maxRemovedClusters = most,
      removalConfirmations = 2
    )
    val reading = for ((allowMissing, most) <- options; subscription <- subscriptions) yield {
      val service = new Counting(door.service())
      val timing = WatcherTiming(confirmMs = 1)
      service -> MetadataWatcher(service, subscription, discovery(allowMissing, most), "matrix", timing)
    }
    val writing = for (most <- ofWrites) yield {
      val service = new Counting(door.service())
      val written = Subscription.Ids(Seq("refunds"))
      service -> MetadataWatcher.forWriting(service, written, discovery(allowMissing = false, most), "matrix")
    }
    val watched = reading ++ writing
    try {
      val before = watched.map { case (_, watcher) => ids(watcher.awaitFirst()) }
      Option.when(door.put(answer)) {
        val asked = watched.map(_._1.calls.get)
        watched.zip(before).zip(asked).map { case (((service, watcher), before), asked) =>
          eventually(assert(service.calls.get > asked + 4 || watcher.current.consecutiveFailures > 1))
          if (current(watcher) != before) Removal
          else if (watcher.current.consecutiveFailures > 0) {
            // Each poll counts, so that the threshold is reached.
            eventually(assert(watcher.current.consecutiveFailures > 3))
            Failure
          } else Same
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
  private val refunds = stream("refunds", Seq("one", "two", "three").map(_ -> cluster("d")): _*)
  val Good: Has = Has(Seq(orders, payments, other, refunds))

  /** `allowMissingStreams` and `maxRemovedClustersPerChange`. */
  private val options =
    Seq(false -> None, true -> None, true -> Some(10), true -> Some(0)): Seq[(Boolean, Option[Int])]

  /** `maxRemovedClustersPerChange` of a query that writes. */
  private val ofWrites: Seq[Option[Int]] = Seq(None, Some(10), Some(0))

  private def all(result: Result) = Seq.fill(2 * options.size + ofWrites.size)(result)
  private val unwritten = Seq.fill(ofWrites.size)(Same)

  /** For documents that are refused as a whole. */
  val Whole: Map[String, Seq[Result]] =
    Seq("a subscribed stream is invalid", "another stream is invalid").map(_ -> all(Failure)).toMap

  /** For `streamIds` and `streamPattern`, by the options above; then for a query that writes to another stream. */
  private val Expected: Seq[(String, Answer, Seq[Result])] = Seq(
    ("the same", Good, all(Same)),
    (
      "a subscribed stream is invalid",
      Has(Seq(payments, other, refunds), Seq("orders")),
      Seq.fill(2 * options.size)(Failure) ++ unwritten
    ),
    ("another stream is invalid", Has(Seq(orders, payments, refunds), Seq("other")), all(Same)),
    (
      "a subscribed stream is missing",
      Has(Seq(payments, other, refunds)),
      Seq(Failure, Removal, Removal, Removal, Removal, Removal, Failure, Failure) ++ unwritten
    ),
    (
      "a subscribed stream has no cluster",
      Has(Seq(stream("orders"), payments, other, refunds)),
      Seq(Failure, Failure, Removal, Removal, Removal, Removal, Failure, Failure) ++ unwritten
    ),
    ("another stream is missing", Has(Seq(orders, payments, refunds)), all(Same)),
    (
      "a cluster is missing",
      Has(Seq(orders, stream("payments", "green" -> cluster("b")), other, refunds)),
      Seq(Removal, Removal, Removal, Removal, Removal, Removal, Failure, Failure) ++ unwritten
    ),
    (
      "one of three clusters is missing",
      Has(Seq(orders, payments, other, stream("refunds", "one" -> cluster("d"), "two" -> cluster("d")))),
      Seq.fill(2 * options.size)(Same) ++ Seq(Removal, Removal, Failure)
    ),
    // By default, these are more than half of the clusters.
    (
      "two of three clusters are missing",
      Has(Seq(orders, payments, other, stream("refunds", "one" -> cluster("d")))),
      Seq.fill(2 * options.size)(Same) ++ Seq(Failure, Removal, Failure)
    ),
    (
      "no stream",
      Has(Nil),
      Seq(Failure, Failure, Failure, Failure, Removal, Removal, Failure, Failure) ++
        Seq.fill(ofWrites.size)(Failure)
    ),
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
