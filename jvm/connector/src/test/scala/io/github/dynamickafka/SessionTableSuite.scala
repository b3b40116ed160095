package io.github.dynamickafka

import java.util.UUID

import scala.util.Random

import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.source.{Entry, Queries, Target}

/** `CREATE TABLE ... USING` in Spark's own catalog, on brokers. */
class SessionTableSuite extends Queries {

  private def create(target: Target, columns: String, more: (String, String)*): String = {
    val name = s"t${UUID.randomUUID.toString.replace("-", "").take(8)}"
    val options = target.options(more: _*).map { case (k, v) => s"'$k' = '$v'" }.mkString(", ")
    val _ = spark.sql(s"CREATE TABLE $name $columns USING `dynamic-kafka` OPTIONS ($options)")
    name
  }

  test("with columns of the user's choice: read, written, as a stream, dropped without an effect on Kafka") {
    val (topic, copies) = (newTopicOn(1, blue, green), newTopicOn(1, blue))
    produce(blue, topic, 1, Seq("""{"id": 1, "name": "a", "unused": 7}"""))
    produce(green, topic, 1, Seq("""{"name": "b", "id": 2}"""))
    target { t =>
      t.streams(
        "out" -> Seq(Entry("blue", blue, topic), Entry("green", green, topic)),
        "copies" -> Seq(Entry("blue", blue, copies))
      )
      val orders = create(t, "(offset BIGINT, name STRING, cluster STRING, id INT)", "format" -> "json")
      assert(spark.table(orders).columns.toSeq == Seq("offset", "name", "cluster", "id"))
      assert(
        rows(s"SELECT * FROM $orders ORDER BY id") == Seq(row(0L, "a", "blue", 1), row(0L, "b", "green", 2))
      )
      assert(rows(s"SELECT id FROM $orders WITH ('startingOffsets' = 'latest')").isEmpty)
      assert(
        message(rows(s"SELECT id FROM $orders WITH ('format' = 'raw')")).contains("OPTIONS of CREATE TABLE")
      )
      assert(rows(s"SHOW CREATE TABLE $orders").head.mkString.contains("dynamic-kafka"))

      val written = create(t, "(id INT, name STRING)", "format" -> "json", "streamId" -> "copies")
      val _ = spark.sql(s"INSERT INTO $written (name, id) VALUES ('c', 3)")
      val query = spark.readStream.table(orders).select("id", "name").writeStream
        .option("checkpointLocation", t.checkpoint.toString).trigger(Trigger.AvailableNow()).toTable(written)
      try assert(query.awaitTermination(300000))
      finally query.stop()
      assert(rows(s"SELECT id, name FROM $written ORDER BY id") == Seq(row(1, "a"), row(2, "b"), row(3, "c")))
      assert(message(spark.sql(s"INSERT OVERWRITE $written SELECT 1 AS id, 'x' AS name")).nonEmpty)
      assert(values(blue, copies).size == 3)

      spark.sql(s"DROP TABLE $written")
      assert(values(blue, copies).size == 3)
    }
  }

  test(
    "the columns of the table are those of INSERT: their names, types and order, or an error with the name"
  ) {
    val topic = newTopicOn(1, blue)
    target { t =>
      t.streams("out" -> Seq(Entry("blue", blue, topic)))
      val all = Seq(
        create(t, "(id INT, name STRING, cluster STRING)", "format" -> "json"),
        create(t, "", "format" -> "json", "schema" -> "id INT, name STRING")
      )
      all.foreach { table =>
        Seq(
          s"INSERT INTO $table VALUES (1)" -> "col1",
          s"INSERT INTO $table VALUES ('a', 1)" -> "id",
          s"INSERT INTO $table SELECT 1, 'a'" -> "1",
          s"INSERT INTO $table SELECT 1 AS id, 'a' AS nam" -> "nam",
          s"INSERT INTO $table SELECT 'x' AS id, 'a' AS name" -> "id",
          s"INSERT INTO $table SELECT map('a', 1) AS id" -> "id",
          s"INSERT INTO $table (id, nam) VALUES (1, 'a')" -> "nam"
        ).foreach { case (sql, column) =>
          val text = message(spark.sql(sql))
          assert(text.contains(s"'$column'") || text.contains(s"`$column`"), s"$sql: $text")
        }
        assert(
          message(
            spark.sql(s"INSERT INTO $table VALUES (1)")
          ).contains("INSERT INTO <table> (id, name) VALUES")
        )
      }
      assert(values(blue, topic).isEmpty)
      all.zipWithIndex.foreach { case (table, i) =>
        spark.sql(s"INSERT INTO $table (name, id) VALUES ('a', $i)")
        spark.sql(s"INSERT INTO $table SELECT 'b' AS NAME, ${10 + i}L AS Id")
        spark.range(1).selectExpr(s"${20 + i} AS id").writeTo(table).append()
        spark.sql(s"INSERT INTO $table VALUES (${30 + i}, 'c')")
      }
      spark.sql(s"INSERT INTO ${all.head} VALUES (40, 'd', 'blue')")
      val found = rows(s"SELECT id, name FROM ${all.head} ORDER BY id")
      assert(
        found == Seq("a", "a", "b", "b", null, null, "c", "c", "d").zip(Seq(0, 1, 10, 11, 20, 21, 30, 31, 40))
          .map { case (name, id) => row(id, name) }
      )
    }
  }

