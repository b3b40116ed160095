package io.github.dynamickafka.source.realtime

import java.io.IOException
import java.util.concurrent.CountDownLatch

import io.github.dynamickafka.DynamicKafka
import io.github.dynamickafka.source.Entry
import io.github.dynamickafka.storage.RawInProcessFiles

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
      val (isWriting, dies) = (new CountDownLatch(1), new CountDownLatch(1))
      RawInProcessFiles.renaming = path =>
        if (path.toString.contains(s"${s.results.checkpoint}/offsets/")) {
          isWriting.countDown()
          dies.await()
          throw new IOException("the driver dies before the batch is logged")
        }
      try {
        s.change(a, b)
        isWriting.await()
        // Time in which the driver would commit what it has been told.
        s.service.awaitAnswers()
        assert(committed.contains(3L))
        dies.countDown()
        waitFor("the end of the query")(!crashing.isActive)
      } finally {
        dies.countDown()
        RawInProcessFiles.renaming = _ => ()
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
