package io.github.dynamickafka.source

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.config.SourceOptionSpecs
import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException

/** A table of a catalog has its columns before Spark passes the options of a query. */
class TableColumnsSuite extends Queries {
  private val base = Map(
    "metadataService" -> "file",
    "metadataService.path" -> "/streams.yaml",
    "streamIds" -> "orders",
    "schema" -> "id INT, item STRING"
  )

  private def table(options: Map[String, String]) = {
    val _ = spark
    val parsed = DynamicKafkaTable.parse(new CaseInsensitiveStringMap(options.asJava), isCatalogTable = true)
    def merged(ofQuery: CaseInsensitiveStringMap) =
      new CaseInsensitiveStringMap((options ++ ofQuery.asCaseSensitiveMap.asScala).asJava)
    DynamicKafkaTable.of(parsed, None, ofTable = Some(merged))
  }

  private def scan(of: Map[String, String], query: (String, String)) =
    table(of).newScanBuilder(new CaseInsensitiveStringMap(Map(query).asJava)).build()

  test("a query that adds or removes the columns of bad records is refused") {
    val keeps = base ++ Map("format" -> "json", "parseErrors" -> "keep")
    Seq("drop", "fail", "null").foreach { other =>
      val e = intercept[DynamicKafkaIllegalArgumentException](scan(keeps, "parseErrors" -> other))
      assert(e.getCondition == "DYNAMIC_KAFKA.INVALID_OPTION")
      Seq("parseErrors", other, "_corrupt_record").foreach(part => assert(e.getMessage.contains(part)))
    }
    assertThrows[DynamicKafkaIllegalArgumentException](scan(
      base + ("format" -> "json"),
      "parseErrors" -> "keep"
    ))
    assert(scan(keeps, "maxOffsetsPerTrigger" -> "5").readSchema().fieldNames.contains("_corrupt_record"))
  }

  test("with any option in a query, the rows have the columns of the table, or the query is refused") {
    val tables = for {
      format <- Seq("json", "csv", "avro", "debezium-json")
      errors <- Seq("fail", "keep", "drop")
    } yield base ++ Map("format" -> format, "parseErrors" -> errors)
    val values =
      Seq("true", "false", "keep", "drop", "fail", "json", "string", "id", "EXCEPT_KEY", "5", "x_", "")
    var (same, refused) = (0, 0)
    val queries = for {
      name <- SourceOptionSpecs.table.all.map(_.name) ++ Seq("avro.recursiveFieldMaxDepth", "json.mode")
      value <- values
    } yield name -> value
    // Each option with each value meets one of the tables.
    for (((name, value), i) <- queries.zipWithIndex; of = tables((i + i / values.size) % tables.size))
      Try(scan(of, name -> value)).fold(
        e => {
          assert(e.isInstanceOf[DynamicKafkaIllegalArgumentException], s"$name=$value: $e"); refused += 1
        },
        found => { assert(found.readSchema() == table(of).schema(), s"$name=$value"); same += 1 }
      )
    assert(same > 200 && refused > 200, s"$same, $refused")
  }
}
