package io.github.dynamickafka.sink

import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.immutable.SortedMap
import scala.jdk.CollectionConverters._

import org.apache.avro.Schema
import org.apache.avro.generic.{GenericDatumReader, GenericRecord}
import org.apache.avro.io.DecoderFactory
import org.apache.kafka.clients.producer.ProducerRecord
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.{Options, SinkOptions}
import io.github.dynamickafka.error.{DynamicKafkaIllegalArgumentException, DynamicKafkaRuntimeException}
import io.github.dynamickafka.format.avro.AvroConfluent
import io.github.dynamickafka.format.{NewestSchemas, SideFormat}
import io.github.dynamickafka.kafka.TaskSender.Record
import io.github.dynamickafka.metadata.{Topology, TopologyCluster, WriteEntry, WriteStream}
import io.github.dynamickafka.schemaregistry.RegistryServer.{Answer, serving, servingFrom}
import io.github.dynamickafka.schemaregistry.{RegistryServer, Subject, WireFormat}
import io.github.dynamickafka.testkit.TimeLimit

/** What rows become on clusters with registries, without brokers. */
class RegistryRecordsSuite extends AnyFunSuite with TimeLimit {
  private val ddl = "id INT, name STRING"

  private def entry(id: String, topics: String*) =
    WriteEntry(id, SortedMap.from(topics.map(_ -> None)), None, None)

  private def topology(entries: WriteEntry*) = Topology(
    streams = SortedMap("orders" -> WriteStream("orders", entries)),
    clusters =
      SortedMap.from(entries.map(e => e.cluster -> TopologyCluster(e.cluster, SortedMap.empty, Map.empty)))
  )

  private val both = topology(entry("blue", "t"), entry("green", "t"))

  /** The records of a query, as the driver and a task make them. */
  private final class Written(options: SinkOptions, ddl: String) {
    private val schema = StructType.fromDDL(ddl)
    private val base = InputColumns.of(schema, caseSensitive = false, options.records.format)
    private val frames = new ClusterFrames(options, base)

    def early(topology: Topology) = frames.of(topology).ids

    def record(topology: Topology, cluster: String, topic: String, values: Any*): Record = {
      val row = CatalystTypeConverters.createToCatalystConverter(schema)(Row.fromSeq(values))
        .asInstanceOf[InternalRow]
      val routed = base.reader()(row)
      val record: Record = new ProducerRecord(topic, null, null, routed.key, routed.value, null)
      frames.of(topology).format()(cluster, record)
    }
  }

  private def written(options: (String, String)*) = new Written(Options.parseSink(options: _*), ddl)

  private def confluent(blue: RegistryServer, green: RegistryServer) = Seq(
    "format" -> "avro-confluent",
    "cluster.blue.registry.url" -> blue.url,
    "cluster.green.registry.url" -> green.url
  )

  private def latest(server: RegistryServer, subject: String): Schema = {
    val found = NewestSchemas.common(
      SideFormat(AvroConfluent),
      Seq(Subject(server.settings(), subject))
    )
    new Schema.Parser().parse(found.avro.get)
  }

  private def read(schema: Schema, bytes: Array[Byte]): String =
    new GenericDatumReader[GenericRecord](schema).read(
      null,
      DecoderFactory.get().binaryDecoder(bytes, 5, bytes.length - 5, null)
    ).toString

  private def posts(server: RegistryServer) = server.requests.filter(_.method == "POST").map(_.path)

  private def failed(body: => Any): DynamicKafkaRuntimeException =
    intercept[DynamicKafkaRuntimeException] { val _ = body }

  test("each cluster gets the ids of its registry, for keys and values, and the same bytes after them") {
    serving { blue =>
      servingFrom(100) { green =>
        val of =
          written(confluent(blue, green) ++ Seq("keyFormat" -> "avro-confluent", "keyFields" -> "id"): _*)
        val Seq(b, g) = Seq("blue", "green").map(of.record(both, _, "t", 1, "a"))
        assert(Seq(b.value, b.key, g.value, g.key).map(WireFormat.id) == Seq(1, 2, 100, 101))
        assert(b.value.drop(5).toSeq == g.value.drop(5).toSeq)
        for (server <- Seq(blue, green)) {
          assert(posts(server) == Seq("/subjects/t-value/versions", "/subjects/t-key/versions"))
          assert(read(latest(server, "t-value"), b.value) == """{"id": 1, "name": "a"}""")
          assert(read(latest(server, "t-key"), b.key) == """{"id": 1}""")
        }
        // A later version of the records may have further columns.
        assert(latest(blue, "t-value").getField("name").hasDefaultValue)
      }
    }
  }

  test("json-confluent: the object, after the id of its JSON Schema; no key stays none") {
    serving { server =>
      val of = written(
        "format" -> "json-confluent",
        "registry.url" -> server.url,
        "json-confluent.ignoreNullFields" -> "false"
      )
      val record = of.record(both, "blue", "t", 1, null)
      assert(record.key == null && WireFormat.id(record.value) == 1)
      assert(new String(record.value.drop(5), UTF_8) == """{"id":1,"name":null}""")
      val schema = server.requests.head.body
      assert(schema.contains("\"schemaType\":\"JSON\"") && schema.contains("connect.type"), schema)
    }
  }

