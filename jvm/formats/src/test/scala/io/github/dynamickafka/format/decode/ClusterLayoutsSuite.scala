package io.github.dynamickafka.format.decode

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.catalyst.expressions.BoundReference
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.format.SideSource.Fields
import io.github.dynamickafka.format.avro.Avro
import io.github.dynamickafka.format.csv.Csv
import io.github.dynamickafka.format.encode.RowEncoder
import io.github.dynamickafka.format.json.Json
import io.github.dynamickafka.format.options.{ClusterFormats, FormatOptionsParser, ParsedFormats}
import io.github.dynamickafka.format.{ColumnOrigin, DecodedValues, FormatOptions, Layout, SideFormat}
import io.github.dynamickafka.testkit.TimeLimit

/** Clusters of a stream with other formats: the columns stay those of the stream. */
class ClusterLayoutsSuite extends AnyFunSuite with TimeLimit {

  private val stream =
    Map("format" -> "json", "schema" -> "id BIGINT, name STRING", "json.allowComments" -> "true")
  private val options = ParsedFormats.read(stream.toSeq: _*)
  private val layout = Layouts.of(options, None, includeHeaders = false)

  private def own(
      metadata: Map[String, String] = Map.empty,
      clusterOptions: Map[String, String] = Map.empty,
      ofMetadata: Boolean = true
  ): Option[FormatOptions] =
    ClusterFormats(stream, ofMetadata, ParsedFormats.reading)
      .of(clusterOptions, metadata, FormatOptionsParser.parse(_))

  /** The columns of a record, as Spark would see them. */
  private def decoded(of: Layout, bytes: Array[Byte]): Seq[Any] = {
    val into = new DecodedValues(of.value.types)
    val failure = Decoders.of(of.value).decode(bytes, into)
    assert(failure == null)
    of.columns.take(2).map(c => c -> c.origin).collect {
      case (c, ColumnOrigin.OfValue(i)) =>
        CatalystTypeConverters.convertToScala(into.get(i), c.field.dataType)
      case (_, ColumnOrigin.Absent) => null
    }
  }

  private def avro(ddl: String)(values: Any*): Array[Byte] = {
    val schema = StructType.fromDDL(ddl)
    val fields = schema.zipWithIndex.map { case (f, i) => BoundReference(i, f.dataType, nullable = true) }
    new RowEncoder(Fields(SideFormat(Avro), schema, fields), "value")(
      InternalRow.fromSeq(values)
    )
  }

  test("without another format, the cluster has that of the stream") {
    assert(own().isEmpty && own(Map("registry.url" -> "http://r")).isEmpty)
  }

  private def registryOf(
      stream: Map[String, String],
      metadata: Map[String, String],
      options: Map[String, String] = Map.empty,
      ofMetadata: Boolean = true
  ) = ClusterFormats(stream, ofMetadata, ParsedFormats.reading)
    .of(options, metadata, FormatOptionsParser.parse(_)).map(_.value.registries.of("green"))

  test("the registry of the metadata is that of the cluster: below its options, above those of the stream") {
    val avro = Map("format" -> "avro-confluent", "schema" -> "id INT", "registry.url" -> "http://all:1")
    val metadata = Map("registry.url" -> "http://green:1", "registry.basicAuth.userInfo" -> "u:p")
    val found = registryOf(avro + ("registry.bearerAuth.token" -> "t"), metadata).get
    assert(found.url == "http://green:1" && found.resolved().authorization.exists(_.startsWith("Basic")))
    val option = Map("registry.url" -> "http://own:1")
    assert(registryOf(avro, metadata, option).map(_.url).contains("http://own:1"))
    assert(registryOf(avro, metadata, ofMetadata = false).isEmpty)
    val stated = ClusterFormats(avro, ofMetadata = true, ParsedFormats.reading, Set("registry.URL"))
      .of(Map.empty, metadata, FormatOptionsParser.parse(_)).get.value.registries.of("green")
    assert(stated.url == "http://all:1" && stated.resolved().authorization.isDefined)
    // Also where the format of the metadata does not count, and where only this cluster has a registry.
    val format = Map("value.format" -> "avro-confluent")
    assert(registryOf(
      stream,
      metadata + ("format" -> "csv"),
      format + ("schema" -> "id INT")
    ).map(_.url).contains("http://green:1"))
    assert(registryOf(
      stream,
      metadata + ("format" -> "avro-confluent")
    ).map(_.url).contains("http://green:1"))
    // Writes may register; what the source does not have is of no effect.
    assert(registryOf(avro, Map("registry.autoRegister" -> "false")).isEmpty)
    val e = ParsedFormats.refused(registryOf(avro, Map("registry.ur" -> "http://secret:1")))
    assert(e.getCondition == "DYNAMIC_KAFKA.METADATA_INVALID" && e.getMessage.contains("'registry.ur'"))
    assert(!e.getMessage.contains("secret"))
  }

