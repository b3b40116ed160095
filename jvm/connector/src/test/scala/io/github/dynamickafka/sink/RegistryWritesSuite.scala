package io.github.dynamickafka.sink

import io.github.dynamickafka.schemaregistry.RegistryServer.{serving, servingFrom}
import io.github.dynamickafka.schemaregistry.WireFormat
import io.github.dynamickafka.source.{Entry, Queries, Target}

/** Formats with a registry on brokers; what becomes of a row is tested without them, in `RegistryRecordsSuite`. */
class RegistryWritesSuite extends Queries {

  /** The clusters and the ids of the schemas of all records. */
  private def ids(t: Target, stream: String): Set[(String, Int)] =
    spark.read.format("dynamic-kafka").options(t.options("streamIds" -> stream) - "streamId").load()
      .select("cluster", "value").collect()
      .map(row => row.getString(0) -> WireFormat.id(row.getAs[Array[Byte]](1))).toSet

  test("registries of the metadata, exactly once: two clusters, and a third one that enters with its own") {
    val (topic, copies) = (newTopicOn(1, blue, green, red), newTopicOn(1, blue, green, red))
    serving { one =>
      servingFrom(100) { two =>
        servingFrom(200) { three =>
          target { t =>
            val format = Map("format" -> "avro-confluent", "schema" -> "id BIGINT, name STRING")
            t.service.formats = Map("orders" -> (format + ("registry.url" -> two.url)), "copies" -> format)
            def entries(topic: String) = Seq(
              Entry("blue", blue, topic).in("registry.url" -> one.url),
              Entry("green", green, topic).in("registry.url" -> two.url)
            )
            def all(late: String => Seq[Entry]) =
              t.streams(Seq("orders" -> topic, "copies" -> copies).map { case (id, topic) =>
                id -> (entries(topic) ++ late(topic))
              }: _*)
            all(_ => Nil)
            // The address in the settings is of lower precedence.
            val k = catalog(t, "registry.url" -> "http://localhost:1", "registry.timeoutMs" -> "5s")
            def insert(from: Int, until: Int, cluster: String) = spark.sql(
              s"INSERT INTO $k.orders SELECT id, concat('n', id) AS name, $cluster AS cluster FROM range($from, $until)"
            )
            insert(0, 4, "if(id < 2, 'blue', 'green')")
            assert(ids(t, "orders") == Set("blue" -> 1, "green" -> 100))
            val query = spark.readStream.table(s"$k.orders").select("id", "name", "cluster").writeStream
              .option("deliveryGuarantee", "exactly-once")
              .option("checkpointLocation", t.checkpoint.toString)
              .toTable(s"$k.copies")
            try {
              query.processAllAvailable()
              all(topic => Seq(Entry("red", red, topic).in("registry.url" -> three.url)))
              t.service.awaitAnswers()
              // Without a catalog.
              val late = spark.range(4, 5).selectExpr("id", "concat('n', id) AS name", "'red' AS cluster")
              t.save(late, "streamId" -> "orders", "format" -> "metadata")
              eventually {
                query.processAllAvailable()
                assert(ids(t, "copies") == Set("blue" -> 1, "green" -> 100, "red" -> 200))
              }
              val rows = spark.sql(s"SELECT id, name, cluster FROM $k.copies").collect().map(_.toSeq).toSet
              assert(rows == (0 until 5).map(i =>
                Seq[Any](i.toLong, s"n$i", if (i < 2) "blue" else if (i < 4) "green" else "red")
              ).toSet)
            } finally query.stop()
          }
        }
      }
    }
  }

  test("autoRegister=false and a schema that one registry does not have: no record, on no cluster") {
    val topic = newTopicOn(1, blue, green)
    serving { one =>
      serving { two =>
        target { t =>
          t.streams("out" -> Seq(Entry("blue", blue, topic), Entry("green", green, topic)))
          val options = Seq(
            "format" -> "avro-confluent",
            "cluster.blue.registry.url" -> one.url,
            "cluster.green.registry.url" -> two.url
          )
          val rows = spark.range(10).selectExpr("id", "cast(id as string) as name")
          val only = "clusterRouting" -> "first"
          t.save(rows, options :+ only: _*)
          assert(committed(blue, topic).size == 10)
          val e = intercept[Exception](t.save(rows, options :+ ("registry.autoRegister" -> "false"): _*))
          assert(e.toString.contains("SCHEMA_NOT_FOUND"), e)
          assert(committed(blue, topic).size == 10 && committed(green, topic).isEmpty)
          assert(!two.requests.exists(_.path.endsWith("/versions")))
        }
      }
    }
  }
}