  test(
    "autoRegister=false: a schema that the subject does not have is found before a record, and none is added"
  ) {
    serving { blue =>
      serving { green =>
        val options = confluent(blue, green)
        written(options: _*).early(topology(entry("blue", "t")))
        val before = blue.requests.size
        val refusing = written(options :+ ("registry.autoRegister" -> "false"): _*)
        val e = failed(refusing.early(both))
        assert(e.getCondition == "DYNAMIC_KAFKA.SCHEMA_NOT_FOUND")
        Seq("'green'", "'t-value'", "registry.autoRegister").foreach(part =>
          assert(e.getMessage.contains(part), e.getMessage)
        )
        assert(posts(green) == Seq("/subjects/t-value") && blue.requests.size == before)
        // The option of one cluster.
        val own = options :+ ("cluster.green.registry.autoRegister" -> "false")
        assert(failed(written(own: _*).early(both)).getMessage.contains("'green'"))
      }
    }
  }

  test("only what rows cannot change is asked for early; a topic without records gets no schema") {
    serving { server =>
      val options = Seq("format" -> "avro-confluent", "registry.url" -> server.url)
      def early(ddl: String, topology: Topology, more: (String, String)*) = {
        val found = new Written(Options.parseSink(options ++ more: _*), ddl).early(topology)
        found.keySet.map(p => p.cluster -> p.topic)
      }
      assert(early(ddl, both) == Set("blue" -> "t", "green" -> "t"))
      assert(early(ddl, both, "clusterRouting" -> "first") == Set("blue" -> "t"))
      assert(early(ddl, both, "clusterRouting" -> "all").size == 2)
      assert(early(ddl, both.leavingOut(Set("green"))) == Set("blue" -> "t"))
      assert(early(ddl, topology(entry("blue", "t", "u"))).isEmpty)
      Seq("cluster", "stream").foreach(column => assert(early(s"$ddl, $column STRING", both).isEmpty))
      assert(server.requests.forall(_.path == "/subjects/t-value/versions"))
      val record = written(options: _*).record(topology(entry("blue", "t", "u")), "blue", "u", 1, "a")
      assert(WireFormat.hasHeader(record.value) && posts(server).last == "/subjects/u-value/versions")
    }
  }

  test(
    "a registry that refuses the schema or the credentials, or does not respond, before a record is written"
  ) {
    serving { server =>
      val options = Seq("format" -> "avro-confluent", "registry.url" -> server.url)
      val of = written(options: _*)
      server.behave = _ => Some(Answer(409, """{"error_code": 409}"""))
      val refused = intercept[DynamicKafkaIllegalArgumentException](of.early(both))
      assert(refused.getCondition == "DYNAMIC_KAFKA.INVALID_SCHEMA")
      server.behave = _ => Some(Answer(401))
      assert(failed(of.early(both)).getCondition == "DYNAMIC_KAFKA.REGISTRY_AUTHENTICATION_FAILED")
      server.stop()
      val impatient = written(options :+ ("registry.timeoutMs" -> "50"): _*)
      assert(failed(impatient.early(both)).getCondition == "DYNAMIC_KAFKA.REGISTRY_UNAVAILABLE")
    }
  }

  test("the metadata has the registry of a cluster: of a catalog, and below the options of the query") {
    serving { blue =>
      servingFrom(100) { green =>
        val options = Seq("format" -> "avro-confluent", "registry.url" -> blue.url)
        val entries = both.streams("orders").clusters
        val changed = Topology(
          streams = SortedMap("orders" -> WriteStream(
            "orders",
            entries.map(e =>
              if (e.cluster == "green") e.copy(registry = Map("registry.url" -> green.url)) else e
            )
          )),
          clusters = both.clusters
        )
        val all = new CaseInsensitiveStringMap((Map(
          "metadataService" -> "file",
          "streamId" -> "orders"
        ) ++ options).asJava)
        def id(stated: Set[String], isCatalogTable: Boolean = true) = {
          val parsed = SinkOptions.parse(all, isCatalogTable, stated)
          WireFormat.id(new Written(parsed, ddl).record(changed, "green", "t", 1, "a").value)
        }
        assert(id(Set.empty) == 100)
        assert(id(Set("registry.url")) == 1 && id(Set("avro-confluent.URL")) == 1 && id(
          Set.empty,
          isCatalogTable = false
        ) == 1)
      }
    }
  }

  test("json: the schema says how times are written") {
    serving { server =>
      def types(more: (String, String)*) = {
        val options = Seq("format" -> "json-confluent", "registry.url" -> server.url) ++ more
        new Written(Options.parseSink(options: _*), "at TIMESTAMP, d DATE").early(both)
        "\"format\\\\\":\\\\\"(date[a-z-]*)".r.findAllMatchIn(server.requests.last.body).map(_.group(1)).toSeq
      }
      assert(types() == Seq("date-time", "date"))
      assert(types("json-confluent.timestampFormat.standard" -> "SQL") == Seq("date"))
      assert(types("json-confluent.timestampFormat" -> "yyyy", "json-confluent.dateFormat" -> "yyyy").isEmpty)
    }
  }
}
