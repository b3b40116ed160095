package io.github.dynamickafka.catalog

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.Options.reference
import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException

/** Which settings of a catalog apply to reads and to writes, and which options of a query are refused. */
class CatalogSettingsSuite extends AnyFunSuite {
  private def settings(all: (String, String)*) = new CatalogSettings(Some("streams"), all.toMap)
  private def query(all: (String, String)*) = new CaseInsensitiveStringMap(all.toMap.asJava)
  private def map(options: CaseInsensitiveStringMap) = options.asCaseSensitiveMap.asScala.toMap

  private def refused(condition: String, text: String)(body: => Any): Unit = {
    val e = intercept[DynamicKafkaIllegalArgumentException](body)
    assert(e.getCondition == s"DYNAMIC_KAFKA.$condition" && e.getMessage.contains(text), e.getMessage)
    ()
  }

  private val both = Seq(
    "metadataService" -> "file",
    "metadataService.path" -> "/f",
    "kafka.security.protocol" -> "SSL",
    "cluster.blue.kafka.bootstrap.servers" -> "b:1"
  )

  test("each side gets its own options, those of both, and the stream") {
    val all = settings(
      both ++ Seq(
        "maxOffsetsPerTrigger" -> "5",
        "cluster.b.maxOffsetsPerTrigger" -> "1",
        "deliveryGuarantee" -> "none"
      ): _*
    )
    all.check()
    assert(
      map(all.forReading("orders", query())) == both.toMap ++
        Map("maxOffsetsPerTrigger" -> "5", "cluster.b.maxOffsetsPerTrigger" -> "1", "streamIds" -> "orders")
    )
    assert(
      map(all.forWriting("orders", query())) == both.toMap ++ Map(
        "deliveryGuarantee" -> "none",
        "streamId" -> "orders"
      )
    )
  }

  test(
    "classes of Kafka's interfaces with their properties: each side has its own, and they decide columns"
  ) {
    val of = Map("valueDeserializer" -> "a.B", "valueDeserializer.url" -> "u", "valueSerializer" -> "a.C")
    val all = settings(both ++ of: _*)
    all.check()
    val read = map(all.forReading("orders", query()))
    assert(read == both.toMap ++ of - "valueSerializer" + ("streamIds" -> "orders"))
    assert(map(all.forWriting("orders", query())) ==
      both.toMap + ("valueSerializer" -> "a.C") + ("streamId" -> "orders"))
    refused("INVALID_OPTION", "determines the columns")(
      all.forReading("orders", query("keyDeserializer" -> "a.B"))
    )
    val document = Map("format" -> "json", "schema" -> "id INT")
    val stated = map(all.forReading("orders", query(), document))
    assert(!stated.keys.exists(_.startsWith("valueDeserializer")) && stated("format") == "json")
  }

  test("an option of a query takes precedence, in whatever spelling") {
    val all = settings(both :+ ("max-offsets-per-trigger" -> "5"): _*)
    val found = map(all.forReading("orders", query("MaxOffsetsPerTrigger" -> "7")))
    assert(found.filter(_._1.toLowerCase.startsWith("max")) == Map("MaxOffsetsPerTrigger" -> "7"))
  }

  test("settings that select streams, and unknown ones, are refused with the name as it was written") {
    Seq("streamIds", "stream-pattern", "streamId").foreach(name =>
      refused("INVALID_OPTION", s"spark.sql.catalog.streams.$name")(settings(name -> "x").check())
    )
    refused("UNKNOWN_OPTION", "spark.sql.catalog.streams.deliveryGuarantee")(
      settings("deliveryGarantee" -> "none").check()
    )
    refused("UNKNOWN_OPTION", "spark.sql.catalog.streams.maxOffsetsPerTrigger")(
      settings("maxOfsetsPerTrigger" -> "1").check()
    )
  }

  test("a query cannot set what decides the columns or the stream") {
    val all = settings(both: _*)
    val late =
      Seq("format", "value.format", "keyFormat", "keyFields", "key.fields-prefix", "valueFieldsInclude") ++
        Seq(
          "schema",
          "metadataColumns",
          "metadataPrefix",
          "includeHeaders",
          "changeData",
          "streamIds"
        ) ++ Seq(
          "streamPattern",
          "protobuf.enums.as.ints",
          "value.protobuf.message-name",
          "avro.recursiveFieldMaxDepth"
        ) ++
        Seq("key.avro-confluent.enableStableIdentifiersForUnionType", "protobuf.descriptorFile")
    late.foreach(name =>
      refused(
        "INVALID_OPTION",
        s"spark.sql.catalog.streams.$name"
      )(all.forReading("orders", query(name -> "x")))
    )
    refused("INVALID_OPTION", "parseErrors")(all.forReading("orders", query("parseErrors" -> "keep")))
    assert(map(all.forReading("orders", query("parseErrors" -> "drop")))("parseErrors") == "drop")
    refused("INVALID_OPTION", "streamId")(all.forWriting("orders", query("streamId" -> "x")))
  }

  test("a query cannot set the metadata service, which has described the table before") {
    val all = settings(both: _*)
    for (
      name <- Seq("metadataService", "Metadataservice", "metadataService.path", "metadata-service.ttlMs")
    ) {
      refused("INVALID_OPTION", s"spark.sql.catalog.streams.$name")(all.forReading("o", query(name -> "x")))
      refused("INVALID_OPTION", s"spark.sql.catalog.streams.$name")(all.forWriting("o", query(name -> "x")))
    }
  }

  test("a query cannot set a secret, which Spark would print with its plan") {
    val all = settings(both: _*)
    for (
      name <-
        Seq("registry.basicAuth.userInfo", "avro-confluent.bearer-auth.token", "kafka.sasl.jaas.config")
    ) {
      val e = intercept[DynamicKafkaIllegalArgumentException](all.forReading("o", query(name -> "geheim")))
      assert(e.getMessage.contains(name) && !e.getMessage.contains("geheim"), e.getMessage)
      refused("INVALID_OPTION", name)(all.forWriting("o", query(name -> "geheim")))
      assert(map(all.forReading("o", query(name -> reference("env:X")))).contains(name))
    }
  }

  test("an option that the format of a stream needs is missed with the name of the stream") {
    val document =
      "{version: 1, clusters: {blue: {properties: {bootstrap.servers: 'b:1'}}}, streams: {orders: " +
        "{format: json, schema: id INT, options: {changeData: upsert}, clusters: {blue: {topics: [orders]}}}}}"
    val catalog = new StreamCatalog(
      "streams",
      Map("metadataService" -> "static", "metadataService.document" -> document),
      () => new Configuration
    )
    refused("MISSING_OPTION", "Stream 'orders'.")(catalog.table("orders"))
    refused("MISSING_OPTION", "Stream 'orders'.")(catalog.format(catalog.streams().head))
  }
}
