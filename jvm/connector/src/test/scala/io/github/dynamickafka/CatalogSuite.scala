package io.github.dynamickafka

import java.{util => ju}

import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.metadata.StreamHistory
import io.github.dynamickafka.source.{Entry, Queries}

/** The streams of a metadata service as tables, on brokers. */
class CatalogSuite extends Queries {

  private val json = Seq("format" -> "json", "schema" -> "id INT, name STRING")

  test("tables are streams: listed, described without secrets, and read with SQL") {
    val topic = newTopicOn(2, blue, green)
    produce(blue, topic, 2, Seq("""{"id": 1, "name": "a"}""", """{"id": 2}"""))
    produce(green, topic, 2, Seq("""{"name": "b", "id": 3}"""))
    target { t =>
      val entries = Seq(Entry("blue", blue, topic), Entry("green", green, topic))
      t.streams("orders" -> entries, "eu.orders" -> entries.take(1))
      val k = catalog(t, json: _*)
      assert(rows(s"SHOW TABLES IN $k").map(_(1)) == Seq("eu.orders", "orders"))
      val counted = s"SELECT cluster, count(*), sum(id) FROM $k.%s GROUP BY cluster ORDER BY cluster"
      assert(rows(counted.format("orders")) == Seq(row("blue", 2L, 3L), row("green", 1L, 3L)))
      assert(rows(counted.format("`eu.orders`")) == Seq(row("blue", 2L, 3L)))
      assert(rows(counted.format("eu.orders")) == Seq(row("blue", 2L, 3L)))
      val described = rows(s"DESCRIBE EXTENDED $k.orders").map(_.mkString(" "))
      assert(
        described.exists(_.startsWith("name string")) && described.exists(_.startsWith("cluster string"))
      )
      val all = described.mkString("\n")
      Seq("format=json", "clusters=blue,green", s"cluster.blue.topics=$topic", "cluster.blue.state=active")
        .foreach(part => assert(all.contains(part), all))
      assert(!all.contains("bootstrap"))

      // A stream that the service learns of is there at the next statement.
      t.streams("orders" -> entries, "late" -> entries.drop(1))
      assert(rows(s"SELECT id FROM $k.late") == Seq(row(3)))
      assert(message(rows(s"SELECT * FROM $k.unlike")).contains("TABLE_OR_VIEW_NOT_FOUND"))
      for (slip <- Seq("ordres", "eu.orders")) {
        val text = message(rows(s"SELECT * FROM $k.$slip"))
        assert(
          text.contains("TABLE_OR_VIEW_NOT_FOUND") && text.contains(s"did you mean `$k`.`orders`?"),
          text
        )
      }
      assert(spark.catalog.tableExists(s"$k.orders") && !spark.catalog.tableExists(s"$k.ordres"))
      rows(s"DROP TABLE IF EXISTS $k.ordres")
      rows(s"UNCACHE TABLE IF EXISTS $k.ordres")
      assert(message(rows(s"UNCACHE TABLE $k.ordres")).contains(s"did you mean `$k`.`orders`?"))
      assert(rows(s"SELECT id FROM $k.orders WITH ('startingOffsets' = 'latest')").isEmpty)
      assert(
        message(
          rows(s"SELECT * FROM $k.orders WITH ('format' = 'raw')")
        ).contains(s"spark.sql.catalog.$k.format")
      )
    }
  }

  test("streaming queries read and write tables by name, in any order of the columns") {
    val (in, out) = (newTopicOn(1, blue, green), newTopicOn(1, blue, green))
    produce(blue, in, 1, Seq("x", "y"))
    produce(green, in, 1, Seq("z"))
    target { t =>
      t.streams(
        "in" -> Seq(Entry("blue", blue, in), Entry("green", green, in)),
        "out" -> Seq(Entry("blue", blue, out), Entry("green", green, out))
      )
      val k = catalog(t, "deliveryGuarantee" -> "exactly-once")
      val query = spark.readStream.table(s"$k.in").selectExpr("value", "cluster", "key").writeStream
        .option(
          "checkpointLocation",
          t.checkpoint.toString
        ).trigger(Trigger.AvailableNow()).toTable(s"$k.out")
      try assert(query.awaitTermination(300000))
      finally query.stop()
      assert(query.recentProgress.last.sources.head.description.contains("in"))
      assert(values(blue, out) == Seq("x", "y") && values(green, out) == Seq("z"))
    }
  }

  test("a typed table with a history has the same columns before and after the hand-over") {
    val topic = newTopicOn(1, blue)
    def records(ids: Int*) = ids.map(id => s"{\"id\": $id, \"name\": \"n$id\"}")
    produce(blue, topic, 1, records(1, 2))
    target { t =>
      t.streams("orders" -> Seq(Entry("blue", blue, topic)))
      val archive = t.checkpoint.resolveSibling("archive").toString
      spark.table(s"${catalog(t)}.orders").write.parquet(archive)
      blue.deleteRecords(topic, 0, 2L)
      produce(blue, topic, 1, records(3))
      t.service.histories = Map("orders" -> new StreamHistory("parquet", archive, ju.Map.of(), null))
      val k = catalog(t, json: _*)
      val query = spark.readStream.table(s"$k.orders").writeStream.format("memory").queryName(k)
        .option("checkpointLocation", t.checkpoint.toString).trigger(Trigger.AvailableNow()).start()
      try assert(query.awaitTermination(300000))
      finally query.stop()
      assert(query.recentProgress.count(_.numInputRows > 0) == 2)
      assert(spark.table(k).columns.toSeq == spark.table(s"$k.orders").columns.toSeq)
      val found = rows(s"SELECT id, name, cluster, offset FROM $k ORDER BY id")
      assert(found == (1 to 3).map(id => row(id, s"n$id", "blue", id - 1L)))
    }
  }

