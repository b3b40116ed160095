package io.github.dynamickafka.smoke

import java.nio.file.{Files, Path}

import scala.util.Using

import org.apache.kafka.common.utils.AppInfoParser
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.{DataFrame, SparkSession}

import io.github.dynamickafka.testkit.{KafkaCluster, KafkaClusters, Record}

/**
 * Shows that the connector works on the Spark line of this build, or with another Kafka client: a stream on two Kafka clusters is read in a batch and
 * in a streaming query, and is written with each delivery guarantee.
 */
object Smoke {
  private val Topic = "orders"
  private val Small = "small"
  private val written = (1 to 40).map(i => s"record-$i")

  def main(args: Array[String]): Unit = {
    val folder = Files.createTempDirectory("dynamic-kafka-smoke-")
    val clusters = KafkaClusters.start("blue", "green")
    try {
      clusters.foreach(_.createTopic(Topic, partitions = 2))
      clusters.foreach(_.createTopic(Small, partitions = 1, Map("max.message.bytes" -> "3000")))
      val metadata = Files.writeString(folder.resolve("streams.json"), document(clusters))
      val session = SparkSession.builder().master("local[2]").config("spark.ui.enabled", "false")
        .config("spark.log.level", "WARN").getOrCreate()
      Using.resource(session)(run(_, folder, metadata, clusters))
    } finally clusters.foreach(_.stop())
  }

  private def run(spark: SparkSession, folder: Path, metadata: Path, clusters: Seq[KafkaCluster]): Unit = {
    import spark.implicits._
    clusters.foreach(_.produce(Topic, written.zipWithIndex.map { case (v, i) => Record(i % 2, None, v) }))
    val options = Map("metadataService" -> "file", "metadataService.path" -> metadata.toString)
    def read(frame: DataFrame) = frame.select($"cluster", $"value".cast("string")).as[(String, String)]
    val stored = clusters.flatMap(c => written.map(c.name -> _))

    val batch = spark.read.format("dynamic-kafka").options(options).option("streamIds", Topic).load()
    check("a batch read", read(batch).collect().toSeq, stored)

    val stream = spark.readStream.format("dynamic-kafka").options(options).option("streamIds", Topic)
    val query = read(stream.option("startingOffsets", "earliest").load())
      .writeStream.format("memory").queryName("seen").trigger(Trigger.AvailableNow()).start()
    query.awaitTermination()
    check("a streaming read", spark.table("seen").as[(String, String)].collect().toSeq, stored)

    val source =
      Files.writeString(Files.createDirectory(folder.resolve("in")).resolve("values.txt"), "written\n")
    Seq("at-least-once", "exactly-once").foreach { guarantee =>
      spark.readStream.text(source.getParent.toString)
        .selectExpr(s"'$guarantee' AS value")
        .writeStream.format("dynamic-kafka").options(options)
        .option("streamId", Topic).option("deliveryGuarantee", guarantee)
        .option("checkpointLocation", folder.resolve(guarantee).toString)
        .trigger(Trigger.AvailableNow()).start().awaitTermination()
      val found = clusters.flatMap(_.dump(Topic, committedOnly = true).map(_.value)).count(_ == guarantee)
      check(s"a write, $guarantee", Seq.fill(found)(guarantee), Seq(guarantee))
    }
    splits(spark, options, clusters)
    println(s"Spark ${spark.version}, Kafka client ${AppInfoParser.getVersion}: read and written")
  }

  /** In Kafka clients up to 3.9.1 and 4.1.0, `flush` does not wait for the parts of a batch that is split. */
  private def splits(spark: SparkSession, options: Map[String, String], clusters: Seq[KafkaCluster]): Unit = {
    // Rows that compress well, until the producer puts more rows into a batch than the topic takes of the last rows.
    val rows = spark.range(0L, 4020L, 1L, 1).selectExpr(
      "concat(id, if(id < 4000, repeat('a', 200), concat(sha2(string(id), 512), sha2(string(-id), 512)))) as value"
    )
    rows.write.format("dynamic-kafka").options(options).mode("append")
      .option("streamId", Small).option("deliveryGuarantee", "exactly-once")
      .option("checkpointLocation", Files.createTempDirectory("dynamic-kafka-smoke-jobs-").toString)
      .option(
        "kafka.compression.type",
        "lz4"
      ).option("kafka.batch.size", "1000").option("kafka.linger.ms", "1000")
      .save()
    val found = clusters.flatMap(_.dump(Small, committedOnly = true).map(_.value))
    check("a write with batches that are split", found, rows.collect().map(_.getString(0)).toSeq)
  }

  private def check[A](what: String, found: Seq[A], expected: Seq[A]): Unit = {
    val (lost, more) = (expected.diff(found), found.diff(expected))
    if (lost.nonEmpty || more.nonEmpty)
      throw new AssertionError(s"$what: missing ${lost.take(5)}, unexpected ${more.take(5)}")
  }

  private def document(clusters: Seq[KafkaCluster]): String = {
    def entries(of: KafkaCluster => String) = clusters.map(of).mkString("{", ",", "}")
    val addresses =
      entries(c => s""""${c.name}":{"properties":{"bootstrap.servers":"${c.bootstrapServers}"}}""")
    def topics(topic: String) = entries(c => s""""${c.name}":{"topics":["$topic"]}""")
    val streams =
      Seq(Topic, Small).map(topic => s""""$topic":{"clusters":${topics(topic)}}""").mkString("{", ",", "}")
    s"""{"version":1,"clusters":$addresses,"streams":$streams}"""
  }
}
