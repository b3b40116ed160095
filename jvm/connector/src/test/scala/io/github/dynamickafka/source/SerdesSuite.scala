package io.github.dynamickafka.source

import java.util.concurrent.atomic.AtomicInteger
import java.{util => ju}

import org.apache.avro.SchemaBuilder
import org.apache.avro.generic.{GenericData, GenericRecord}
import org.apache.kafka.common.header.Headers
import org.apache.kafka.common.serialization.{
  Deserializer,
  LongDeserializer,
  LongSerializer,
  Serializer,
  StringDeserializer,
  StringSerializer,
  UUIDDeserializer
}
import org.apache.spark.sql.types._
import org.apache.spark.sql.{DataFrame, Row}

import io.github.dynamickafka.extension.{CustomFormat, RecordReader, RecordWriter, SourceRecord, TargetRecord}
import io.github.dynamickafka.testkit.Record

/** Kafka's deserializers and serializers, and formats of the user, on brokers. */
class SerdesSuite extends Queries {
  import SerdesSuite._

  private def reading(name: Class[_]) = "valueDeserializer" -> name.getName

  private def all(frame: DataFrame, columns: String*): Set[Seq[Any]] =
    frame.selectExpr(columns: _*).collect().map(_.toSeq).toSet

  test(
    "columns: the key where it is asked for, the value, then metadata; properties and isKey reach the class"
  ) {
    onBoth(Seq("a", "b")) { (of, topic) =>
      val metadata = Seq("topic", "partition", "offset", "timestamp", "cluster", "stream")
      val value = of.batch(reading(classOf[StringDeserializer]))
      assert(value.columns.toSeq == "value" +: metadata && value.schema("value").dataType == StringType)
      assert(all(
        value,
        "value",
        "cluster"
      ) == Set(Seq("a", "blue"), Seq("b", "blue"), Seq("a", "green"), Seq("b", "green")))
      val both = of.batch(
        reading(classOf[Tagged]),
        "valueDeserializer.tag" -> "v",
        "keyDeserializer" -> classOf[Tagged].getName,
        "keyDeserializer.tag" -> "k"
      )
      assert(both.columns.toSeq == Seq("key", "value") ++ metadata)
      assert(all(both.where("cluster = 'blue'"), "key", "value") == Set(
        Seq(s"k/true/$topic/a", s"v/false/$topic/a"),
        Seq(s"k/true/$topic/b", s"v/false/$topic/b")
      ))
    }
  }

  test("a streaming query: exceptions are bad records, and one instance per task is closed at its end") {
    onBoth(Seq("1", "2", "x", "4")) { (of, _) =>
      val (created, closed) = (Numbers.created.get, Numbers.closed.get)
      val found = ju.Collections.synchronizedSet(new ju.HashSet[Long])
      val frame = of.frame(reading(classOf[Numbers]), "parseErrors" -> "drop")
      assert(frame.schema("value").dataType == LongType)
      val query = frame.where("cluster = 'blue'").writeStream
        .foreachBatch { (rows: DataFrame, _: Long) =>
          rows.select("value").collect().foreach(row => found.add(row.getLong(0)))
        }
        .option("checkpointLocation", of.folder.resolve("numbers").toString)
        .trigger(org.apache.spark.sql.streaming.Trigger.AvailableNow()).start()
      assert(query.awaitTermination(300000L))
      assert(found == ju.Set.of(1L, 2L, 4L))
      assert(Numbers.created.get > created && Numbers.created.get - created <= 4)
      waitFor("all instances to be closed")(Numbers.closed.get - closed == Numbers.created.get - created)

      val e = intercept[Exception](of.batch(reading(classOf[Numbers])).collect())
      val texts = Iterator.iterate[Throwable](e)(_.getCause).takeWhile(_ != null).map(_.toString).mkString
      assert(texts.contains("DECODE_FAILED") && texts.contains("threw NumberFormatException"), texts)
      assert(!texts.contains("\"x\""), texts)
      val kept = of.batch(reading(classOf[Numbers]), "parseErrors" -> "keep")
      assert(all(
        kept.where("_decode_error is not null"),
        "value",
        "cast(_corrupt_record as string)"
      ) == Set(row(null, "x")))
    }
  }

