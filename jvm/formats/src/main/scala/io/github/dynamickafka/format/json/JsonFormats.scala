package io.github.dynamickafka.format.json

import java.io.CharArrayWriter
import java.nio.charset.StandardCharsets.UTF_8
import java.{util => ju}

import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal

import com.fasterxml.jackson.core.JsonProcessingException
import com.fasterxml.jackson.databind.node.{JsonNodeFactory, ObjectNode}
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.StructsToJson
import org.apache.spark.sql.catalyst.json.{JSONOptions, JacksonGenerator}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.types.variant.VariantBuilder
import org.apache.spark.unsafe.types.VariantVal

import io.github.dynamickafka.format.FormatSetting.flags
import io.github.dynamickafka.format._
import io.github.dynamickafka.option.OptionType
import io.github.dynamickafka.option.OptionType.{boolean, int}
import io.github.dynamickafka.schemaregistry.RegisteredSchema

private[format] abstract class JsonFormat(name: String) extends Format(name) {
  override def usesTimeZone: Boolean = true
  override def settings: Seq[FormatSetting] = JsonFormat.settings

  override def withoutEffect: Set[String] =
    Set("ignoreNullFields", "pretty", "writeNonAsciiCharacterAsCodepoint", "samplingRatio", "multiLine") ++
      Set("lineSep", "encoding", "charset", "compression", "prefersDecimal", "primitivesAsString") ++
      Set("dropFieldIfAllNull", "inferTimestamp", "singleVariantColumn", "encode.decimalAsPlainNumber") ++
      Set("mapNullKey.mode", "mapNullKey.literal", "encode.ignoreNullFields", "useUnsafeRow")

  override def forDecoder(set: Map[String, String]): Map[String, String] = TimeSettings.forDecoder(set)
  override def decoder(side: SideLayout): Decoder = new JsonDecoder(side)
}

private[format] object JsonFormat {

  /** The options of a decoder or an encoder, as Spark reads them. */
  def parsed(options: Map[String, String]): JSONOptions =
    new JSONOptions(options, SQLConf.get.sessionLocalTimeZone, SQLConf.get.columnNameOfCorruptRecord)

  val settings: Seq[FormatSetting] =
    (FormatSetting.IgnoreParseErrors +: TimeSettings.ofFlink) ++ TimeSettings.reading ++
      flags(
        "allowComments",
        "allowUnquotedFieldNames",
        "allowSingleQuotes",
        "allowNumericLeadingZeros",
        "allowNonNumericNumbers",
        "allowBackslashEscapingAnyCharacter",
        "allowUnquotedControlChars"
      ) ++ Seq("maxNestingDepth", "maxNumLen", "maxStringLen").map(FormatSetting(_, int(min = 1)))
}

private[dynamickafka] object Json extends JsonFormat("json") {
  override val settings: Seq[FormatSetting] =
    FormatSetting.FailOnMissingField +: JsonFormat.settings :+ WholeVariant.setting
  override def hasVariants: Boolean = true
  override def decoder(side: SideLayout): Decoder = Json.ofObjects(side)
  override def writer: Option[FormatWriter] = Some(Writer)

  /** The decoder of records that are objects, or one VARIANT. */
  private[json] def ofObjects(side: SideLayout): Decoder =
    if (WholeVariant.isSet(side.format)) new VariantDecoder(side) else new JsonDecoder(side)

  private[json] class Writer extends JsonWriter {
    override def settings: Seq[FormatSetting] = JsonWriter.settings :+ WholeVariant.setting
    override def encoder(fields: SideLayout): Encoder =
      if (WholeVariant.isSet(fields.format)) new VariantEncoder(fields) else new JsonEncoder(fields)
  }
  private object Writer extends Writer
}

