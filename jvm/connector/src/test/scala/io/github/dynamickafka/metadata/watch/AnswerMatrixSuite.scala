package io.github.dynamickafka.metadata.watch

import java.io.IOException
import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.AtomicInteger

import scala.util.Using

import io.github.dynamickafka.config.{DiscoveryOptions, Subscription}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.KafkaStream
import io.github.dynamickafka.metadata.Streams._
import io.github.dynamickafka.metadata.document.MetadataDocument
import io.github.dynamickafka.metadata.service.DocumentMetadataService

/** What a running query makes of a bad, a partial and a late answer, by the kind of its subscription and its options. */
class AnswerMatrixSuite extends WatcherTest {
  import AnswerMatrixSuite._

  private val (orders, other) =
    (stream("orders", "blue" -> cluster("a")), stream("other", "black" -> cluster("c")))
  private val payments = stream("payments", "green" -> cluster("b"), "red" -> cluster("b"))

  private def invalid(id: String) = Errors.metadataInvalid(s"stream '$id'", "it is garbage")
  private def document(streams: KafkaStream*)(bad: String*) = () =>
    MetadataDocument(streams.map(s => s.streamId -> s).toMap, bad.map(id => id -> invalid(id)).toMap)

  private val never = new CountDownLatch(1)
  private val good = document(orders, payments, other)()

  private val late = { () =>
    never.await()
    good()
  }

  /** For `streamIds` and `streamPattern`, then for both with `allowMissingStreams`. */
  private val expected: Seq[(String, () => MetadataDocument, Seq[Result])] = Seq(
    ("the same", good, Seq(Same, Same, Same, Same)),
    (
      "a subscribed stream is invalid",
      document(payments, other)("orders"),
      Seq(Failure, Failure, Failure, Failure)
    ),
    ("another stream is invalid", document(orders, payments)("other"), Seq(Same, Same, Same, Same)),
    ("a subscribed stream is missing", document(payments, other)(), Seq(Failure, Removal, Removal, Removal)),
    (
      "a subscribed stream has no cluster",
      document(stream("orders"), payments, other)(),
      Seq(Failure, Failure, Removal, Removal)
    ),
    ("another stream is missing", document(orders, payments)(), Seq(Same, Same, Same, Same)),
    (
      "a cluster is missing",
      document(orders, stream("payments", "green" -> cluster("b")), other)(),
      Seq(Removal, Removal, Removal, Removal)
    ),
    // With allowMissingStreams too, because these are more than half of the clusters.
    ("no stream", document()(), Seq(Failure, Failure, Failure, Failure)),
    ("an exception", () => throw new IOException("down"), Seq(Failure, Failure, Failure, Failure)),
    ("an invalid document", () => throw invalid("orders"), Seq(Failure, Failure, Failure, Failure)),
    (
      "late",
      late,
      Seq(Failure, Failure, Failure, Failure)
    )
  )

  private val subscriptions =
    Seq(Subscription.Ids(Seq("orders", "payments")), Subscription.Pattern("orders|payments".r))

  private def result(
      answer: () => MetadataDocument,
      subscription: Subscription,
      allowMissing: Boolean
  ): Result = {
    val source = new Source(good)
    val discovery = DiscoveryOptions(
      Soon,
      1000,
      callTimeoutMs = if (answer eq late) 200 else Never,
      allowMissing,
      removalConfirmations = 2
    )
    Using.resource(MetadataWatcher(source, subscription, discovery, "matrix", WatcherTiming(confirmMs = 1))) {
      watcher =>
        val before = ids(watcher.awaitFirst())
        source.answer = answer
        val asked = source.calls.get
        eventually(assert(source.calls.get > asked + 4 || watcher.current.consecutiveFailures > 1))
        if (current(watcher) != before) Removal
        else if (watcher.current.consecutiveFailures > 0) Failure
        else Same
    }
  }

  for ((name, answer, results) <- expected)
    test(s"what a query makes of an answer: $name") {
      val found = for (allowMissing <- Seq(false, true); subscription <- subscriptions)
        yield result(answer, subscription, allowMissing)
      assert(found == results)
    }
}

object AnswerMatrixSuite {
  sealed trait Result
  case object Same extends Result
  case object Failure extends Result
  case object Removal extends Result

  private final class Source(@volatile var answer: () => MetadataDocument) extends DocumentMetadataService {
    val calls = new AtomicInteger

    override protected def read(): MetadataDocument = {
      calls.incrementAndGet()
      answer()
    }
  }
}
