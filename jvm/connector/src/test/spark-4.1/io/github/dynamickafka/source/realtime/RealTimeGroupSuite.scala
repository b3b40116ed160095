package io.github.dynamickafka.source.realtime

import io.github.dynamickafka.DynamicKafka
import io.github.dynamickafka.source.Entry

/** Offsets that are committed to a consumer group. */
class RealTimeGroupSuite extends RealTimeTest {

  test("a crash between the end of the tasks and Spark's log: the group is never ahead of the query") {
    realTime { (s, rows) =>
      val topic = newTopicOn(1, blue, green)
      val group = newTopic("group")
      val (a, b) = (Entry("blue", blue, topic), Entry("green", green, topic))
      def start() = rows.start(s.frame("commitOffsets" -> "true", "commitGroupId" -> group))
      def committed = blue.committedOffsets(group).getOrElse(topic, Map.empty[Int, Long]).get(0)
      s.orders(a)
      val first = start()
      produce(blue, topic, 1, values("logged", 0, 3))
      waitFor("rows")(rows.seen.size == 3)
      DynamicKafka.stop(first)
      waitFor("the group at the end of the finished batch")(committed.contains(3L))

      val crashing = start()
      produce(blue, topic, 1, values("open", 0, 4))
      waitFor("rows of the open batch")(rows.seen.size == 7)
      dyingBeforeTheLog(s, crashing)(s.change(a, b)) {
        // Time in which the driver would commit what it has been told.
        s.service.awaitAnswers()
        assert(committed.contains(3L))
      }
      assert(committed.contains(3L))
      assert(rows.logged(rows.log("offsets").last).position("blue").get(topic, 0).contains(3L))

      val again = start()
      waitFor("the batch that was not logged")(rows.seen.size == 11)
      DynamicKafka.stop(again)
      waitFor("the group at the end")(committed.contains(7L))
    }
  }
}