  test("a cluster without a registry, in a stream that has one") {
    val avro = Map("format" -> "avro-confluent", "schema" -> "id INT", "registry.url" -> "http://all:1")
    val of = ClusterFormats(avro, ofMetadata = true, ParsedFormats.reading)
    val metadata = Map("format" -> "json", "schema" -> "id INT", "registry.url" -> "http://green:1")
    assert(of.of(Map.empty, metadata, FormatOptionsParser.parse(_)).get.value.format == Json)
    assert(of.of(Map("format" -> "json", "schema" -> "id INT"), Map.empty, FormatOptionsParser.parse(_))
      .get.value.format == Json)
  }

  test("another format with the columns of the stream; options of the stream's format do not apply") {
    val of = ClusterLayouts.of(layout, own(Map("format" -> "avro")).get)
    assert(of.schema == layout.schema)
    assert(decoded(of, avro("id BIGINT, name STRING")(7L, UTF8String.fromString("a"))) == Seq[Any](7L, "a"))
  }

  test("a schema of the cluster: in its order, with further fields, promoted types and missing columns") {
    val csv = own(Map("format" -> "csv", "csv.sep" -> ";", "schema" -> "x INT, name STRING, id INT")).get
    assert(decoded(ClusterLayouts.of(layout, csv), "1;a;7".getBytes(UTF_8)) == Seq[Any](7L, "a"))
    val ints = own(Map("format" -> "avro", "schema" -> "y STRING, id INT")).get
    assert(decoded(ClusterLayouts.of(layout, ints), avro("y STRING, id INT")(null, 7)) == Seq[Any](7L, null))
  }

  test("formats of changes: another one for a cluster, and none together with other formats") {
    val changes = Seq(
      "format" -> "debezium-json",
      "schema" -> "id BIGINT, name STRING",
      "metadataColumns" -> "value.source.table"
    )
    val of = Layouts.of(ParsedFormats.read(changes: _*), None, includeHeaders = false)
    def cluster(more: (String, String)*) = ParsedFormats.read(more: _*)
    val same =
      ClusterLayouts.of(of, cluster("format" -> "debezium-json", "debezium-json.schemaInclude" -> "true"))
    assert(same.value.change == of.value.change && same.columns == of.columns)
    val avro = cluster(
      "format" -> "debezium-avro-confluent",
      "registry.url" -> "http://r",
      "schema" -> "name STRING, x INT, id BIGINT"
    )
    val other = ClusterLayouts.of(of, avro)
    assert(other.schema == of.schema && other.value.wanted == Seq(0, 2))
    assert(other.value.change.get.payload.fieldNames.toSeq == Seq("name", "x", "id"))
    val envelope = Layouts.of(
      ParsedFormats.read(changes :+ ("changeData" -> "envelope"): _*),
      None,
      includeHeaders = false
    )
    assert(ClusterLayouts.of(envelope, avro).value.change == envelope.value.change)
    Seq(of -> cluster("format" -> "json"), layout -> cluster("format" -> "canal-json")).foreach {
      case (l, own) =>
        val e = ParsedFormats.refused(ClusterLayouts.of(l, own))
        assert(e.getMessage.contains("only one of the two has changes"), e.getMessage)
    }
  }

  test("selected columns only") {
    val of = ClusterLayouts.of(
      layout.pruned(Seq("name")),
      own(Map("format" -> "csv", "schema" -> "name STRING, id INT")).get
    )
    assert(of.value.wanted == Seq(0) && of.schema.fieldNames.toSeq == Seq("name"))
  }

  test(
    "precedence: the option of the cluster, the option of the query, the metadata, the settings of a catalog"
  ) {
    val metadata = Map("format" -> "csv", "csv.sep" -> ";", "schema" -> "id INT")
    val option = own(metadata, Map("format" -> "avro")).get
    assert(option.value.format == Avro && option.schema.isEmpty)
    assert(own(metadata).get.value.format == Csv)
    assert(own(metadata, ofMetadata = false).isEmpty)
    assert(own(metadata, Map("csv.sep" -> "|")).get.value.options("sep") == "|")
    val schema = own(clusterOptions = Map("schema" -> "id INT")).get
    assert(schema.value.format == Json && schema.schema.get.columns.fieldNames.toSeq == Seq("id"))
  }
}
