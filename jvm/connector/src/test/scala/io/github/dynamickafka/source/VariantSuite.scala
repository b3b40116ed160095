package io.github.dynamickafka.source

import java.util.UUID

import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.DynamicKafkaCatalog

/** VARIANT on brokers; what becomes of a record is tested in `format.json`. */
class VariantSuite extends Queries {

  private val Single = Seq("format" -> "json", "schema" -> "v VARIANT", "json.singleVariantColumn" -> "v")

  private def rows(frame: org.apache.spark.sql.DataFrame): Set[Seq[Any]] =
    frame.collect().map(_.toSeq).toSet

  private val texts =
    Seq("""{"id": 1, "payload": {"a": [1, "x"]}}""", """{"id": 2, "payload": null}""", """[3]""")
  private val paths =
    Seq(
      "variant_get(v, '$.id', 'INT') AS id",
      "to_json(variant_get(v, '$.payload')) AS payload",
      "variant_get(v, '$.payload.a[1]', 'STRING') AS x",
      "cluster"
    )
  private val expected = Set(
    row(1, """{"a":[1,"x"]}""", "x", "blue"),
    row(2, "null", null, "blue"),
    row(null, null, null, "green")
  )

  test("the whole record in a batch and a streaming query of two clusters; what is not JSON is dropped") {
    val topic = newTopicOn(1, blue, green)
    produce(blue, topic, 1, texts.take(2) :+ "not json")
    produce(green, topic, 1, texts.drop(2))
    scene { of =>
      of.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      val drop = Single :+ ("parseErrors" -> "drop")
      assert(rows(of.batch(drop: _*).selectExpr(paths: _*)) == expected)
      val failed = intercept[Exception](of.batch(Single: _*).select("v").collect())
      assert(failed.toString.contains("DECODE_FAILED") || failed.getCause.toString.contains("DECODE_FAILED"))
      val query = of.frame(drop: _*).selectExpr(paths: _*).writeStream.format("memory")
        .queryName(s"variants_${System.nanoTime}")
        .option(
          "checkpointLocation",
          of.folder.resolve("own").toString
        ).trigger(Trigger.AvailableNow()).start()
      try assert(query.awaitTermination(300000))
      finally query.stop()
      assert(rows(spark.table(query.name)) == expected)
    }
  }

  test("a column beside others, in tables of a catalog and of the session") {
    val topic = newTopicOn(1, blue)
    produce(blue, topic, 1, texts.take(2))
    target { t =>
      t.streams("orders" -> Seq(Entry("blue", blue, topic)))
      val k = s"k${UUID.randomUUID.toString.replace("-", "").take(8)}"
      spark.conf.set(s"spark.sql.catalog.$k", classOf[DynamicKafkaCatalog].getName)
      val options = t.options("format" -> "json", "schema" -> "id INT, payload VARIANT") - "streamId"
      options.foreach { case (name, value) => spark.conf.set(s"spark.sql.catalog.$k.$name", value) }
      val columns = "id, to_json(payload), variant_get(payload, '$.a[0]', 'INT')"
      val found = Set(row(1, """{"a":[1,"x"]}""", 1), row(2, "null", null))
      assert(rows(spark.sql(s"SELECT $columns FROM $k.orders")) == found)
      val ofTable = (options - "schema" + ("streamId" -> "orders")).map { case (n, v) =>
        s"'$n' = '$v'"
      }.mkString(", ")
      val own = s"t${UUID.randomUUID.toString.replace("-", "").take(8)}"
      spark.sql(s"CREATE TABLE $own (id INT, payload VARIANT) USING `dynamic-kafka` OPTIONS ($ofTable)")
      try assert(rows(spark.sql(s"SELECT $columns FROM $own")) == found)
      finally { val _ = spark.sql(s"DROP TABLE $own") }
    }
  }

  test("written as to_json writes it, as a field or as the whole value; other formats refuse it by name") {
    val topic = newTopicOn(1, blue)
    target { t =>
      t.streams("out" -> Seq(Entry("blue", blue, topic)))
      val frame = spark.sql(
        "SELECT * FROM VALUES (1, parse_json('{\"b\": [1.50, null], \"a\": \"x\"}')), (2, parse_json('7')), (3, NULL) AS t(id, v)"
      ).coalesce(1)
      t.save(frame, "format" -> "json")
      t.save(frame.select("v"), "format" -> "json", "json.singleVariantColumn" -> "v")
      assert(committed(blue, topic).map(_.value) == Seq(
        """{"id":1,"v":{"a":"x","b":[1.5,null]}}""",
        """{"id":2,"v":7}""",
        """{"id":3}""",
        """{"a":"x","b":[1.5,null]}""",
        "7",
        null
      ))
      val error = intercept[Exception](t.save(frame, "format" -> "avro"))
      assert(error.getMessage.contains("INVALID_COLUMN") && error.getMessage.contains("'v'"), error)
      assert(error.getMessage.contains("VARIANT"), error)
    }
  }
}
