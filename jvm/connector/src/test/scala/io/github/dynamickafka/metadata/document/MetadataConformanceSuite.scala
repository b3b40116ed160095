package io.github.dynamickafka.metadata.document

import java.{util => ju}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.Conformance
import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException
import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaStream, StreamHistory}

/** Documents that are accepted, with their streams, and documents that are refused, with line and text. */
class MetadataConformanceSuite extends AnyFunSuite {
  private val mapper = new ObjectMapper

  Conformance.cases("metadata").foreach { one =>
    val document = Conformance.texts(one.get("document")).mkString("\n")
    test(one.get("name").asText) {
      if (one.has("streams")) {
        val streams = MetadataDocument.parse(document, "file streams.yaml")
        val found = streams.map { case (id, stream) => id -> clusters(stream) }.asJava
        assert(mapper.valueToTree[JsonNode](found) == one.get("streams"))
        val options =
          streams.collect { case (id, s) if !s.getFormatOptions.isEmpty => id -> s.getFormatOptions }
        assert(
          mapper.valueToTree[JsonNode](options.asJava) ==
            Option(one.get("format_options")).getOrElse(mapper.createObjectNode())
        )
        val histories = streams.collect { case (id, s) if s.history != null => id -> fields(s.history) }
        assert(
          mapper.valueToTree[JsonNode](histories.asJava) ==
            Option(one.get("histories")).getOrElse(mapper.createObjectNode())
        )
        assert(streams.keys.toSeq == one.get("streams").fieldNames.asScala.toSeq)
      } else refused(document, one.get("refused"))
    }
  }

  private def refused(document: String, expected: JsonNode) = {
    val line = Option(expected.get("line")).filterNot(_.isNull).map(_.asInt)
    val errors = MetadataDocument.check(document).errors
    val says = Conformance.texts(expected.get("says"))
    assert(errors.exists(e => e.line == line && says.forall(e.text.contains)), errors)
    assert(errors.map(_.line.getOrElse(0)) == errors.map(_.line.getOrElse(0)).sorted)
    val e = intercept[DynamicKafkaIllegalArgumentException] {
      MetadataDocument.parse(document, "file streams.yaml")
    }
    assert(e.getCondition == "DYNAMIC_KAFKA.METADATA_INVALID")
    val first = errors.head.where.fold("")(where => s", $where")
    assert(e.getMessage.contains(s"file streams.yaml$first: ${errors.head.reason}"))
    assert(!e.getMessage.contains("hunter2"), "a value is printed")
    assert(e.getCause == null, "the parser's own exception quotes the document")
  }

  private def clusters(stream: KafkaStream): ju.Map[String, ju.Map[String, Any]] =
    stream.getClusterMetadataMap.asScala.map { case (id, cluster) => id -> fields(cluster) }.asJava

  private def fields(history: StreamHistory): ju.Map[String, Any] = Seq[(String, Any)](
    "format" -> history.format,
    "path" -> history.path,
    "options" -> (if (history.getOptions.isEmpty) null else history.getOptions),
    "cluster" -> history.cluster
  ).filter(_._2 != null).toMap.asJava

  /** The fields of an entry, without defaults. */
  private def fields(cluster: ClusterMetadata): ju.Map[String, Any] = Seq[(String, Any)](
    "topics" -> (if (cluster.getTopics.isEmpty) null else cluster.getTopics),
    "topic_pattern" -> cluster.topicPattern,
    "partitions" -> (if (cluster.getPartitions.isEmpty) null else cluster.getPartitions),
    "state" -> (if (cluster.state == ClusterMetadata.Active) null else cluster.state),
    "write" -> (if (cluster.write) null else cluster.write),
    "starting_offsets" -> cluster.startingOffsets,
    "stopping_offsets" -> cluster.stoppingOffsets,
    "format_options" -> (if (cluster.getFormatOptions.isEmpty) null else cluster.getFormatOptions),
    "replaces" -> cluster.replaces,
    "properties" -> cluster.getProperties
  ).filter(_._2 != null).toMap.asJava
}
