package io.github.dynamickafka.source

import java.nio.file.Files

import scala.collection.mutable

import org.apache.avro.Schema
import org.apache.avro.generic.GenericData
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.format.avro.RandomAvro
import io.github.dynamickafka.schemaregistry.{RegistryServer, WireFormat}

/** Formats with a registry, on brokers; what the decoder makes of a record is tested in `format.decode`. */
class RegistryFormatsSuite extends Queries {

  private def record(id: Int, schema: String, values: Any*): Array[Byte] = {
    val parsed = new Schema.Parser().parse(schema)
    val made = new GenericData.Record(parsed)
    values.zipWithIndex.foreach { case (value, i) => made.put(i, value) }
    WireFormat.framed(id, RandomAvro.encoded(parsed, made))
  }

  private def schema(fields: String*) =
    s"""{"type":"record","name":"Order","fields":[${fields.mkString(",")}]}"""
  private val int = """{"name":"id","type":"int"}"""
  private val long = """{"name":"id","type":"long"}"""
  private val name = """{"name":"name","type":"string","default":"none"}"""

  test("two clusters whose registries give one id to different schemas; a registry that is down afterwards") {
    val topic = newTopicOn(1, blue, green)
    RegistryServer.serving { first =>
      RegistryServer.serving { second =>
        val (one, two) = (schema(int), schema(name, long))
        val id = first.register("x", one)
        assert(second.register("x", two) == id)
        first.register(s"$topic-value", schema(long, name))
        produceBytes(blue, topic, record(id, one, 1), record(99, one, 2), null)
        produceBytes(green, topic, record(id, two, "b", 3L))
        scene { of =>
          of.orders(Entry("blue", blue, topic), Entry("green", green, topic))
          val options = Seq(
            "format" -> "avro-confluent",
            "schema" -> "registry",
            "cluster.blue.registry.url" -> first.url,
            "cluster.green.registry.url" -> second.url,
            "registry.timeoutMs" -> "2s",
            "parseErrors" -> "keep"
          )
          val frame = of.frame(options: _*)
          assert(frame.columns.take(2).toSeq == Seq("id", "name"))
          val checkpoint = of.folder.resolve("own").toString
          val table = s"registry_${System.nanoTime}"
          def run(): Unit = {
            val query = frame.writeStream.format("memory").queryName(table)
              .option(
                "checkpointLocation",
                checkpoint
              ).outputMode("append").trigger(Trigger.AvailableNow()).start()
            try assert(query.awaitTermination(300000))
            finally query.stop()
          }
          run()
          val rows =
            spark.table(table).select("id", "name", "cluster", "_decode_error").collect().map(_.toSeq).toSet
          assert(rows.filter(_(3) == null) == Set(
            row(1L, "none", "blue", null),
            row(3L, "b", "green", null),
            row(null, null, "blue", null)
          ))
          val bad = rows.filter(_(3) != null)
          assert(bad.size == 1 && bad.head(3).toString.contains("schema id 99"))

          // The ids that this process has are enough.
          Seq(first, second).foreach(_.stop())
          produceBytes(blue, topic, record(id, one, 5))
          val starts = s"""{"blue":{"$topic":{"0":3}},"green":{"$topic":{"0":0}}}"""
          val more = Seq("schema" -> "id BIGINT", "startingOffsets" -> starts)
          val failing = of.batch(options.filterNot(_._1 == "schema") ++ more: _*)
          assert(failing.where("id = 5").count() == 1)
          produceBytes(green, topic, record(id + 1, two, "c", 6L))
          val e = intercept[Exception](failing.collect())
          val all =
            Iterator.iterate[Throwable](e)(_.getCause).takeWhile(_ != null).map(_.toString).mkString(" ")
          Seq("REGISTRY_UNAVAILABLE", s"schema id ${id + 1}", "cluster 'green'", second.url).foreach(part =>
            assert(all.contains(part), all)
          )
        }
      }
    }
  }

  test("a topic that enters together with another registry of its cluster is decoded with that registry") {
    val (one, two) = (newTopicOn(1, blue), newTopicOn(1, blue))
    RegistryServer.serving { first =>
      RegistryServer.serving { second =>
        val (before, after) = (schema(long, name), schema(name, long))
        val id = first.register("x", before)
        assert(second.register("x", after) == id)
        produceBytes(blue, one, record(id, before, 1L, "a"))
        produceBytes(blue, two, record(id, after, "b", 2L))
        scene { of =>
          val entry = Entry("blue", blue, one)
          of.orders(entry.in("registry.url" -> first.url))
          of.service.formats =
            Map("orders" -> Map("format" -> "avro-confluent", "schema" -> "id BIGINT, name STRING"))
          val table = s"registry_${System.nanoTime}"
          val query = of.frame("format" -> "metadata").writeStream.format("memory").queryName(table)
            .option("checkpointLocation", of.folder.resolve("own").toString).start()
          def rows = spark.table(table).select("id", "name", "topic").collect().map(_.toSeq).toSet
          try {
            waitFor("the first topic")(rows.nonEmpty)
            of.orders(entry.copy(topics = Seq(one, two)).in("registry.url" -> second.url))
            waitFor("the second topic")(rows.size == 2)
            assert(rows == Set(row(1L, "a", one), row(2L, "b", two)))
          } finally query.stop()
        }
      }
    }
  }

  test("a batch that is repeated after a restart is decoded with the registry that its cluster has now") {
    val topic = newTopicOn(1, blue)
    RegistryServer.serving { second =>
      RegistryServer.serving { first =>
        val (before, after) = (schema(long, name), schema(name, long))
        val id = first.register("x", before)
        assert(second.register("x", after) == id)
        produceBytes(blue, topic, record(id, after, "b", 2L))
        scene { of =>
          of.service.formats =
            Map("orders" -> Map(
              "format" -> "avro-confluent",
              "schema" -> "id BIGINT, name STRING",
              "parseErrors" -> "null"
            ))
          val checkpoint = of.folder.resolve("own")
          def run(registry: RegistryServer): Set[Seq[Any]] = {
            of.orders(Entry("blue", blue, topic).in("registry.url" -> registry.url))
            val rows = mutable.Set.empty[Seq[Any]]
            val query = of.frame("format" -> "metadata").select("id", "name").writeStream
              .foreachBatch { (batch: DataFrame, _: Long) =>
                val _ = rows ++= batch.collect().map(_.toSeq)
              }
              .option("checkpointLocation", checkpoint.toString).trigger(Trigger.AvailableNow()).start()
            try assert(query.awaitTermination(300000))
            finally query.stop()
            rows.toSet
          }
          assert(run(first) != Set(row(2L, "b")))
          for (file <- Seq("0", ".0.crc")) Files.deleteIfExists(checkpoint.resolve("commits").resolve(file))
          assert(run(second) == Set(row(2L, "b")))
        }
      }
    }
  }
}