/** JSON behind the id of a JSON Schema in a registry. */
private[dynamickafka] object JsonConfluent extends JsonFormat("json-confluent") {
  override def settings: Seq[FormatSetting] = Json.settings
  override def decoder(side: SideLayout): Decoder = new JsonBehindHeader(side)
  override def hasVariants: Boolean = true
  override def registry: Option[FormatRegistry] = Some(Registry)
  override def writer: Option[FormatWriter] = Some(Writer)

  private object Registry extends FormatRegistry {
    override def kind: String = RegisteredSchema.Json

    /** JSON contains the names of its fields: the schema is only needed for the columns. */
    override def isRequired: Boolean = false

    override def columns(schema: RegisteredSchema, side: SideFormat): Either[String, DeclaredSchema] =
      JsonSchemaColumns.parse(schema).map(DeclaredSchema(_))
  }

  private object Writer extends Json.Writer {
    override def schema(fields: SideLayout): Option[RegisteredSchema] =
      Some(fields.registered.getOrElse(
        RegisteredSchema(
          RegisteredSchema.Json,
          if (WholeVariant.isSet(fields.format)) JsonSchemaText.Anything
          else JsonSchemaText.of(fields.schema, ownTexts(fields.format.options))
        )
      ))

    /** Types that the options write in another way than JSON Schema's `date-time` and `date`. */
    private def ownTexts(options: Map[String, String]): Set[DataType] = {
      val standard = forEncoder(Map.empty)
      Set[DataType](TimestampType).filter(_ =>
        options.get("timestampFormat") != standard.get("timestampFormat")
      ) ++
        Set[DataType](DateType).filter(_ => options.contains("dateFormat"))
    }
  }
}

private[json] final class JsonBehindHeader(side: SideLayout) extends ConfluentHeader {
  private val objects = Json.ofObjects(side)
  private val payload: RecordBody =
    (bytes, from, into) => objects.decode(ju.Arrays.copyOfRange(bytes, from, bytes.length), into)
  override protected def body(id: Int): RecordBody = payload
}

private[format] class JsonWriter extends FormatWriter {
  override def settings: Seq[FormatSetting] = JsonWriter.settings
  override def refused(option: String): Option[String] = JsonWriter.notOffered.get(option)

  override def forEncoder(set: Map[String, String]): Map[String, String] =
    Map("ignoreNullFields" -> "true") ++ TimeSettings.forEncoder(set)

  override def encoder(fields: SideLayout): Encoder = new JsonEncoder(fields)

  override def problem(fields: SideLayout): Option[String] =
    TypeCheck.problem(fields)((row, zone) =>
      StructsToJson(fields.format.options, row, zone).checkInputDataTypes()
    )
}

private[format] object JsonWriter extends JsonWriter {
  override val settings: Seq[FormatSetting] =
    TimeSettings.ofFlink ++ TimeSettings.writing ++ flags("pretty", "writeNonAsciiCharacterAsCodePoint") :+
      FormatSetting("ignoreNullFields", boolean, Seq("encode.ignoreNullFields"))

  private val notOffered = Map(
    "mapnullkey.mode" -> "the keys of Spark's maps are never null.",
    "mapnullkey.literal" -> "the keys of Spark's maps are never null.",
    "encode.decimalasplainnumber" -> "decimals are written as Spark's 'to_json' writes them."
  )
}

/**
 * Decodes each record as a whole into the only column, a VARIANT, with the results of Spark's `parse_json`. Options of the parser that
 * are set apply as in `from_json`.
 */
private[json] final class VariantDecoder(side: SideLayout) extends Decoder {
  WholeVariant.check(side.format, side.schema)

  /** What JSON has, and `parse_json` accepts; Spark's defaults for records accept more. */
  private val strict = Map("allowSingleQuotes" -> "false", "allowNonNumericNumbers" -> "false")
  private val factory = JsonFormat.parsed(strict ++ side.format.options).buildJsonFactory()
  private val allowsDuplicates = SQLConf.get.getConf(SQLConf.VARIANT_ALLOW_DUPLICATE_KEYS)

  override def decode(bytes: Array[Byte], into: DecodedValues): DecodeFailure = {
    into.clear()
    try {
      // The record is parsed as a text, in which bytes that are not UTF-8 are replaced.
      val parsed = Using.resource(factory.createParser(new String(bytes, UTF_8))) { parser =>
        parser.nextToken()
        VariantBuilder.parseJson(parser, allowsDuplicates)
      }
      into.setObject(0, new VariantVal(parsed.getValue, parsed.getMetadata))
      null
    } catch {
      case _: JsonProcessingException => DecodeFailure("it is not valid JSON")
      case NonFatal(_) => DecodeFailure("it has a name twice, or is larger than a VARIANT can be")
    }
  }
}

