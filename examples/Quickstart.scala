import io.github.dynamickafka.{DynamicKafka, FileMetadataService, OffsetsInitializer}
import org.apache.spark.sql.SparkSession

/**
 * Counts the orders of every cluster, while clusters are added and removed: examples/quickstart.py in Scala.
 *
 * {{{
 * spark-shell --packages io.github.dynamickafka:dynamic-kafka-spark-4.2_2.13:0.1.0-SNAPSHOT -i examples/Quickstart.scala
 * scala> Quickstart.main(Array("examples/streams.yaml"))
 * }}}
 */
object Quickstart {
  def main(args: Array[String]): Unit = {
    val spark = SparkSession.builder().appName("quickstart").getOrCreate()
    val orders = DynamicKafka
      .builder(spark)
      .setKafkaMetadataService(FileMetadataService(args.headOption.getOrElse("examples/streams.yaml")))
      .setStreamIds("orders")
      .setStartingOffsets(OffsetsInitializer.earliest())
      .setMetadataDiscoveryInterval("1s")
      .load()

    val counts = orders.groupBy("stream", "cluster").count()
    counts.writeStream.format("console").outputMode("complete").start().awaitTermination()
  }
}