  test("INSERT writes by name; what a table cannot do is refused, and says what to do") {
    val topic = newTopicOn(1, blue)
    target { t =>
      t.streams("out" -> Seq(Entry("blue", blue, topic)))
      val k = catalog(t)
      rows(s"INSERT INTO $k.out SELECT 'v' AS value, 'k' AS key")
      assert(committed(blue, topic).map(r => r.key -> r.value) == Seq(Some("k") -> "v"))
      assert(message(rows(s"INSERT INTO $k.out SELECT 'v' AS value, 1 AS colour")).contains("INVALID_COLUMN"))
      assert(
        message(
          rows(s"INSERT INTO $k.out VALUES ('v', 'k')")
        ).contains("INSERT INTO <table> (key, value) VALUES")
      )
      for (
        (sql, what) <- Seq(
          s"DROP TABLE $k.out" -> "drop",
          s"CREATE TABLE $k.new (key STRING)" -> "create",
          s"ALTER TABLE $k.out SET TBLPROPERTIES ('a' = 'b')" -> "alter",
          s"ALTER TABLE $k.out RENAME TO $k.new" -> "rename"
        )
      ) {
        val text = message(rows(sql))
        assert(text.contains("UNSUPPORTED_DDL") && text.contains(s"cannot $what stream"), text)
        assert(!text.contains("Did you mean"), text)
      }
      val misspelt = message(spark.readStream.format("rate").load().writeStream.toTable(s"$k.outt"))
      assert(misspelt.contains("UNSUPPORTED_DDL") && misspelt.contains("Did you mean 'out'?"), misspelt)
      val e = intercept[AnalysisException](spark.sql(s"INSERT OVERWRITE $k.out SELECT 'v' AS value"))
      assert(e.getMessage.contains("does not support truncate"), e.getMessage)
      assert(committed(blue, topic).size == 1)
    }
  }

  test("INSERT without the names of columns writes by position what the schema has, and the key before it") {
    val topic = newTopicOn(1, blue)
    target { t =>
      t.streams("out" -> Seq(Entry("blue", blue, topic)))
      val typed = catalog(t, json: _*)
      rows(s"INSERT INTO $typed.out VALUES (1, 'a'), (2, NULL)")
      assert(
        message(rows(s"INSERT INTO $typed.out VALUES (3)")).contains("INSERT INTO <table> (id, name) VALUES")
      )
      val keyed = catalog(t, json :+ "keyFormat" -> "string": _*)
      rows(s"INSERT INTO $keyed.out VALUES ('k', 3, 'c')")
      assert(message(rows(s"INSERT INTO $keyed.out VALUES (3, 'c')")).contains("(key, id, name) VALUES"))
      assert(
        committed(blue, topic).map(r => r.key -> r.value).toSet == Set(
          None -> """{"id":1,"name":"a"}""",
          None -> """{"id":2}""",
          Some("k") -> """{"id":3,"name":"c"}"""
        )
      )
      // A query names its columns itself.
      val query = spark.readStream.table(s"$typed.out").selectExpr("id AS col1", "name AS col2").writeStream
        .option("checkpointLocation", t.checkpoint.toString).trigger(Trigger.AvailableNow())
      val e = intercept[Exception](query.toTable(s"$typed.out").processAllAvailable())
      assert(e.getMessage.contains("'col1'"), e.getMessage)
    }
  }

  test("a statement asks the metadata service once, and each execution of a DataFrame asks again") {
    val topic = newTopicOn(1, blue)
    produce(blue, topic, 1, Seq("a"))
    target { t =>
      t.streams("orders" -> Seq(Entry("blue", blue, topic)))
      val k = catalog(t)
      def calls(body: => Any): Int = {
        val before = t.service.callCount
        body
        t.service.callCount - before
      }
      assert(calls(rows(s"SELECT value FROM $k.orders")) == 1)
      assert(calls(rows(s"INSERT INTO $k.orders SELECT 'b' AS value")) == 1)
      assert(calls(rows(s"DESCRIBE EXTENDED $k.orders")) == 1)
      rows(s"SHOW TABLES IN $k")
      assert(calls(message(rows(s"SELECT * FROM $k.ordres"))) == 1)
      val frame = spark.table(s"$k.orders")
      assert(calls(frame.count()) == 0 && calls(frame.count()) == 1)
    }
  }

  test("settings are checked at the first use, and a service that does not answer is never 'not found'") {
    target { t =>
      t.streams("out" -> Seq(Entry("blue", blue, "t")))
      assert(
        message(
          rows(s"SHOW TABLES IN ${catalog(t, "maxOfsetsPerTrigger" -> "1")}")
        ).contains("UNKNOWN_OPTION")
      )
      val k = catalog(t)
      t.service.behave = () => throw new IllegalStateException("down")
      assert(message(rows(s"SELECT * FROM $k.out")).contains("METADATA_UNAVAILABLE"))
    }
  }
}
