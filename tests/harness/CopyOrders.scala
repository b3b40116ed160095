import io.github.dynamickafka.{DynamicKafka, FileMetadataService}
import org.apache.spark.sql.SparkSession

/** The same program as `copy_orders.py`, with the same arguments. */
object CopyOrders {
  def main(args: Array[String]): Unit = {
    val (streams, checkpoint, at, marker) = (args(0), args(1), args(2), args(3))
    val spark = SparkSession.builder().getOrCreate()
    val metadata = FileMetadataService(streams)
    val orders = DynamicKafka
      .builder(spark)
      .setKafkaMetadataService(metadata)
      .setStreamIds("orders")
      .setOption("maxRecordsPerPartition", "10")
      .load()
    val value = "string(value)"
    val hit = s"java_method('io.github.dynamickafka.testkit.TaskFaults', 'once', $value, '$at', 'hang', '$marker')"
    DynamicKafka
      .writer(orders.selectExpr("key", s"concat($value, $hit) AS value"))
      .setKafkaMetadataService(metadata)
      .setStreamId("copies")
      .setDeliveryGuarantee("exactly-once")
      .start(checkpoint)
      .awaitTermination()
  }
}
