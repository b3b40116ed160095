package io.github.dynamickafka.source.history

import java.nio.file.{Files, Path}

import scala.collection.immutable.SortedMap

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.{col, lit}
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException
import io.github.dynamickafka.metadata.{Topology, TopologyCluster, TopologyHistory, TopologyTopic}
import io.github.dynamickafka.source.Query
import io.github.dynamickafka.testkit.TimeLimit

/** Histories that are refused when a query starts, before Kafka is asked. */
class HistoryListingSuite extends AnyFunSuite with TimeLimit {
  private lazy val spark = Query.spark
  private lazy val folder = Files.createTempDirectory("histories")

  /** Three records of the stream `orders` in each of two clusters. */
  private lazy val records: DataFrame = spark.range(6).selectExpr(
    "binary(string(id)) AS key",
    "binary(concat('v', id)) AS value",
    "'t' AS topic",
    "0 AS partition",
    "id DIV 2 AS offset",
    "timestamp_millis(id) AS timestamp",
    "0 AS timestampType",
    "if(id % 2 = 0, 'blue', 'green') AS cluster",
    "'orders' AS stream"
  )

  private def write(frame: DataFrame, name: String, format: String = "parquet"): Path = {
    val path = folder.resolve(name)
    frame.write.format(format).save(path.toString)
    path
  }

  private def listed(history: TopologyHistory, clusters: String*) = {
    spark.version
    val topics = SortedMap("t" -> TopologyTopic("orders"))
    val all = SortedMap.from(clusters.map(id => id -> TopologyCluster(id, topics, Map.empty)))
    new HistoryListing(None)(Topology(all, histories = SortedMap("orders" -> history)))
  }

  private def list(path: Path, format: String = "parquet") =
    listed(TopologyHistory(format, path.toString), "blue", "green")

  private def assertRefused(condition: String, texts: String*)(attempt: => Any): Unit = {
    val e = intercept[DynamicKafkaIllegalArgumentException] { val _ = attempt }
    assert(e.getCondition == s"DYNAMIC_KAFKA.$condition", e)
    texts.foreach(part => assert(e.getMessage.contains(part), e))
  }

  test("the records as a query would archive them are listed") {
    val plan = list(write(records, "good"))
    assert(plan.tables("orders").files.nonEmpty && plan.tables("orders").ends.keySet == Set("blue", "green"))
  }

  test("a history that cannot be planned is METADATA_INVALID with its path") {
    val path = write(records, "parquet")
    val missing = folder.resolve("missing")
    val noFiles = Files.createDirectory(folder.resolve("none"))
    Seq(
      (missing, "parquet") -> Seq("does not exist"),
      (path, "delta") -> Seq("'delta'", "'parquet'"),
      (path, "iceberg") -> Seq("'iceberg'", "add Iceberg's runtime"),
      (path, "orc") -> Seq("cannot be read"),
      (noFiles, "parquet") -> Seq("cannot be read")
    ).foreach { case ((at, format), says) =>
      assertRefused("METADATA_INVALID", says :+ "stream 'orders'" :+ at.toString: _*)(list(at, format))
    }
  }

  test("rows that cannot be placed are METADATA_INVALID, columns that do not fit are INVALID_SCHEMA") {
    Seq(
      (
        "null",
        records.withColumn("offset", lit(null).cast("long")),
        "METADATA_INVALID",
        "no value in column 'offset'"
      ),
      ("other", records.withColumn("stream", lit("other")), "METADATA_INVALID", "stream 'other'"),
      (
        "text",
        records.withColumn("value", col("value").cast("string")),
        "INVALID_SCHEMA",
        "no binary column 'value'"
      ),
      ("time", records.drop("timestamp"), "INVALID_SCHEMA", "no column 'timestamp'"),
      ("type", records.withColumn("partition", lit("0")), "INVALID_SCHEMA", "'partition' does not fit")
    ).foreach { case (name, bad, condition, says) =>
      assertRefused(condition, says)(list(write(bad, name)))
    }
  }

  test("JSON with a damaged line is METADATA_INVALID") {
    val path = write(records, "json", "json")
    assert(list(path, "json").tables("orders").files.nonEmpty)
    Files.writeString(path.resolve("part-x.json"), "{\"value\": ")
    assertRefused("METADATA_INVALID")(list(path, "json"))
  }

  test("rows of a topic, and a cluster of the history, that nothing of the stream has are refused by name") {
    val ofBlue = write(records.where("cluster = 'blue'").drop("cluster", "stream"), "one")
    def of(cluster: Option[String]) = TopologyHistory("parquet", ofBlue.toString, cluster = cluster)
    assert(listed(of(Some("blue")), "blue", "green").tables("orders").cluster.contains("blue"))
    assertRefused("METADATA_INVALID", "set 'cluster' of the history")(listed(of(None), "blue", "green"))
    assertRefused("METADATA_INVALID", "cluster 'bleu' is none")(listed(of(Some("bleu")), "blue"))
    val other = write(records.withColumn("topic", lit("ordres")), "ordres")
    assertRefused("METADATA_INVALID", "rows of cluster 'blue' have topic 'ordres'")(list(other))
  }
}
