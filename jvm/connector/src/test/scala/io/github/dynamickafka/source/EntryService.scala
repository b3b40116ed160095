package io.github.dynamickafka.source

import scala.jdk.CollectionConverters._

import org.scalatest.Assertions.assert
import org.scalatest.concurrent.Eventually.{eventually, interval, timeout}
import org.scalatest.time.{Millis, Seconds, Span}

import io.github.dynamickafka.metadata.{KafkaStream, ScriptedService, StreamHistory}

/** A [[ScriptedService]] whose streams a test defines as entries; a change applies from the next call on. */
final class EntryService extends ScriptedService(() => Nil) {
  @volatile var streams: Map[String, Seq[Entry]] = Map.empty

  /** Options about the format of streams. */
  @volatile var formats: Map[String, Map[String, String]] = Map.empty

  @volatile var histories: Map[String, StreamHistory] = Map.empty

  /** Called in each call, before the answer: to fail, or to take time. */
  @volatile var behave: () => Unit = () => ()
  recovers()

  def callCount: Int = calls.get

  /** Answers again after it has failed or hung. */
  def recovers(): Unit = answer.set { () =>
    behave()
    streams.toSeq.map { case (id, entries) =>
      val format = formats.getOrElse(id, Map.empty[String, String])
      new KafkaStream(
        id,
        entries.map(e => e.id -> e.metadata).toMap.asJava,
        format.asJava,
        histories.get(id).orNull
      )
    }
  }

  /** Returns once the connector uses the answer that the service gives now. */
  def awaitAnswers(): Unit = {
    // The first call may be running already, what the second one lacks is confirmed by the third one, and the fourth one starts
    // after that one's answer is in use.
    val enough = calls.get + 4
    eventually(timeout(Span(300, Seconds)), interval(Span(5, Millis))) {
      assert(calls.get >= enough, "the service is not called any more")
    }
    ()
  }
}