/** Encodes the only column, a VARIANT, as the whole record, as Spark's `to_json` does; null is a null value. */
private[json] final class VariantEncoder(side: SideLayout) extends Encoder {
  WholeVariant.check(side.format, side.schema)

  private val zone = JsonFormat.parsed(side.format.options).zoneId

  override def encode(row: InternalRow): Array[Byte] =
    if (row.isNullAt(0)) null else row.getVariant(0).toJson(zone).getBytes(UTF_8)
}

/** The option `singleVariantColumn`: a record as a whole is the only column, of type VARIANT. */
private[json] object WholeVariant {
  val setting: FormatSetting = FormatSetting("singleVariantColumn", OptionType.text)

  def isSet(side: SideFormat): Boolean = side.options.contains(setting.name)

  /** @throws IllegalArgumentException if there are other columns, or options without an effect */
  def check(side: SideFormat, schema: StructType): Unit = {
    val name = side.options(setting.name).trim
    if (!schema.headOption.exists(f => f.name == name && f.dataType == VariantType) || schema.length != 1)
      throw new IllegalArgumentException(
        s"with '${setting.name}' the only column has to be '$name', of type VARIANT"
      )
    if (side.failOnMissingField)
      throw new IllegalArgumentException(s"with '${setting.name}' there are no fields that can be missing")
  }
}

/** Encodes fields as a JSON object, with the results of Spark's `to_json`. */
private[format] final class JsonEncoder(side: SideLayout) extends Encoder {
  private val text = new CharArrayWriter
  private val generator = new JacksonGenerator(side.schema, text, JsonFormat.parsed(side.format.options))

  override def encode(row: InternalRow): Array[Byte] = {
    text.reset()
    generator.write(row)
    generator.flush()
    text.toString.getBytes(UTF_8)
  }
}

/**
 * The columns of a JSON Schema. What has no type in Spark, such as a choice between types, becomes STRING, which contains the JSON.
 * Pure.
 */
private[dynamickafka] object JsonSchemaColumns {
  private val mapper = new ObjectMapper

  def parse(schema: RegisteredSchema): Either[String, StructType] =
    try {
      val references = schema.references.map(r => r.name -> mapper.readTree(r.text)).toMap
      val root = mapper.readTree(schema.text)
      typeOf(root, Scope(root, references, Set.empty)) match {
        case struct: StructType if struct.nonEmpty => Right(struct)
        case _ => Left("the JSON Schema does not describe an object with properties.")
      }
    } catch { case NonFatal(e) => Left(s"the JSON Schema cannot be parsed: ${e.getClass.getSimpleName}") }

  /**
   * @param root the document, in which `#/...` refers to a part
   * @param within what is being converted: a schema that contains itself has no type
   */
  private final case class Scope(root: JsonNode, documents: Map[String, JsonNode], within: Set[String])

  private def typeOf(node: JsonNode, scope: Scope): DataType =
    if (node.has("$ref")) referred(node.get("$ref").asText, scope)
    else if (node.has("allOf")) merged(node, scope)
    else if (node.has("oneOf")) choice(node.get("oneOf"), scope)
    else if (node.has("anyOf")) choice(node.get("anyOf"), scope)
    else
      types(node) match {
        case Seq("string") => text(node.path("format").asText)
        case Seq("integer") => integer(node.path("connect.type").asText)
        case Seq("number") => if (node.path("connect.type").asText == "float32") FloatType else DoubleType
        case Seq("boolean") => BooleanType
        case Seq("array") if node.path("items").isObject => ArrayType(typeOf(node.get("items"), scope))
        case Seq("object") => ofObject(node, scope)
        case Nil if node.has("properties") => ofObject(node, scope)
        case _ => StringType
      }

  private def types(node: JsonNode): Seq[String] = {
    val own = node.path("type")
    val all = if (own.isArray) own.elements.asScala.map(_.asText).toSeq else Seq(own.asText)
    all.filter(name => name.nonEmpty && name != "null")
  }

  private def text(format: String): DataType = format match {
    case "date-time" => TimestampType
    case "date" => DateType
    case _ => StringType
  }

  private def integer(connect: String): DataType = connect match {
    case "int8" | "int16" => ShortType
    case "int32" => IntegerType
    case _ => LongType
  }

  private def ofObject(node: JsonNode, scope: Scope): DataType =
    if (node.path("properties").isObject && !node.path("properties").isEmpty)
      StructType(node.get("properties").properties.asScala.toSeq.map(e =>
        StructField(e.getKey, typeOf(e.getValue, scope))
      ))
    else if (node.path("additionalProperties").isObject)
      MapType(StringType, typeOf(node.get("additionalProperties"), scope))
    else StringType

  /** The type of a choice between one type and null; of any other one, text. */
  private def choice(node: JsonNode, scope: Scope): DataType =
    node.elements.asScala.filterNot(_.path("type").asText == "null").toSeq match {
      case Seq(one) => typeOf(one, scope)
      case _ => StringType
    }

  private def merged(node: JsonNode, scope: Scope): DataType = {
    val parts = node.get("allOf").elements.asScala.map(typeOf(_, scope)).toSeq :+
      (if (node.has("properties")) ofObject(node, scope) else StructType(Nil))
    if (parts.forall(_.isInstanceOf[StructType]))
      StructType(parts.flatMap(_.asInstanceOf[StructType].fields).distinctBy(_.name))
    else parts.headOption.filter(_ => node.get("allOf").size == 1).getOrElse(StringType)
  }

  private def referred(reference: String, scope: Scope): DataType =
    if (scope.within.contains(reference)) StringType
    else {
      val inner = scope.copy(within = scope.within + reference)
      if (reference.startsWith("#")) {
        val target = scope.root.at(reference.drop(1))
        if (target.isMissingNode) StringType else typeOf(target, inner)
      } else
        scope.documents.get(reference).fold[DataType](StringType)(root =>
          typeOf(root, inner.copy(root = root))
        )
    }
}

