package io.github.dynamickafka.sink

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.kafka.TopicLimits
import io.github.dynamickafka.testkit.TimeLimit

class TopicLimitsSuite extends AnyFunSuite with TimeLimit {
  private def limits(settings: (String, String)*) = TopicLimits(settings.toMap.get)

  test("a record without a key in a compacted topic, and a timestamp too far from now, are refused") {
    val compacted = limits("cleanup.policy" -> "delete,compact")
    assert(compacted.refuses(hasKey = false, None, 0L).exists(_.contains("has no key")))
    assert(compacted.refuses(hasKey = true, Some(7L), 0L).isEmpty)
    val dated =
      Seq("message.timestamp.before.max.ms" -> "1000", "message.timestamp.after.max.ms" -> "500")
    def refused(of: TopicLimits) =
      Seq(8999L, 9000L, 10500L, 10501L).map(t => of.refuses(hasKey = false, Some(t), 10000L).isDefined)
    assert(refused(limits(dated: _*)) == Seq(true, false, false, true))
    assert(refused(limits(dated :+ ("message.timestamp.type" -> "LogAppendTime"): _*)).forall(!_))
    assert(refused(limits()).forall(!_))
  }

  test(
    "the batches of a producer fit into the smallest of its topics, unless the user has chosen their size"
  ) {
    val some = Seq("1048588", "20000", "100000").map(n => limits("max.message.bytes" -> n))
    assert(WrittenTopics.batchSize(Some("262144"), some).contains(19488))
    assert(WrittenTopics.batchSize(Some("16384"), some).isEmpty)
    assert(WrittenTopics.batchSize(Some("262144"), some.take(1)).isEmpty)
    assert(WrittenTopics.batchSize(Some("262144"), Nil).isEmpty)
  }
}
