package io.github.dynamickafka.source.trigger

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.{col, expr}
import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.source.{Entry, Query}
import io.github.dynamickafka.testkit.{KafkaCluster, Record, TestAll}

/** `alignment=timestamp` on brokers. The value of a record is its time. */
class AlignedClustersSuite extends EventTimeTest {

  private val DriftMs = 10000L
  private val End = 1767225600000L
  private val skip = "clusterFailurePolicy" -> "skip"

  /** One record per second, the last one this number of seconds before the end, in two partitions. */
  private def produceSeconds(cluster: KafkaCluster, topic: String, count: Int, lastS: Int = 0): Unit =
    produceTimes(cluster, topic, (1 to count).map(s => End - (count - s + lastS) * 1000L))

  private def produceTimes(cluster: KafkaCluster, topic: String, times: Seq[Long]): Unit = {
    val records = times.zipWithIndex.map { case (time, i) =>
      Record(i % 2, None, time.toString, timestamp = Some(time))
    }
    val _ = cluster.produce(topic, records)
  }

  private def withClusters(clusters: (String, KafkaCluster)*)(body: (Query, String) => Unit): Unit = scene {
    s =>
      val topic = newTopicOn(2, clusters.map(_._2): _*)
      s.orders(clusters.map { case (id, cluster) => Entry(id, cluster, topic) }: _*)
      body(s, topic)
  }

  /** Whether each batch from this one on has read only what is less than the drift newer than the oldest unread record. */
  private def assertAligned(s: Query, from: Int = 0): Unit = {
    val batches = s.batches
    (from until batches.size).filter(batches(_).nonEmpty).foreach { b =>
      val unread = batches.drop(b).flatten.map(_.value.toLong)
      val newest = batches(b).map(_.value.toLong).max
      assert(newest < unread.min + DriftMs, s"batch $b of ${s.sizes}")
    }
  }

  test("a batch reads only records that are less than the drift newer than the oldest unread one", TestAll) {
    withClusters("blue" -> blue, "green" -> green) { (s, topic) =>
      produceSeconds(blue, topic, 30)
      produceSeconds(green, topic, 90)
      s.catchUp(aligned("10s"): _*)
      assertSame(s.seen, storedOnBoth(topic))
      assertAligned(s)
      assert(s.sizes.take(7) == Seq.fill(6)(10) :+ 20, "no batch is smaller than it has to be")
    }
  }

  test("limits share what alignment leaves", TestAll) {
    withClusters("blue" -> blue, "green" -> green) { (s, topic) =>
      produceSeconds(blue, topic, 20)
      produceSeconds(green, topic, 40)
      s.catchUp(aligned("10s", "maxOffsetsPerTrigger" -> "7"): _*)
      assertSame(s.seen, storedOnBoth(topic))
      assertAligned(s)
      assert(s.sizes.forall(_ <= 7))
    }
  }

  test("one watermark over clusters of different lag drops no row") {
    withClusters("blue" -> blue, "green" -> green) { (s, topic) =>
      produceSeconds(blue, topic, 60)
      produceSeconds(green, topic, 150)
      val both = Map("blue" -> 60L, "green" -> 150L)
      val limit = "maxOffsetsPerTrigger" -> "60"
      assert(counted(s, watermarked(s.frame(limit)))._1 != both, "the test shows nothing")
      assert(counted(s, watermarked(s.frame(aligned("10s", limit): _*))) == ((both, 0L)))
    }
  }

  /** What Spark counts as dropped by a query that appends rows. */
  private def dropped(s: Query, rows: DataFrame): Long = {
    val query = rows.writeStream.format("noop").trigger(Trigger.AvailableNow())
      .option("checkpointLocation", s.folder.resolve(newTopic("rows")).toString).start()
    try assert(query.awaitTermination(540000))
    finally query.stop()
    query.recentProgress.flatMap(_.stateOperators).map(_.numRowsDroppedByWatermark).sum
  }

