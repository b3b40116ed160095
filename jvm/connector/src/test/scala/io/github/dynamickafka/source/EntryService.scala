package io.github.dynamickafka.source

import scala.jdk.CollectionConverters._

import org.scalatest.Assertions.assert
import org.scalatest.concurrent.Eventually.{eventually, interval, timeout}
import org.scalatest.time.{Millis, Seconds, Span}

import io.github.dynamickafka.metadata.{KafkaStream, ScriptedService}

/** A [[ScriptedService]] of streams that a test gives as entries; each change holds from the next call on. */
final class EntryService extends ScriptedService(() => Nil) {
  @volatile var streams: Map[String, Seq[Entry]] = Map.empty

  /** Run in each call, before it answers: to fail, or to take its time. */
  @volatile var behave: () => Unit = () => ()
  recovers()

  def callCount: Int = calls.get

  /** From now on it answers, after it has failed or hung. */
  def recovers(): Unit = answer.set { () =>
    behave()
    streams.toSeq.map { case (id, entries) =>
      new KafkaStream(id, entries.map(e => e.id -> e.metadata).toMap.asJava)
    }
  }

  /** Returns when the connector has taken over what the service says now. */
  def awaitAnswers(): Unit = {
    // The first call may have begun before; the third one begins after the second one's answer was taken.
    val enough = calls.get + 3
    eventually(timeout(Span(300, Seconds)), interval(Span(5, Millis))) {
      assert(calls.get >= enough, "the service is not asked any more")
    }
    ()
  }
}