  test("Avro records have the columns of the schema") {
    onBoth(Seq("7;tea", "8;")) { (of, _) =>
      for (found <- Seq(classOf[Records], classOf[Objects])) {
        val frame = of.batch(reading(found), "schema" -> "name STRING, id BIGINT, price DECIMAL(8, 2)")
        assert(all(frame, "name", "id", "cast(price as string)") ==
          Set(row("tea", 7L, "1.50"), row(null, 8L, "1.50")))
      }
      val missing = refused(of.batch(reading(classOf[Records])))
      assert(condition(missing) == "MISSING_OPTION", text(missing))
      val untyped = refused(of.batch(reading(classOf[Objects])))
      assert(
        condition(untyped) == "INVALID_SCHEMA" && text(untyped).contains(classOf[Objects].getName),
        text(untyped)
      )
      val other = of.batch(reading(classOf[Texts]), "schema" -> "id BIGINT", "parseErrors" -> "keep")
      assert(other.select("_decode_error").head().getString(0).contains("java.lang.String"))
    }
  }

  test("refusals") {
    onBoth(Seq("a")) { (of, _) =>
      val string = reading(classOf[StringDeserializer])
      val cases: Seq[(Seq[(String, String)], String, String)] = Seq(
        (Seq(string, "format" -> "json", "schema" -> "id INT"), "INVALID_OPTION", "format"),
        (Seq("keyDeserializer" -> string._2, "keyFormat" -> "string"), "INVALID_OPTION", "keyFormat"),
        (Seq(string, "valueFormat" -> "string"), "INVALID_OPTION", "valueFormat"),
        (Seq("valueDeserializer" -> "no.such.Class"), "INVALID_OPTION", "no.such.Class"),
        (
          Seq("valueDeserializer" -> classOf[StringSerializer].getName),
          "INVALID_OPTION",
          "does not implement"
        ),
        (Seq("valueDeserializer.tag" -> "t"), "INVALID_OPTION", "valueDeserializer"),
        (Seq(reading(classOf[Lists])), "INVALID_SCHEMA", "java.util.List"),
        (Seq(string, "schema" -> "id INT"), "INVALID_OPTION", "schema"),
        (Seq("valueSerializer" -> classOf[StringSerializer].getName), "UNKNOWN_OPTION", "valueSerializer")
      )
      for ((options, expected, says) <- cases) {
        val e = refused(of.batch(options: _*))
        assert(condition(e) == expected && text(e).contains(says), s"$options: ${text(e)}")
      }
    }
  }

  test("serializers: types, null, headers, Avro records, and the topic") {
    target { of =>
      val topic = newTopicOn(1, blue)
      of.out(Entry("blue", blue, topic))
      val frame = spark.range(3).selectExpr("cast(id as int) as value", "concat('k', id) as key")
      of.save(
        frame,
        "valueSerializer" -> classOf[LongSerializer].getName,
        "keySerializer" -> classOf[StringSerializer].getName
      )
      scene { read =>
        read.orders(Entry("blue", blue, topic))
        val back = read.batch(
          reading(classOf[LongDeserializer]),
          "keyDeserializer" -> classOf[StringDeserializer].getName
        )
        assert(all(back, "key", "value") == Set(row("k0", 0L), row("k1", 1L), row("k2", 2L)))
      }
      val records = newTopicOn(1, blue)
      of.out(Entry("blue", blue, records))
      of.save(
        spark.range(1).selectExpr("id", "'tea' as name"),
        "valueSerializer" -> classOf[RecordSerializer].getName,
        "schema" -> "id BIGINT, name STRING"
      )
      val stored = committed(blue, records).head
      assert(stored.value == s"0;tea;$records" && stored.headers == Map("type" -> "record"))
    }
  }

  test("serializers are refused as deserializers are, and a value that does not fit is ENCODE_FAILED") {
    target { of =>
      val topic = newTopicOn(1, blue)
      of.out(Entry("blue", blue, topic))
      val texts = spark.range(1).selectExpr("cast(id as string) as value")
      val beside =
        refused(of.save(texts, "valueSerializer" -> classOf[StringSerializer].getName, "format" -> "string"))
      assert(condition(beside) == "INVALID_OPTION", text(beside))
      val unfit = refused(of.save(
        spark.range(1).selectExpr("array(id) as value"),
        "valueSerializer" -> classOf[LongSerializer].getName
      ))
      assert(condition(unfit) == "INVALID_COLUMN", text(unfit))
      val e = refused(of.save(
        texts,
        "valueSerializer" -> classOf[org.apache.kafka.common.serialization.UUIDSerializer].getName
      ))
      assert(condition(e) == "ENCODE_FAILED", text(e))
    }
  }