  Seq[(String, (() => DataFrame) => DataFrame)](
    "dropDuplicatesWithinWatermark" -> (rows => rows().dropDuplicatesWithinWatermark("cluster", "value")),
    "a stream-stream join" -> { rows =>
      val other = rows().select(col("cluster").as("c"), col("value").as("v"), col("timestamp").as("t"))
      rows().join(other, expr("cluster = c AND value = v AND timestamp = t"))
    }
  ).foreach { case (what, queryOf) =>
    test(s"one watermark over clusters of different lag drops no row of $what", TestAll) {
      withClusters("blue" -> blue, "green" -> green) { (s, topic) =>
        produceSeconds(blue, topic, 60)
        produceSeconds(green, topic, 150)
        val limit = "maxOffsetsPerTrigger" -> "60"
        def of(options: (String, String)*) = dropped(s, queryOf(() => watermarked(s.frame(options: _*))))
        assert(of(limit) > 0, "the test shows nothing")
        assert(of(aligned("10s", limit): _*) == 0L)
      }
    }
  }

  test("a cluster that enters late with old records is caught up with before the others continue", TestAll) {
    withClusters("blue" -> blue) { (s, topic) =>
      green.createTopic(topic, 2)
      produceSeconds(blue, topic, 60)
      produceSeconds(green, topic, 30, lastS = 80)
      s.inBatch = id =>
        if (id == 5) s.change(Entry("blue", blue, topic), Entry("green", green, topic))
      val query = s.start(aligned("10s", "maxOffsetsPerTrigger" -> "4"): _*)
      waitFor("all records")(s.seen.size == 90)
      query.stop()
      assertSame(s.seen, storedOnBoth(topic))
      assert(!(0L to 5L).exists(s.batch(_).exists(_.cluster == "green")))
      assertAligned(s, from = 6)
    }
  }

  test("partitions of one cluster are bound like clusters") {
    withClusters("blue" -> blue) { (s, topic) =>
      for ((partition, lastS) <- Seq(0 -> 0, 1 -> 45))
        blue.produce(
          topic,
          (1 to 30).map { i =>
            val time = End - (30 - i + lastS) * 1000L
            Record(partition, None, time.toString, timestamp = Some(time))
          }
        )
      s.catchUp(aligned("10s"): _*)
      assertSame(s.seen, stored("blue", blue, topic))
      assertAligned(s)
      assert(s.sizes == Seq.fill(6)(10))
    }
  }

  test("a cluster that returns with old records is caught up with before the others continue", TestAll) {
    withClusters("blue" -> blue, "green" -> green) { (s, topic) =>
      val both = Seq(Entry("blue", blue, topic), Entry("green", green, topic))
      Seq(blue, green).foreach(produceSeconds(_, topic, 10, lastS = 200))
      val query = s.start(aligned("10s", "maxOffsetsPerTrigger" -> "4"): _*)
      waitFor("all records")(s.seen.size == 20)
      s.change(both.head)
      eventually(assert(s.metrics(query)("retainedClusters") == "1"))
      produceSeconds(green, topic, 30, lastS = 80)
      val before = s.batchCount
      @volatile var left = before
      s.inBatch = id =>
        if (id >= before && left == before) {
          s.change(both: _*)
          left = id.toInt + 1
        }
      produceSeconds(blue, topic, 60)
      waitFor("all records")(s.seen.size == 110)
      query.stop()
      assertSame(s.seen, storedOnBoth(topic))
      assert(!(before until left).exists(id => s.batch(id.toLong).exists(_.cluster == "green")))
      assertAligned(s, from = left)
    }
  }

  test("with 'fail', a cluster that does not respond fails the query as without alignment", TestAll) {
    withClusters("blue" -> blue, "red" -> red) { (s, topic) =>
      produceSeconds(blue, topic, 40)
      produceSeconds(red, topic, 40, lastS = 20)
      s.inBatch = id => if (id == 0) red.kill()
      val options = aligned("10s", "maxOffsetsPerTrigger" -> "5", "clusterRequestTimeoutMs" -> "5000")
      try {
        val e = refused(s.start(options: _*))
        assert(condition(e) == "CLUSTER_UNREACHABLE" && text(e).contains("'red'"), text(e))
      } finally red.restart()
      s.inBatch = _ => ()
      s.catchUp(options: _*)
      assertSame(s.seen, stored("blue", blue, topic) ++ stored("red", red, topic))
      assertAligned(s)
    }
  }

