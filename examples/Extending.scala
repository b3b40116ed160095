package example

import java.io.IOException
import java.net.URI
import java.net.http.HttpResponse.BodyHandlers
import java.net.http.{HttpClient, HttpRequest}
import java.nio.charset.StandardCharsets.UTF_8
import java.time.Duration
import java.{util => ju}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import io.github.dynamickafka.extension.{
  CustomFormat,
  RecordReader,
  RecordWriter,
  SourceRecord,
  TargetRecord
}
import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaMetadataService, KafkaStream}
import io.github.dynamickafka.{DynamicKafka, OffsetsInitializer}
import org.apache.kafka.common.serialization.{Deserializer, Serializer}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{DataFrame, Row, SparkSession}

// docs/extending.md shows parts of this file, and tests/readme runs them.

/** The streams in Consul: a key `kafka/<stream>/<cluster>` has the bootstrap servers of a cluster with the topic `<stream>`. */
class ConsulService(arguments: ju.Map[String, String]) extends KafkaMetadataService {
  private val request =
    HttpRequest.newBuilder(URI.create(s"${arguments.get("url")}/v1/kv/kafka/?recurse=true"))
      .timeout(Duration.ofSeconds(10)).build()

  override def getAllStreams(): ju.Set[KafkaStream] = {
    val answer = HttpClient.newHttpClient().send(request, BodyHandlers.ofString())
    if (answer.statusCode != 200) throw new IOException(s"Consul responded with status ${answer.statusCode}")
    val entries = new ObjectMapper().readTree(answer.body).elements.asScala.toSeq.map { entry =>
      val Array(_, stream, cluster) = entry.get("Key").asText.split("/")
      val servers = new String(ju.Base64.getDecoder.decode(entry.get("Value").asText), UTF_8)
      stream -> (cluster -> ClusterMetadata(Seq(stream), Map("bootstrap.servers" -> servers)))
    }
    entries.groupMap(_._1)(_._2).map { case (stream, clusters) =>
      KafkaStream(stream, clusters.toMap)
    }.toSet.asJava
  }

  override def describeStreams(streamIds: ju.Collection[String]): ju.Map[String, KafkaStream] =
    getAllStreams().asScala.filter(s => streamIds.contains(s.streamId)).map(s => s.streamId -> s).toMap.asJava

  override def isClusterActive(clusterId: String): Boolean = true

  override def close(): Unit = ()
}

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
