package io.github.dynamickafka.metadata.document

import java.{util => ju}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaStream}
import io.github.dynamickafka.testkit.TimeLimit

/** Documents written by another program, with its own library, are parsed to the same streams. */
class DocumentRoundTripSuite extends AnyFunSuite with TimeLimit with ScalaCheckPropertyChecks {

  implicit override val generatorDrivenConfig: PropertyCheckConfiguration =
    PropertyCheckConfiguration(minSuccessful = 200, sizeRange = 8)

  private type Properties = Map[String, String]

  // Includes words that YAML 1.1 reads as other types.
  private val name: Gen[String] = Gen.oneOf(
    Gen.oneOf("no", "on", "null", "1", "0x1f", "1e3", "2026-01-01", "a.b-c_D", "true", "1_000"),
    Gen.choose(1, 12).flatMap(Gen.stringOfN(_, Gen.oneOf("abzABZ019._-"))).filter(n => n != "." && n != "..")
  )
  private val value: Gen[String] = Gen.oneOf(
    name,
    Gen.asciiPrintableStr,
    Gen.oneOf(
      "$" + "{file:/a:b}",
      "a: b #c",
      "'",
      "\"",
      "\\/",
      "é√😀",
      "tab\there",
      "two\nlines",
      " edge ",
      "*x",
      "!x"
    )
  )

  private val properties: Gen[Properties] = for {
    other <- Gen.mapOf(Gen.zip(name, value))
    bootstrap <- name
  } yield other + ("bootstrap.servers" -> bootstrap)

  private def entry(properties: Properties): Gen[ClusterMetadata] = for {
    topics <- Gen.nonEmptyContainerOf[Set, String](name)
    starting <-
      Gen.option(Gen.oneOf("earliest", "latest", "committed", "1763700000000", """{"a":{"0":1,"1":-2}}"""))
    stopping <- Gen.option(Gen.oneOf("latest", "1763700000001"))
    state <- Gen.oneOf(ClusterMetadata.Active, ClusterMetadata.Draining)
    way <- Gen.choose(0, 2)
    numbers <- Gen.nonEmptyContainerOf[Set, Int](Gen.choose(0, 99))
    write <- Gen.oneOf(true, false)
  } yield ClusterMetadata(
    if (way == 0) topics.toSeq else Nil,
    properties,
    starting.orNull,
    stopping.orNull,
    state,
    if (way == 1) topics.mkString("|") else null,
    if (way == 2) topics.map(_ -> numbers.toSeq).toMap else Map.empty,
    write
  )

  private def stream(id: String, clusters: Map[String, Properties]): Gen[KafkaStream] = for {
    chosen <- Gen.someOf(clusters)
    entries <- Gen.sequence[Seq[(String, ClusterMetadata)], (String, ClusterMetadata)](
      chosen.toSeq.map { case (cluster, p) => entry(p).map(cluster -> _) }
    )
  } yield new KafkaStream(id, new ju.LinkedHashMap(entries.toMap.asJava))

  private val document: Gen[(Map[String, Properties], Seq[KafkaStream])] = for {
    clusters <- Gen.mapOf(Gen.zip(name, properties))
    ids <- Gen.containerOf[Set, String](name)
    streams <- Gen.sequence[Seq[KafkaStream], KafkaStream](ids.toSeq.map(stream(_, clusters)))
  } yield (clusters, streams)

  private def tree(clusters: Map[String, Properties], streams: Seq[KafkaStream]): ju.Map[String, Any] =
    ju.Map.of(
      "version",
      1,
      "clusters",
      clusters.map { case (id, p) => id -> ju.Map.of("properties", p.asJava) }.asJava,
      "streams",
      streams.map { s =>
        s.streamId -> ju.Map.of(
          "clusters",
          s.getClusterMetadataMap.asScala.map { case (id, c) => id -> of(c) }.asJava
        )
      }.toMap.asJava
    )

  private def of(cluster: ClusterMetadata): ju.Map[String, Any] = {
    val fields = new ju.LinkedHashMap[String, Any]
    if (cluster.topicPattern != null) fields.put("topic_pattern", cluster.topicPattern)
    else if (!cluster.getPartitions.isEmpty)
      fields.put(
        "partitions",
        cluster.getPartitions.asScala.map { case (t, ps) => t -> new ju.ArrayList(ps) }.asJava
      )
    else fields.put("topics", new ju.ArrayList(cluster.getTopics))
    fields.put("state", cluster.state)
    fields.put("write", cluster.write)
    Option(cluster.startingOffsets).foreach(fields.put("starting_offsets", _))
    Option(cluster.stoppingOffsets).foreach(fields.put("stopping_offsets", _))
    fields
  }

  private val writers = Seq(
    "JSON" -> new ObjectMapper().writer(),
    "indented JSON" -> new ObjectMapper().writerWithDefaultPrettyPrinter(),
    "YAML" -> new YAMLMapper().writer()
  )

  test("streams that the connector writes are parsed to the same streams") {
    forAll(document) { case (_, streams) =>
      val text = DocumentWriter.text(streams)
      withClue(text)(assert(MetadataDocument.parse(text, "text").values.toSeq == streams))
    }
  }

  test("a cluster that one of its streams lets replace another one does so in the document") {
    def entry(replaces: String) =
      ClusterMetadata(Seq("t"), Map("bootstrap.servers" -> "h:1"), replaces = replaces)
    for (replaces <- Seq(Seq("old", null), Seq(null, "old"))) {
      val streams =
        replaces.zipWithIndex.map { case (of, i) => new KafkaStream(s"s$i", ju.Map.of("new", entry(of))) }
      val parsed = MetadataDocument.parse(DocumentWriter.text(streams), "text")
      assert(parsed.values.forall(_.getClusterMetadataMap.get("new").replaces == "old"))
    }
  }

  writers.foreach { case (format, writer) =>
    test(s"any document in $format is parsed to the same streams") {
      forAll(document) { case (clusters, streams) =>
        val text = writer.writeValueAsString(tree(clusters, streams))
        val expected = streams.map(s => s.streamId -> s).toMap
        withClue(text)(assert(MetadataDocument.parse(text, "text") == expected))
      }
    }
  }
}
