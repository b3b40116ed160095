package io.github.dynamickafka.source

import java.nio.file.Files

import com.google.protobuf.Descriptors.FileDescriptor

import io.github.dynamickafka.config.Options
import io.github.dynamickafka.format.protobuf.ProtobufSides
import io.github.dynamickafka.schemaregistry.{RegistryServer, WireFormat}

/** Formats with Protobuf, on brokers; what the decoder makes of a record is tested in `format.decode`. */
class ProtobufFormatsSuite extends Queries {

  private def file(fields: String): FileDescriptor =
    ProtobufSides.file(
      s"""name: "x.proto" package: "shop" syntax: "proto3" message_type { name: "Order" $fields }"""
    )
  private def field(name: String, number: Int, of: String) =
    s"""field { name: "$name" number: $number type: TYPE_$of label: LABEL_OPTIONAL }"""
  private val order = file(field("id", 1, "INT64") + field("name", 2, "STRING"))

  private def record(of: FileDescriptor, text: String): Array[Byte] =
    ProtobufSides.message(of, "Order", text).toByteArray

  test("two clusters with one descriptor file, not one each; then the ids of a registry") {
    val topic = newTopicOn(1, blue, green)
    produceBytes(blue, topic, record(order, "id: 1 name: \"a\""), Array[Byte](8), null)
    produceBytes(green, topic, record(order, "id: 2 name: \"b\""))
    scene { of =>
      of.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      val first = Files.write(of.folder.resolve("one.desc"), ProtobufSides.set(order)).toString
      val named = Seq("format" -> "protobuf", "protobuf.messageName" -> "shop.Order", "parseErrors" -> "keep")
      val options = named :+ ("protobuf.descriptorFile" -> first)
      def rows(options: Seq[(String, String)]): Set[Seq[Any]] = of.batch(options: _*)
        .selectExpr("id", "name", "cluster", "_decode_error IS NULL").collect().map(_.toSeq).toSet
      val expected = Set(row(1L, "a", "blue", true), row(2L, "b", "green", true))
      assert(of.batch(options: _*).columns.take(2).toSeq == Seq("id", "name"))
      assert(rows(options) == expected ++ Set(row(null, null, "blue", false), row(null, null, "blue", true)))
      assert(of.batch(options :+ ("schema" -> "name STRING"): _*).columns.head == "name")
      assert(of.frame(options: _*).columns.take(2).toSeq == Seq("id", "name"))
      val e = Options.refused(of.batch(named :+ ("protobuf.descriptorFile" -> s"$first.none"): _*))
      assert(e.getCondition == "DYNAMIC_KAFKA.INVALID_OPTION" && e.getMessage.contains("cannot be read"))
      val own = Options.refused(rows(options :+ ("cluster.green.protobuf.descriptorFile" -> first)))
      assert(own.getCondition == "DYNAMIC_KAFKA.INVALID_OPTION" && own.getMessage.contains("is two streams"))

      RegistryServer.serving { registry =>
        val text = """syntax = "proto3"; package shop; message Order { int64 id = 1; string name = 2; }"""
        val id = registry.register(s"$topic-value", text, "PROTOBUF")
        produceBytes(blue, topic, WireFormat.framed(id, 0.toByte +: record(order, "id: 5 name: \"e\"")))
        val confluent = Seq(
          "format" -> "protobuf-confluent",
          "schema" -> "registry",
          "registry.url" -> registry.url,
          "parseErrors" -> "keep"
        )
        assert(rows(confluent).filter(r => r.head != null) == Set(row(5L, "e", "blue", true)))
      }
    }
  }
}
