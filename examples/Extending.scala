package example

import java.nio.charset.StandardCharsets.UTF_8
import java.{util => ju}

import io.github.dynamickafka.extension.{
  CustomFormat,
  RecordReader,
  RecordWriter,
  SourceRecord,
  TargetRecord
}
import io.github.dynamickafka.{DynamicKafka, OffsetsInitializer}
import org.apache.kafka.common.serialization.{Deserializer, Serializer}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{DataFrame, Row, SparkSession}

// The parts of this file are those of docs/extending.md; tests/readme runs them.

object Offsets {
  def orders(spark: SparkSession): DataFrame = {
    // For example from a table of your own: the last offsets that another job has processed.
    val processed = Map(("blue", "orders", 0) -> 40L, ("blue", "orders", 1) -> 45L)

    DynamicKafka.builder(spark)
      .setKafkaMetadataService("file", Map("path" -> "streams.yaml"))
      .setStreamIds("orders")
      .setStartingOffsets(OffsetsInitializer.of((cluster, topic, partitions) =>
        partitions.map(p => p -> processed.getOrElse((cluster, topic, p), -2L)).toMap
      ))
      .load()
  }
}

/** The newest ten records of each partition of a topic with 50 records. */
class LastTen extends ((String, String, Seq[Int]) => Map[Int, Long]) {
  override def apply(cluster: String, topic: String, partitions: Seq[Int]): Map[Int, Long] =
    partitions.map(_ -> 40L).toMap
}

/** A number in another base, which a property sets. */
class Numbers extends Deserializer[java.lang.Long] {
  private var base = 10

  override def configure(properties: ju.Map[String, _], isKey: Boolean): Unit =
    Option(properties.get("base")).foreach(text => base = text.toString.toInt)

  override def deserialize(topic: String, data: Array[Byte]): java.lang.Long =
    java.lang.Long.valueOf(new String(data, UTF_8), base)
}

class NumberTexts extends Serializer[java.lang.Long] {
  override def serialize(topic: String, number: java.lang.Long): Array[Byte] =
    number.toString.getBytes(UTF_8)
}

/** A number as text, for example `42`. */
class Amounts extends CustomFormat {
  override def schema(): StructType = StructType.fromDDL("amount BIGINT")

  override def reader(columns: StructType): RecordReader =
    (record: SourceRecord) => Row(new String(record.bytes, UTF_8).toLong)

  override def writer(columns: StructType): RecordWriter = (row: Row, record: TargetRecord) => {
    record.addHeader("format", "amounts".getBytes(UTF_8))
    row.getLong(0).toString.getBytes(UTF_8)
  }
}
