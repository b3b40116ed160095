package io.github.dynamickafka.source

import org.apache.spark.sql.functions.col
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.types.StructType

/** Decoding on brokers; what each format makes of a record is tested in `format.decode`. */
class FormatsSuite extends Queries {

  private val Json = Seq("format" -> "json", "schema" -> "id INT, name STRING")

  test("two clusters with JSON in a streaming query: columns, dropped records, metrics") {
    val topic = newTopicOn(2, blue, green)
    produce(blue, topic, 2, Seq("""{"id": 1, "name": "a"}""", "nothing", """{"id": 2}"""))
    produce(green, topic, 2, Seq("""{"name": "b", "id": 3}"""))
    scene { of =>
      of.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      val frame = of.frame(Json :+ ("parseErrors" -> "drop"): _*)
      assert(
        frame.columns.toSeq ==
          Seq("id", "name", "topic", "partition", "offset", "timestamp", "cluster", "stream")
      )
      val query = frame.writeStream.format("memory").queryName(s"formats_${System.nanoTime}")
        .option("checkpointLocation", of.folder.resolve("own").toString)
        .trigger(Trigger.AvailableNow()).start()
      try assert(query.awaitTermination(300000))
      finally query.stop()
      val rows = spark.table(query.name).select("id", "name", "cluster", "stream", "topic")
      assert(
        rows.collect().map(_.toSeq).toSet == Set(
          row(1, "a", "blue", "orders", topic),
          row(2, null, "blue", "orders", topic),
          row(3, "b", "green", "orders", topic)
        )
      )
      val metrics = query.recentProgress.map(_.sources.head.metrics)
      assert(metrics.exists(_.get("droppedRecords") == "1") && metrics.exists(_.get("decodeErrors") == "1"))
    }
  }

  test("spark.read: bad records fail or not by what is selected, and the schema can be given to Spark") {
    val topic = newTopicOn(1, blue, green)
    produce(blue, topic, 1, Seq("""{"id": "secret-text", "name": "a"}"""))
    produce(green, topic, 1, Seq("""{"id": 3, "name": "b"}"""))
    scene { of =>
      of.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      val frame = of.batch(Json: _*)
      assert(frame.select("name").collect().map(_.getString(0)).toSet == Set("a", "b"))
      assert(frame.count() == 2)
      assert(frame.where(col("cluster") === "green").select("name").count() == 1)
      val error = intercept[Exception](frame.select("id").collect())
      val all =
        Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null).map(_.toString).mkString(" ")
      Seq("DECODE_FAILED", "cluster 'blue'", s"topic '$topic'", "offset 0", "'id'").foreach(part =>
        assert(all.contains(part), part)
      )
      assert(!all.contains("secret-text"))

      val chosen = spark.read.format("dynamic-kafka").schema(StructType.fromDDL("offset BIGINT, id INT"))
        .options(of.options("format" -> "json", "parseErrors" -> "null")).load()
      assert(chosen.columns.toSeq == Seq("offset", "id"))
      assert(chosen.collect().map(_.toSeq).toSet == Set(row(0L, null), row(0L, 3)))
    }
  }

  test("a streaming query decodes the columns that it accesses: a bad one fails it only if it is needed") {
    val topic = newTopicOn(1, blue, green)
    produce(blue, topic, 1, Seq("""{"id": "secret-text", "name": "a"}"""))
    produce(green, topic, 1, Seq("""{"id": 3, "name": "b"}"""))
    scene { of =>
      of.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      def run(columns: String*) = {
        val query = of.frame(Json: _*).select(columns.map(col): _*).writeStream.format("memory")
          .queryName(s"formats_${System.nanoTime}")
          .option("checkpointLocation", of.folder.resolve(columns.mkString("-")).toString)
          .trigger(Trigger.AvailableNow()).start()
        try assert(query.awaitTermination(300000))
        finally query.stop()
        spark.table(query.name).collect().map(_.toSeq).toSet
      }
      assert(run("name", "cluster") == Set(row("a", "blue"), row("b", "green")))
      val error = intercept[Exception](run("name", "id"))
      val all =
        Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null).map(_.toString).mkString(" ")
      Seq("DECODE_FAILED", "cluster 'blue'", "offset 0", "'id'").foreach(part =>
        assert(all.contains(part), part)
      )
      assert(!all.contains("secret-text"))
    }
  }
}