  test("a format by a class of the user reads and writes, on several clusters") {
    target { of =>
      val topic = newTopicOn(1, blue, green)
      of.out(Entry("blue", blue, topic), Entry("green", green, topic))
      val options = Seq("format" -> s"class:${classOf[Reversed].getName}", "clusterRouting" -> "all")
      of.save(spark.range(2).selectExpr("concat('abc', id) as text"), options: _*)
      assert(values(blue, topic) == Seq("0cba", "1cba") && values(green, topic) == values(blue, topic))
      blue.produce(topic, Seq(Record(0, None, "no text", Map("bad" -> "1"))))
      scene { read =>
        read.orders(Entry("blue", blue, topic), Entry("green", green, topic))
        val back = read.batch(options.head, "parseErrors" -> "drop")
        assert(back.columns.head == "text")
        assert(all(back, "text", "cluster") == (for (t <- Set("abc0", "abc1"); c <- Set("blue", "green"))
          yield Seq(t, c)))
        assert(intercept[Exception](read.batch(options.head).collect()).toString.nonEmpty)
      }
    }
  }

  test("a UUID is a STRING") {
    onBoth(Seq("1b4e28ba-2fa1-11d2-883f-0016d3cca427")) { (of, _) =>
      val frame = of.batch(reading(classOf[UUIDDeserializer]))
      assert(all(frame, "value") == Set(Seq("1b4e28ba-2fa1-11d2-883f-0016d3cca427")))
    }
  }
}

object SerdesSuite {

  /** The text with what the class was given. */
  class Tagged extends Deserializer[String] {
    private var tag = ""
    override def configure(configs: ju.Map[String, _], isKey: Boolean): Unit =
      tag = s"${configs.get("tag")}/$isKey"
    override def deserialize(topic: String, data: Array[Byte]): String = s"$tag/$topic/${new String(data)}"
  }

  class Numbers extends Deserializer[java.lang.Long] {
    Numbers.created.incrementAndGet()
    override def deserialize(topic: String, data: Array[Byte]): java.lang.Long = new String(data).toLong
    override def close(): Unit = {
      val _ = Numbers.closed.incrementAndGet()
    }
  }

  object Numbers {
    val created = new AtomicInteger
    val closed = new AtomicInteger
  }

  private val schema = {
    val price = org.apache.avro.LogicalTypes.decimal(8, 2)
      .addToSchema(org.apache.avro.Schema.create(org.apache.avro.Schema.Type.BYTES))
    SchemaBuilder.record(
      "Order"
    ).fields().requiredLong("id").optionalString("name").name("price").`type`(price)
      .noDefault().endRecord()
  }

  private def record(data: Array[Byte]): GenericRecord = {
    val Array(id, name) = new String(data).split(";", 2)
    val made = new GenericData.Record(schema)
    made.put("id", id.toLong)
    if (name.nonEmpty) made.put("name", name)
    // As deserializers with conversions of logical types return it.
    made.put("price", new java.math.BigDecimal("1.50"))
    made
  }

  class Records extends Deserializer[GenericRecord] {
    override def deserialize(topic: String, data: Array[Byte]): GenericRecord = record(data)
  }

  class Objects extends Deserializer[AnyRef] {
    override def deserialize(topic: String, data: Array[Byte]): AnyRef = record(data)
  }

  class Texts extends Deserializer[AnyRef] {
    override def deserialize(topic: String, data: Array[Byte]): AnyRef = new String(data)
  }

  class Lists extends Deserializer[ju.List[String]] {
    override def deserialize(topic: String, data: Array[Byte]): ju.List[String] = ju.List.of()
  }

  class RecordSerializer extends Serializer[GenericRecord] {
    override def serialize(topic: String, data: GenericRecord): Array[Byte] =
      s"${data.get("id")};${data.get("name")};$topic".getBytes

    override def serialize(topic: String, headers: Headers, data: GenericRecord): Array[Byte] = {
      headers.add("type", "record".getBytes)
      serialize(topic, data)
    }
  }

  /** One column, with the characters in reverse order. */
  class Reversed extends CustomFormat {
    override def schema(): StructType = StructType.fromDDL("text STRING")
    override def reader(schema: StructType): RecordReader = (record: SourceRecord) =>
      if (record.headers.isEmpty) Row(new String(record.bytes).reverse)
      else throw new IllegalArgumentException("a header")
    override def writer(schema: StructType): RecordWriter = (row: Row, _: TargetRecord) =>
      row.getString(0).reverse.getBytes
  }
}
