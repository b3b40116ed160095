package io.github.dynamickafka

import org.apache.spark.sql.DataFrame

import io.github.dynamickafka.source.{Entry, Queries}
import io.github.dynamickafka.testkit.{KafkaCluster, Record}

/** `TIMESTAMP AS OF` and `VERSION AS OF`, on brokers. */
class TimeTravelSuite extends Queries {

  private def texts(frame: DataFrame): Seq[String] =
    frame.selectExpr("string(value)").collect().map(_.getString(0)).toSeq.sorted

  /** Records of these times, in milliseconds, whose values are their times. */
  private def write(cluster: KafkaCluster, topic: String, times: Long*): Unit = {
    val _ = cluster.produce(topic, times.map(t => Record(0, None, s"$t", timestamp = Some(t))))
  }

  test(
    "TIMESTAMP AS OF reads the records of all clusters before a time, and nothing of what was written later"
  ) {
    val topic = newTopicOn(1, blue, green)
    target { t =>
      t.out(Entry("blue", blue, topic), Entry("green", green, topic))
      write(blue, topic, 1000L, 2000L, 3000L)
      write(green, topic, 1500L, 2500L)
      val k = catalog(t, "endingOffsets" -> "latest")
      def asOf(expression: String) = texts(spark.sql(s"SELECT * FROM $k.out TIMESTAMP AS OF $expression"))
      assert(asOf("timestamp_millis(2500)") == Seq("1000", "1500", "2000"))
      // The first millisecond that is not before the time.
      assert(asOf("timestamp_micros(2500001)") == Seq("1000", "1500", "2000", "2500"))
      assert(asOf("timestamp_micros(2499001)") == Seq("1000", "1500", "2000"))
      assert(asOf("timestamp_millis(1000)").isEmpty && asOf("'1969-12-31'").isEmpty)
      assert(asOf("current_timestamp()").size == 5)
      assert(texts(spark.read.option("timestampAsOf", "1970-01-01 00:00:02").table(s"$k.out")).size < 5)
      assert(texts(spark.table(s"$k.out")).size == 5)
      val columns = spark.sql(s"SELECT * FROM $k.out TIMESTAMP AS OF timestamp_millis(1)").columns.toSeq
      assert(columns == spark.table(s"$k.out").columns.toSeq)
    }
  }

  test("a table that starts at its end has no past: starting at the latest offsets is refused as of a time") {
    val topic = newTopicOn(1, blue)
    target { t =>
      t.out(Entry("blue", blue, topic))
      write(blue, topic, 1000L)
      val k = catalog(t, "endingOffsets" -> "latest")
      def asOf(options: String) =
        spark.sql(s"SELECT * FROM $k.out TIMESTAMP AS OF timestamp_millis(2000) $options")
      val ofQuery = message(asOf("WITH ('startingOffsets' = 'Latest')").collect())
      assert(ofQuery.contains("INVALID_OPTION") && ofQuery.contains("startingOffsets"), ofQuery)
      spark.conf.set(s"spark.sql.catalog.$k.startingOffsets", "latest")
      val late = s"${k}late"
      spark.conf.getAll.collect {
        case (name, value) if name.startsWith(s"spark.sql.catalog.$k") =>
          spark.conf.set(name.replaceFirst(k, late), value)
      }
      val ofCatalog =
        message(spark.sql(s"SELECT * FROM $late.out TIMESTAMP AS OF timestamp_millis(2000)").collect())
      assert(ofCatalog.contains("INVALID_OPTION") && ofCatalog.contains("startingOffsets"), ofCatalog)
      assert(texts(spark.sql(
        s"SELECT * FROM $late.out TIMESTAMP AS OF timestamp_millis(2000) WITH ('startingOffsets' = 'earliest')"
      )) == Seq("1000"))
    }
  }

  test("what is not possible as of a time or a version is refused, and no stream is said to be missing") {
    val topic = newTopicOn(1, blue)
    target { t =>
      t.out(Entry("blue", blue, topic))
      val k = catalog(t, "endingOffsets" -> "latest")
      val version = message(spark.sql(s"SELECT * FROM $k.out VERSION AS OF 1"))
      Seq("INVALID_OPTION", "VERSION AS OF", "TIMESTAMP AS OF", "endingOffsets").foreach(part =>
        assert(version.contains(part), version)
      )
      for (of <- Seq("VERSION AS OF 1", "TIMESTAMP AS OF timestamp_millis(1)"))
        assert(message(spark.sql(s"SELECT * FROM $k.gone $of")).contains("TABLE_OR_VIEW_NOT_FOUND"))
      for (option <- Seq("endingOffsets" -> "latest", "cluster.blue.endingTimestamp" -> "5")) {
        val sql =
          s"SELECT * FROM $k.out TIMESTAMP AS OF timestamp_millis(1) WITH ('${option._1}' = '${option._2}')"
        val e = message(spark.sql(sql).collect())
        assert(e.contains("INVALID_OPTION") && e.contains(option._1), e)
      }
      // Refused by Spark, which does not tell the catalog that the query is a streaming one.
      val checkpoint = t.checkpoint.toString
      assert(message(
        spark.sql(s"SELECT * FROM STREAM $k.out TIMESTAMP AS OF '2020-01-01'")
      ).contains("SYNTAX_ERROR"))
      val streaming = message(
        spark.readStream.option("timestampAsOf", "2020-01-01").table(s"$k.out").writeStream
          .format("noop").option("checkpointLocation", checkpoint).start()
      )
      // The second one is that of Spark 4.0.
      val refused = Seq("time travel is not allowed in streaming", "does not support either micro-batch")
      assert(refused.exists(streaming.contains(_)), streaming)
    }
  }
}