/** The JSON Schema of columns, to register what is written. [[JsonSchemaColumns]] makes the columns of it again. Pure. */
private[dynamickafka] object JsonSchemaText {
  private val make = JsonNodeFactory.instance

  /** A schema with the title of the record in Avro: some serializers require one. */
  private def root = make.objectNode.put("$schema", "http://json-schema.org/draft-07/schema#")
    .put("title", "topLevelRecord")

  /** The schema of records that can be any JSON. */
  val Anything: String = root.toString

  /** @param asText the types whose values are texts in a format of their own */
  def of(columns: StructType, asText: Set[DataType] = Set.empty): String = {
    def ofObject(struct: StructType): ObjectNode = {
      val node = ofType("object")
      val properties = node.putObject("properties")
      struct.foreach(f => properties.set[ObjectNode](f.name, typeOf(f.dataType, f.nullable)))
      node
    }
    def typeOf(dataType: DataType, nullable: Boolean): ObjectNode =
      if (!nullable || dataType == VariantType) known(dataType)
      else {
        val node = make.objectNode
        node.putArray("oneOf").add(ofType("null")).add(known(dataType))
        node
      }
    def known(dataType: DataType): ObjectNode = dataType match {
      case text if asText(text) => ofType("string")
      case struct: StructType => ofObject(struct)
      case ArrayType(element, nullable) => ofType("array").set[ObjectNode]("items", typeOf(element, nullable))
      case MapType(_, value, nullable) =>
        ofType("object").set[ObjectNode]("additionalProperties", typeOf(value, nullable))
      // Anything, also null.
      case VariantType => make.objectNode
      case BooleanType => ofType("boolean")
      // The names of Kafka Connect, which Confluent's tools read.
      case ByteType => ofType("integer").put("connect.type", "int8")
      case ShortType => ofType("integer").put("connect.type", "int16")
      case IntegerType => ofType("integer").put("connect.type", "int32")
      case LongType => ofType("integer").put("connect.type", "int64")
      case FloatType => ofType("number").put("connect.type", "float32")
      case DoubleType => ofType("number").put("connect.type", "float64")
      case _: DecimalType => ofType("number")
      case TimestampType => ofType("string").put("format", "date-time")
      case DateType => ofType("string").put("format", "date")
      case _ => ofType("string")
    }
    val node = root
    node.setAll[ObjectNode](ofObject(columns))
    node.toString
  }

  private def ofType(name: String) = make.objectNode.put("type", name)
}