  test(
    "what records cannot have is refused by CREATE TABLE, at any place of random columns (seed in the message)"
  ) {
    val seed = TestSeed()
    val random = new Random(seed)
    target { t =>
      t.streams("out" -> Seq(Entry("blue", blue, "topic")))
      val types = Seq("STRING", "BIGINT", "ARRAY<INT>", "STRUCT<x: INT>", "MAP<STRING, BIGINT>")
      val wrong = Seq(
        "INT DEFAULT 5" -> "DEFAULT",
        "INT NOT NULL" -> "NOT NULL",
        "VARCHAR(3)" -> "VARCHAR(3)",
        "CHAR(3)" -> "CHAR(3)",
        "ARRAY<CHAR(3)>" -> "CHAR(3)",
        "STRUCT<x: INT, y: VARCHAR(3)>" -> "VARCHAR(3)",
        "STRUCT<x: INT NOT NULL>" -> "NOT NULL",
        "MAP<STRING, STRUCT<x: INT NOT NULL>>" -> "NOT NULL"
      )
      for ((column, what) <- wrong; _ <- 1 to 2) {
        val others = Seq.fill(random.nextInt(4))(types(random.nextInt(types.size)))
        val (before, after) = others.splitAt(random.nextInt(others.size + 1))
        val columns = (before ++ Seq(column) ++ after).zipWithIndex.map { case (c, i) => s"c$i $c" }
        val text = message(create(t, columns.mkString("(", ", ", ")"), "format" -> "json"))
        val where = s"seed $seed, $columns: $text"
        assert(text.contains("INVALID_SCHEMA") && text.contains(s"column 'c${before.size}'"), where)
        assert(text.contains(what), where)
      }
      val name = s"t${UUID.randomUUID.toString.replace("-", "").take(8)}"
      val options = t.options("format" -> "json").map { case (k, v) => s"'$k' = '$v'" }.mkString(", ")
      val text = message(
        spark.sql(
          s"CREATE TABLE $name (id INT, d STRING) USING `dynamic-kafka` OPTIONS ($options) PARTITIONED BY (d)"
        )
      )
      assert(text.contains("PARTITIONED BY"), text)
    }
  }

  test("without columns: those of the options, also of several streams, which are not written") {
    val topic = newTopicOn(1, blue)
    produce(blue, topic, 1, Seq("""{"id": 1}"""))
    target { t =>
      t.streams("out" -> Seq(Entry("blue", blue, topic)), "other" -> Seq(Entry("blue", blue, topic)))
      val json = create(
        t,
        "",
        "format" -> "json",
        "schema" -> "id INT",
        "metadataColumns" -> "offset",
        "streamId" -> "out"
      )
      assert(rows(s"SELECT * FROM $json") == Seq(row(1, 0L)))
      val raw = create(t, "")
      assert(spark.table(raw).columns.contains("timestampType"))
      assert(rows(s"SELECT string(value) FROM $raw") == Seq(row("""{"id": 1}""")))
      val both = create(t, "(id INT)", "format" -> "json", "streamIds" -> "out,other", "streamId" -> "")
      assert(message(spark.sql(s"INSERT INTO $both SELECT 1 AS id")).contains("streamId"))
    }
  }

  test("what is wrong is refused when the table is created, and no secret is stored") {
    target { t =>
      t.streams("out" -> Seq(Entry("blue", blue, "topic")))
      assert(message(create(
        t,
        "(id INT)",
        "format" -> "json",
        "startingOfsets" -> "x"
      )).contains("startingOffsets"))
      assert(message(create(t, "(id INT)")).contains("fixed columns"))
      assert(message(create(t, "(id INT)", "format" -> "json", "schema" -> "id STRING")).nonEmpty)
      Seq(
        "kafka.sasl.jaas.config" -> "x password=\"geheim\";",
        "cluster.blue.kafka.ssl.key.password" -> "geheim",
        "registry.bearerAuth.token" -> "geheim",
        "value.avro-confluent.ssl.keystore.password" -> "geheim",
        "metadataService.properties.password" -> "geheim"
      ).foreach { case (name, secret) =>
        val text = message(create(t, "(id INT)", "format" -> "json", name -> secret))
        assert(text.contains("INVALID_OPTION") && text.contains(name) && !text.contains("geheim"), text)
      }
    }
  }

  test("a table can be dropped while its metadata service fails") {
    target { t =>
      t.streams("out" -> Seq(Entry("blue", blue, "topic")))
      val orders = create(t, "(id INT)", "format" -> "json")
      t.service.behave = () => throw new IllegalStateException("down")
      spark.sql(s"DESCRIBE EXTENDED $orders").collect()
      spark.sql(s"DROP TABLE $orders")
      assert(!spark.catalog.tableExists(orders))
    }
  }
}
