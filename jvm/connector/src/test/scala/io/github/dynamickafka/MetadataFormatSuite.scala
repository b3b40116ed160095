package io.github.dynamickafka

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.types.StructType

import io.github.dynamickafka.source.{Entry, Queries, Target}

/** `format=metadata`: the format that the metadata has of a stream, without a catalog, on brokers. */
class MetadataFormatSuite extends Queries {

  private def rows(frame: DataFrame): Set[Seq[Any]] = frame.collect().map(_.toSeq).toSet

  private def reading(target: Target, more: (String, String)*): Map[String, String] =
    Map("streamIds" -> "out", "format" -> "metadata") ++ (target.options() - "streamId") ++ more

  private def read(target: Target, more: (String, String)*): DataFrame =
    spark.read.format("dynamic-kafka").options(reading(target, more: _*)).load()

  private val json = Map("format" -> "json", "schema" -> "id INT, name STRING")

  test("batch reads and streaming queries have the format, schema and options of the metadata") {
    val topic = newTopicOn(1, blue, green)
    produce(blue, topic, 1, Seq("""{"id": 1, "name": "a"}""", "nothing"))
    produce(green, topic, 1, Seq("""{"id": 2, "name": "b"}"""))
    target { t =>
      t.out(Entry("blue", blue, topic), Entry("green", green, topic))
      t.service.formats = Map("out" -> (json + ("parseErrors" -> "drop")))
      val expected = Set(row(1, "a", "blue"), row(2, "b", "green"))
      assert(rows(read(t).select("id", "name", "cluster")) == expected)
      assert(
        read(t).columns.toSeq ==
          Seq("id", "name", "topic", "partition", "offset", "timestamp", "cluster", "stream")
      )

      val query = DynamicKafka.builder(spark).setStreamIds("out").setFormat("metadata")
        .setOptions(t.options().filter(_._1.startsWith("metadataService"))).load()
        .select("id", "name", "cluster").writeStream.format("memory").queryName(s"m_${System.nanoTime}")
        .option("checkpointLocation", t.checkpoint.toString).trigger(Trigger.AvailableNow()).start()
      try assert(query.awaitTermination(300000))
      finally query.stop()
      assert(rows(spark.table(query.name)) == expected)

      // Without it, a change of the metadata changes no query.
      for (plain <- Seq(reading(t, "format" -> "raw"), reading(t) - "format")) {
        val found = spark.read.format("dynamic-kafka").options(plain).load()
        assert(found.columns.contains("timestampType"))
        assert(rows(found.selectExpr("string(value)")).contains(row("nothing")))
      }
    }
  }

  test("jobs and streaming queries write in the format that the metadata has") {
    val (in, topic) = (newTopicOn(1, blue), newTopicOn(1, blue, green))
    produce(blue, in, 1, Seq("b"))
    target { t =>
      t.streams(
        "in" -> Seq(Entry("blue", blue, in)),
        "out" -> Seq(Entry("blue", blue, topic), Entry("green", green, topic))
      )
      t.service.formats = Map("out" -> (json + ("json.ignoreNullFields" -> "false")))
      val written = spark.range(1).selectExpr("1 AS id", "string(null) AS name")
      DynamicKafka.writer(written).setStreamId("out").setFormat("metadata").setClusterRouting("all")
        .setOptions(t.options().filter(_._1.startsWith("metadataService"))).save()
      for (cluster <- Seq(blue, green)) assert(values(cluster, topic) == Seq("""{"id":1,"name":null}"""))

      val stream = spark.readStream.format("dynamic-kafka")
        .options(reading(t, "streamIds" -> "in", "format" -> "raw")).load()
        .selectExpr("2 AS id", "string(value) AS name", "cluster")
      t.catchUp(stream, "format" -> "METADATA", "deliveryGuarantee" -> "exactly-once")
      assert(values(blue, topic).last == """{"id":2,"name":"b"}""")
      val e = message(t.save(written.selectExpr("*", "1 AS colour"), "format" -> "metadata"))
      assert(e.contains("INVALID_COLUMN") && e.contains("colour"), e)
    }
  }

