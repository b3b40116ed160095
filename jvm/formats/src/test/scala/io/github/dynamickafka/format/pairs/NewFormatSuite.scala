package io.github.dynamickafka.format.pairs

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, ObjectInputStream, ObjectOutputStream}
import java.nio.file.{Files, Path}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types.StructType
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException
import io.github.dynamickafka.format.SideLayout
import io.github.dynamickafka.format.table.{
  Decoded,
  Decoders,
  Formats,
  LazyDecoder,
  ParsedFormats,
  RowEncoder
}
import io.github.dynamickafka.testkit.TimeLimit

/** A format that is added as docs/dev/adding.md says: one file, and one place in a list. */
class NewFormatSuite extends AnyFunSuite with TimeLimit with BeforeAndAfterAll {

  /** The registration. */
  private val parsed = new ParsedFormats(new Formats(Formats.registered.all :+ Pairs))

  // A hundred rows: plans that Spark compiles would take longer to compile than to run.
  private lazy val spark = SparkSession.builder().master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.codegen.wholeStage", "false")
    .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    .getOrCreate()

  override def afterAll(): Unit = spark.stop()

  private val options = Seq("format" -> "pairs", "schema" -> "id BIGINT, name STRING")

  private def side(more: (String, String)*): SideLayout =
    parsed.read(options ++ more: _*).layout(None, includeHeaders = false).value

  private def refusal(attempt: => Any): String = ParsedFormats.refused(attempt).getMessage

  test("rows of a DataFrame are written, and read as columns of a DataFrame") {
    val session = spark
    import session.implicits._
    val rows = (1L to 100L).map(n => n -> (if (n % 7 == 0) null else s"name $n"))
    val frame = rows.toDF("id", "name")
    for (more <- Seq(Nil, Seq("pairs.separator" -> "|"))) {
      val source =
        parsed.write(Seq("format" -> "pairs") ++ more: _*).encoding(
          frame.schema,
          Set.empty,
          caseSensitive = false
        ).value
      val bytes = frame.queryExecution.toRdd.mapPartitions { internal =>
        val encoder = new RowEncoder(source, "value")
        internal.map(encoder(_))
      }.toDF("value")
      assert(bytes.as[Array[Byte]].map(new String(
        _
      )).first() == s"id=1${if (more.isEmpty) ";" else "|"}name=name 1")
      val layout = side(more: _*)
      val read = bytes.as[Array[Byte]].mapPartitions { values =>
        val decode = Decoded.by(Decoders.of(layout), layout)
        values.map(value => decode(value).columns)
      }.collect()
      assert(read.toSeq == rows.map { case (id, name) =>
        Seq(s"Long($id)", Option(name).fold("null")(n => s"'$n'"))
      })
    }
  }

  test("what applies to all formats applies to it: its options, its types, bad records, parts of a record") {
    assert(parsed.read(options: _*).value.format eq Pairs)
    assert(refusal(parsed.read(options :+ ("pairs.separatr" -> "x"): _*)).contains("'pairs.separator'"))
    val withoutSchema = refusal(parsed.read("format" -> "pairs").layout(None, includeHeaders = false))
    assert(withoutSchema.contains("the format 'pairs' requires the columns"))
    assert(refusal(parsed.read("format" -> "pair")).contains("'protobuf-confluent', 'pairs'"))
    assert(refusal(parsed.write("format" -> "pairs", "pairs.ignoreParseErrors" -> "true")).contains(
      "it has no effect when records are written"
    ))
    assert(refusal(Decoders.check(parsed.read(
      "format" -> "pairs",
      "schema" -> "id DOUBLE"
    ).layout(None, includeHeaders = false).value)).contains("Pairs have no DOUBLE."))
    val wrongType = intercept[DynamicKafkaIllegalArgumentException](
      parsed.write("format" -> "pairs").encoding(
        StructType.fromDDL("id DOUBLE"),
        Set.empty,
        caseSensitive = false
      )
    )
    assert(wrongType.getCondition == "DYNAMIC_KAFKA.INVALID_COLUMN", wrongType.getMessage)
    val decode = Decoded.by(Decoders.of(side()), side())
    assert(decode("id=1;name=tea".getBytes) == Decoded(Seq("Long(1)", "'tea'"), bad = false))
    assert(decode("id=2".getBytes) == Decoded(Seq("Long(2)", "null"), bad = false))
    assert(decode("name=tea;id=x".getBytes) == Decoded(Seq("null", "'tea'"), bad = true))
    assert(LazyDecoder.fits(side()) && side("parseErrors" -> "drop").format.parseErrors.drops)
  }

  test("layouts with the format are sent to executors") {
    val out = new ByteArrayOutputStream
    new ObjectOutputStream(out).writeObject(side())
    val sent =
      new ObjectInputStream(new ByteArrayInputStream(out.toByteArray)).readObject().asInstanceOf[SideLayout]
    assert(sent.format.format eq Pairs)
  }

  test("docs/dev/adding.md has the code of this format") {
    val root = Path.of(sys.props("dynamickafka.root"))
    val source = Files.readString(
      root.resolve("jvm/formats/src/test/scala/io/github/dynamickafka/format/pairs/Pairs.scala")
    )
    val document = Files.readString(root.resolve("docs/dev/adding.md")).split("## A metadata service").head
    val blocks = "(?s)```text\n(.*?)```".r.findAllMatchIn(document).map(_.group(1)).toSeq
    assert(
      blocks.size == 3 && blocks.forall(source.contains),
      blocks.filterNot(source.contains).mkString("\n")
    )
  }
}