  test("an idle cluster holds the others, at most for the time-out", TestAll) {
    withClusters("blue" -> blue, "green" -> green) { (s, topic) =>
      produceSeconds(blue, topic, 60)
      produceSeconds(green, topic, 1, lastS = 59)
      val query = s.start(aligned("10s", "alignmentIdleTimeout" -> "10min"): _*)
      waitFor("the records that green allows")(s.seen.size == 11)
      settle(query)
      assert(s.seen.size == 11)
      produceSeconds(green, topic, 1, lastS = 40)
      waitFor("more records")(s.seen.size == 11 + 20)
      query.stop()
    }
    withClusters("blue" -> blue, "green" -> green) { (s, topic) =>
      produceSeconds(blue, topic, 60)
      produceSeconds(green, topic, 1, lastS = 59)
      val query = s.start(aligned("10s", "alignmentIdleTimeout" -> "2s"): _*)
      waitFor("all records")(s.seen.size == 61)
      query.stop()
      assertSame(s.seen, storedOnBoth(topic))
    }
  }

  test("the others do not wait for a cluster that is removed, or drained", TestAll) {
    val leaving = Seq[Entry => Seq[Entry]](_ => Nil, entry => Seq(entry.draining))
    leaving.foreach { left =>
      withClusters("blue" -> blue, "green" -> green) { (s, topic) =>
        produceSeconds(blue, topic, 60)
        produceSeconds(green, topic, 1, lastS = 59)
        val query = s.start(aligned("10s", "alignmentIdleTimeout" -> "10min"): _*)
        waitFor("the records that green allows")(s.seen.size == 11)
        s.change(Entry("blue", blue, topic) +: left(Entry("green", green, topic)): _*)
        waitFor("all records")(s.seen.size == 61)
        query.stop()
      }
    }
  }

  test("with AvailableNow, only what was there at the start counts") {
    withClusters("blue" -> blue, "green" -> green) { (s, topic) =>
      produceSeconds(blue, topic, 60)
      produceSeconds(green, topic, 1, lastS = 59)
      val before = storedOnBoth(topic)
      s.inBatch = id => if (id == 0) produceSeconds(green, topic, 1, lastS = 58)
      s.catchUp(aligned("10s", "alignmentIdleTimeout" -> "10min"): _*)
      assertSame(s.seen, before)
    }
  }

  test("a cluster that is unreachable holds the others, at most for the time-out", TestAll) {
    withClusters("blue" -> blue, "red" -> red) { (s, topic) =>
      produceSeconds(blue, topic, 40)
      produceSeconds(red, topic, 10, lastS = 50)
      killed(red) {
        val options =
          aligned("10s", "alignmentIdleTimeout" -> "2s", skip, "clusterRequestTimeoutMs" -> "5000")
        val query = s.start(options: _*)
        waitFor("the records of blue")(s.seen.size == 40)
        red.restart()
        waitFor("the records of red")(s.seen.size == 50)
        query.stop()
      }
      assertSame(s.seen, stored("blue", blue, topic) ++ stored("red", red, topic))
    }
  }

  test("a record of the future parks no cluster") {
    withClusters("blue" -> blue, "green" -> green) { (s, topic) =>
      val future = System.currentTimeMillis() + 3600000L
      produceTimes(blue, topic, Seq(future, future) ++ (1 to 40).map(i => End - 40000L + i * 1000L))
      produceSeconds(green, topic, 60)
      s.catchUp(aligned("10s"): _*)
      assertSame(s.seen, storedOnBoth(topic))
    }
  }

  test("records of one time, and without order, are read", TestAll) {
    withClusters("blue" -> blue, "green" -> green) { (s, topic) =>
      produceTimes(blue, topic, Seq.fill(30)(End))
      produceTimes(green, topic, (1 to 40).map(i => End - (i * 7919 % 60) * 1000L))
      s.catchUp(aligned("1s", "maxOffsetsPerTrigger" -> "20"): _*)
      assertSame(s.seen, storedOnBoth(topic))
    }
  }

  test("a restart finds the times of its positions, and a batch that is planned again is the same", TestAll) {
    withClusters("blue" -> blue, "green" -> green) { (s, topic) =>
      produceSeconds(blue, topic, 60)
      produceSeconds(green, topic, 100)
      s.inBatch = id => if (id == 5) throw new IllegalStateException("as a crash")
      val options = aligned("10s", "maxOffsetsPerTrigger" -> "9")
      val query = s.start(options: _*)
      eventually(assert(!query.isActive))
      s.inBatch = _ => ()
      s.catchUp(options: _*)
      assert(s.repeated == Set(5L))
      assertSame(s.seen, storedOnBoth(topic))
      assertAligned(s)
    }
  }
}