  test("options of the query take precedence over the metadata, as does a schema that is given to Spark") {
    val topic = newTopicOn(1, blue, green)
    produce(blue, topic, 1, Seq("""{"id": 1, "name": "a"}""", "nothing"))
    produce(green, topic, 1, Seq("""{"id": 2, "name": "b"}"""))
    target { t =>
      t.out(Entry("blue", blue, topic), Entry("green", green, topic))
      t.service.formats = Map("out" -> (json + ("parseErrors" -> "fail")))
      val own = Seq("parseErrors" -> "null", "schema" -> "id INT", "metadataColumns" -> "cluster")
      assert(rows(read(t, own: _*)) == Set(row(1, "blue"), row(null, "blue"), row(2, "green")))
      val chosen = spark.read.format("dynamic-kafka").schema(StructType.fromDDL("name STRING, offset BIGINT"))
        .options(reading(t, "parseErrors" -> "drop")).load()
      assert(rows(chosen) == Set(row("a", 0L), row("b", 0L)))
    }
  }

  test("streams that agree are read together; of two that differ, both are named") {
    val (topic, other) = (newTopicOn(1, blue), newTopicOn(1, blue))
    produce(blue, topic, 1, Seq("""{"id": 1}"""))
    produce(blue, other, 1, Seq("""{"id": 2}"""))
    target { t =>
      t.streams("out" -> Seq(Entry("blue", blue, topic)), "other" -> Seq(Entry("blue", blue, other)))
      t.service.formats =
        Map("out" -> json, "other" -> Map("format" -> "JSON", "schema" -> "`id` int, name string"))
      val both = Seq("streamIds" -> "out;other")
      assert(rows(read(t, both: _*).select("id", "stream")) == Set(row(1, "out"), row(2, "other")))
      for (
        differs <-
          Seq(Map("format" -> "csv"), json + ("schema" -> "id BIGINT"), json + ("keyFormat" -> "raw"))
      ) {
        t.service.formats = Map("out" -> json, "other" -> (json ++ differs))
        for (selection <- both +: Seq(Seq("streamIds" -> "", "streamPattern" -> "o.*"))) {
          val chosen = reading(t, selection: _*).filter(_._2.nonEmpty)
          val e = message(spark.readStream.format("dynamic-kafka").options(chosen).load())
          Seq("INVALID_SCHEMA", "'out'", "'other'").foreach(part => assert(e.contains(part), e))
        }
      }
    }
  }

  test("without a format in the metadata, the error names the stream, and says where to set one") {
    target { t =>
      t.out(Entry("blue", blue, "t"))
      for (e <- Seq(message(read(t)), message(t.save(rows(0, 1), "format" -> "metadata"))))
        Seq("INVALID_OPTION", "'format'", "stream 'out'", "formatOptions").foreach(part =>
          assert(e.contains(part), e)
        )
      t.service.formats = Map("out" -> json)
      assert(message(t.save(rows(0, 1), "format" -> "metadata", "streamId" -> "gone")).contains("gone"))
      val noStream = t.options("format" -> "metadata") - "streamId"
      val byRow =
        spark.range(1).selectExpr("1 AS id", "'out' AS stream").write.format("dynamic-kafka").mode("append")
      val missing = message(byRow.options(noStream).save())
      assert(missing.contains("MISSING_OPTION") && missing.contains("streamId"), missing)
      for (of <- Seq("cluster.blue.format", "keyFormat")) {
        // No action: the option is refused when the DataFrame is made.
        val e = message(read(t, of -> "metadata"))
        assert(e.contains("INVALID_OPTION") && e.contains(of), e)
      }
      assert(message(read(t, "valueFormat" -> "json")).contains("the same option is also set as"))
      t.service.behave = () => throw new IllegalStateException("down")
      assert(message(read(t)).contains("METADATA_UNAVAILABLE"))
    }
  }
}
