package io.github.dynamickafka.source

import org.apache.spark.sql.DataFrame
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.DynamicKafkaCatalog
import io.github.dynamickafka.config.Options.refused
import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.format.MetadataColumn
import io.github.dynamickafka.schemaregistry.RegistryServer
import io.github.dynamickafka.testkit.{NotInFast, TimeLimit}

/** `schema=registry`: no broker is asked, so there is none. */
class RegistrySchemasSuite extends AnyFunSuite with TimeLimit {

  /** The cluster `zeta` is the first of the document. */
  private val document =
    """{"version": 1, "clusters": {
      |"zeta": {"properties": {"bootstrap.servers": "localhost:1"}},
      |"alpha": {"properties": {"bootstrap.servers": "localhost:2"}}},
      |"streams": {"orders": {"clusters": {"zeta": {"topics": ["one"]}, "alpha": {"topics": ["two"]}}},
      |"matching": {"clusters": {"zeta": {"topic_pattern": "x.*"}}}}}""".stripMargin

  private def frame(zeta: RegistryServer, alpha: RegistryServer, more: (String, String)*): DataFrame = {
    val options = Map(
      "metadataService" -> "static",
      "metadataService.document" -> document,
      "streamIds" -> "orders",
      "format" -> "avro-confluent",
      "schema" -> "registry",
      "cluster.zeta.registry.url" -> zeta.url,
      "cluster.alpha.registry.url" -> alpha.url,
      "metadataColumns" -> ""
    ) ++ more
    Query.spark.readStream.format("dynamic-kafka").options(options).load()
  }

  private def both(body: (RegistryServer, RegistryServer) => Unit): Unit =
    RegistryServer.serving(zeta => RegistryServer.serving(alpha => body(zeta, alpha)))

  private def record(fields: String*) =
    s"""{"type":"record","name":"Order","fields":[${fields.mkString(",")}]}"""
  private val id = """{"name":"id","type":"long"}"""
  private val country = """{"name":"country","type":"string","default":"none"}"""

  test(
    "the newest schema at the first cluster of the document, and those of the others resolve to it",
    NotInFast
  ) {
    both { (zeta, alpha) =>
      zeta.register("one-value", record(id))
      zeta.register("one-value", record(id, country))
      alpha.register("two-value", record("""{"name":"id","type":"int"}"""))
      assert(frame(zeta, alpha).schema.toDDL == "id BIGINT,country STRING")
      assert(zeta.paths == Seq("/subjects/one-value/versions/latest"))
      assert(alpha.paths == Seq("/subjects/two-value/versions/latest"))

      alpha.register("two-value", record("""{"name":"id","type":"string"}"""))
      val e = refused(frame(zeta, alpha))
      assert(e.getCondition == "DYNAMIC_KAFKA.INVALID_SCHEMA")
      Seq("version 2 of subject 'two-value' (cluster 'alpha')", "version 2 of subject 'one-value'").foreach(
        part =>
          assert(e.getMessage.contains(part), e.getMessage)
      )
      // The query reads this cluster with another subject.
      zeta.register("own", record(id))
      alpha.register("own", record(id))
      assert(frame(zeta, alpha, "registry.subject" -> "own").schema.toDDL == "id BIGINT")
    }
  }

  private def envelope(table: String, fields: String*) =
    s"""{"type":"record","name":"Envelope","namespace":"$table","fields":[
       |{"name":"before","type":["null",{"type":"record","name":"Value","fields":[${fields.mkString(
        ","
      )}]}],"default":null},
       |{"name":"after","type":["null","Value"],"default":null},{"name":"op","type":"string"}]}""".stripMargin

  test(
    "debezium-avro-confluent: the columns are those of the changed table, whose name may differ",
    NotInFast
  ) {
    both { (zeta, alpha) =>
      zeta.register("one-value", envelope("eu.orders", id, country))
      alpha.register("two-value", envelope("us.orders", """{"name":"id","type":"int"}"""))
      def columns(more: (String, String)*) =
        frame(zeta, alpha, ("format" -> "debezium-avro-confluent") +: more: _*).schema.toDDL
      assert(columns() == "id BIGINT,country STRING,_change_type STRING")
      assert(columns("changeData" -> "envelope").contains("before STRUCT<id: BIGINT, country: STRING>"))
      assert(
        columns("metadataColumns" -> "cluster, value.source.table").endsWith("source_table STRING")
      )
      alpha.register("two-value", envelope("us.orders", """{"name":"id","type":"string"}"""))
      assert(refused(columns()).getMessage.contains("version 2 of subject 'two-value' (cluster 'alpha')"))
      zeta.register("one-value", record(id))
      val e = refused(columns())
      assert(e.getCondition == "DYNAMIC_KAFKA.INVALID_SCHEMA" && e.getMessage.contains(
        "no records 'before' and 'after'"
      ))
    }
  }

  test("logical types of another unit do not resolve", NotInFast) {
    both { (zeta, alpha) =>
      def at(unit: String) =
        record(s"""{"name":"at","type":{"type":"long","logicalType":"timestamp-$unit"}}""")
      zeta.register("one-value", at("micros"))
      alpha.register("two-value", at("millis"))
      assert(refused(frame(zeta, alpha)).getMessage.contains("'at' has another logical type"))
    }
  }

