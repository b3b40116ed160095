package io.github.dynamickafka.source.checkpoint

import org.apache.spark.sql.streaming.StreamingQuery

import io.github.dynamickafka.offset.CompositeOffset
import io.github.dynamickafka.source.{Entry, Queries, Query}
import io.github.dynamickafka.testkit.TestAll

/** Spark's asynchronous progress tracking, with Spark's own Kafka sink: some batches are not in the offset log. */
class UnloggedBatchesSuite extends Queries {
  private val options = Seq("failOnDataLoss" -> "false")

  private final class Copied(s: Query) {
    private val sink = newTopicOn(1, blue)

    def start(): StreamingQuery = s.frame(options: _*).select("value").writeStream.format("kafka")
      .option("kafka.bootstrap.servers", blue.bootstrapServers)
      .option("topic", sink)
      .option("checkpointLocation", s.checkpoint.toString)
      .option("asyncProgressTrackingEnabled", "true")
      .option("asyncProgressTrackingCheckpointIntervalMs", "5000")
      .start()

    def await(query: StreamingQuery, values: Seq[String]): Unit = {
      waitFor(s"${values.size} records") {
        !query.isActive || values.toSet.subsetOf(blue.dump(sink).map(_.value).toSet)
      }
      query.exception.foreach(throw _)
    }
  }

  /** The last two logged offsets. A restart reads from the first to the second if the latter is not committed. */
  private def lastTwo(s: Query): Option[(CompositeOffset, CompositeOffset)] =
    s.log("offsets").takeRight(2) match {
      case Seq(start, end) => Some((s.logged(start), s.logged(end)))
      case _ => None
    }

  /**
   * Repeats a change until it falls between two logged offsets, and restarts from the first of them.
   *
   * @param change the records that the query has to read after the nth change
   * @param isBetween whether the nth change is between these offsets
   */
  private def restartAcross(s: Query, steady: String)(change: Int => Seq[String])(
      isBetween: (Int, CompositeOffset, CompositeOffset) => Boolean
  ): Unit = {
    val copied = new Copied(s)
    def more(value: String) = {
      produce(blue, steady, 1, Seq(value))
      Seq(value)
    }
    def attempt(n: Int): Boolean = {
      val query = copied.start()
      copied.await(query, more(s"before $n"))
      val (logged, values) = (lastTwo(s), change(n))
      copied.await(query, values)
      var i = 0
      waitFor("the next logged batch") {
        i += 1
        copied.await(query, more(s"after $n $i"))
        lastTwo(s) != logged
      }
      query.stop()
      lastTwo(s).exists { case (start, end) => isBetween(n, start, end) }
    }
    assert(Iterator.from(1).take(20).exists(attempt))
    s.uncommit()
    val query = copied.start()
    copied.await(query, more("after the restart"))
  }

  private def hasNoStart(end: CompositeOffset, topic: String) =
    end.entered.get("green").forall(!_.topics(topic))

  test("a cluster's topic enters in a batch that is not logged: the next logged batch can be read again") {
    scene { s =>
      val (steady, topics) = (newTopicOn(1, blue), (1 to 20).map(_ => newTopic()))
      s.orders(Entry("blue", blue, steady))
      restartAcross(s, steady) { n =>
        val values = (1 to 5).map(i => s"green $n $i")
        green.createTopic(topics(n - 1), 1)
        produce(green, topics(n - 1), 1, values)
        s.change(Entry("blue", blue, steady), Entry("green", green, topics.take(n): _*))
        values
      } { (n, start, end) =>
        val topic = topics(n - 1)
        !start.position("green").topics(topic) && end.position("green").topics(topic) && hasNoStart(
          end,
          topic
        )
      }
    }
  }

  test(
    "a topic is recreated, which a batch that is not logged finds: the next logged batch can be read again",
    TestAll
  ) {
    scene { s =>
      val topic = newTopicOn(1, blue, green)
      produce(green, topic, 1, (1 to 100).map(i => s"green $i"))
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      restartAcross(s, topic) { n =>
        green.deleteTopic(topic)
        green.createTopic(topic, 1)
        val values = (1 to 5).map(i => s"green again $n $i")
        produce(green, topic, 1, values)
        values
      } { (_, start, end) =>
        start.identity("green").topics.get(topic).exists(_ != end.identity("green").topics(topic)) &&
        hasNoStart(end, topic)
      }
    }
  }
}