  test("JSON Schema", NotInFast) {
    both { (zeta, alpha) =>
      def schema(a: String) = s"""{"type":"object","properties":{"a":{"type":"$a"}}}"""
      val json = "format" -> "json-confluent"
      zeta.register("one-value", schema("integer"), "JSON")
      alpha.register("two-value", schema("integer"), "JSON")
      assert(frame(zeta, alpha, json).schema.toDDL == "a BIGINT")
      assert(refused(frame(zeta, alpha)).getMessage.contains("has the type JSON"))
      alpha.register("two-value", schema("boolean"), "JSON")
      assert(refused(frame(zeta, alpha, json)).getMessage.contains("'a' is BOOLEAN, not BIGINT"))
    }
  }

  test("no version, no subject, a schema given to Spark; a registry is asked only for its schema", NotInFast) {
    both { (zeta, alpha) =>
      val e = intercept[DynamicKafkaRuntimeException](frame(zeta, alpha))
      assert(e.getCondition == "DYNAMIC_KAFKA.SCHEMA_NOT_FOUND" && e.getMessage.contains("one-value"))
      assert(refused(frame(zeta, alpha, "streamIds" -> "matching")).getMessage.contains("registry.subject"))
      val before = zeta.requests.size + alpha.requests.size
      assert(frame(zeta, alpha, "schema" -> "id INT").schema.toDDL == "id INT")
      val user = Query.spark.readStream.format("dynamic-kafka").schema("id INT")
      val options =
        Map("metadataService" -> "static", "metadataService.document" -> document, "streamIds" -> "orders")
      val confluent = options ++ Map("format" -> "avro-confluent", "registry.url" -> zeta.url)
      assert(user.options(confluent).load().schema.toDDL == "id INT")
      assert(zeta.requests.size + alpha.requests.size == before)
      assert(refused(
        user.options(confluent + ("schema" -> "registry")).load()
      ).getMessage.contains("only one of the two"))
    }
  }

  test("tables: the registry of a cluster in the stream, of the stream, or of the cluster", NotInFast) {
    both { (zeta, alpha) =>
      RegistryServer.serving { own =>
        def document(stream: String, entry: String) =
          s"""{"version": 1, "clusters": {
             |"zeta": {"properties": {"bootstrap.servers": "localhost:1"}, "registry": "${zeta.url}"},
             |"alpha": {"properties": {"bootstrap.servers": "localhost:2"}, "registry": {"url": "${alpha.url}"}}},
             |"streams": {"orders": {"format": "avro-confluent", "schema": "registry"$stream,
             |"clusters": {"zeta": {"topics": ["t"]$entry}, "alpha": {"topics": ["t"]}}},
             |"plain": {"format": "json", "schema": "a INT", "clusters": {"zeta": {"topics": ["p"]}}}}}""".stripMargin
        def columns(
            document: String,
            table: String = "orders",
            more: Map[String, String] = Map.empty
        ): String = {
          val k = s"k${java.util.UUID.randomUUID.toString.replace("-", "").take(8)}"
          val settings = Map("metadataService" -> "static", "metadataService.document" -> document) ++ more
          Query.spark.conf.set(s"spark.sql.catalog.$k", classOf[DynamicKafkaCatalog].getName)
          settings.foreach { case (name, value) =>
            Query.spark.conf.set(s"spark.sql.catalog.$k.$name", value)
          }
          Query.spark.table(s"$k.$table").drop(MetadataColumn.default.map(_.name): _*).schema.toDDL
        }
        zeta.register("t-value", record(id))
        alpha.register("t-value", record(id))
        own.register("t-value", record(id, country))
        assert(columns(document("", "")) == "id BIGINT")
        assert(Seq(zeta, alpha).forall(_.paths == Seq("/subjects/t-value/versions/latest")))
        // Of the settings, it is the last one.
        val setting = Map("registry.url" -> "http://localhost:1")
        assert(columns(document("", ""), "orders", setting) == "id BIGINT")
        val before = alpha.requests.size
        val wide = "id BIGINT,country STRING"
        assert(columns(document(s""", "registry": "${own.url}"""", "")) == wide)
        assert(alpha.requests.size == before)
        assert(columns(document("", s""", "registry": "${own.url}"""")) == wide)
        // Without a catalog.
        def byMetadata(document: String) = {
          val options = Map("metadataService" -> "static", "metadataService.document" -> document)
          Query.spark.readStream.format("dynamic-kafka").options(options)
            .options(Map("streamIds" -> "orders", "format" -> "metadata", "metadataColumns" -> ""))
            .load().schema.toDDL
        }
        assert(byMetadata(document("", "")) == "id BIGINT")
        assert(byMetadata(document("", s""", "registry": "${own.url}"""")) == wide)
        // A stream whose format has none.
        assert(columns(document("", ""), "plain", setting) == "a INT")
        val e = refused(columns(document("", """, "registry": {"ur": "secret"}""")))
        assert(e.getMessage.contains("'registry.ur' is not an option") && !e.getMessage.contains("secret"))
      }
    }
  }
}
