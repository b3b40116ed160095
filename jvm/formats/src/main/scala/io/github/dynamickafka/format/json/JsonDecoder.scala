package io.github.dynamickafka.format.json

import java.{util => ju}

import scala.util.control.NonFatal

import com.fasterxml.jackson.core.io.{JsonEOFException, SerializedString}
import com.fasterxml.jackson.core.{
  JsonFactory,
  JsonParseException,
  JsonParser,
  JsonProcessingException,
  JsonToken
}
import org.apache.spark.sql.catalyst.json.{CreateJacksonParser, JacksonParser}
import org.apache.spark.sql.catalyst.util.{BadRecordException, ResolveDefaultColumns}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{DateType, StringType, TimestampType}
import org.apache.spark.unsafe.types.UTF8String
import org.slf4j.LoggerFactory

import io.github.dynamickafka.format.{DecodeFailure, DecodedValues, Decoder, SideLayout}

/**
 * Decodes JSON objects into columns, with the results of Spark's `from_json`.
 *
 * The bytes are parsed directly into the columns, most of them by [[PlainFields]] and the rest by Jackson's parser; fields of no column
 * are skipped. Spark's own parser decodes a record, as `from_json` does, if it is very long, its bytes are not UTF-8, the parser
 * fails, or a value does not fit its column. So Spark decides what is bad, and what is left of a bad record.
 */
private[format] final class JsonDecoder(
    side: SideLayout,
    newParser: (JsonFactory, Int) => RecordParser = new RecordParser(_, _)
) extends Decoder {
  import JsonDecoder._

  private val wanted = side.wanted.toArray
  private val wantedSchema = side.wantedSchema
  private val options = JsonFormat.parsed(side.format.options)
  private val factory = options.buildJsonFactory()
  private val features = factory.createParser(Array.emptyByteArray).getFeatureMask
  private val spark = new JacksonParser(wantedSchema, options, false)

  private val limits = factory.streamReadConstraints
  private val isLegacy = SQLConf.get.legacyTimeParserPolicy.toString == "LEGACY"

  private val fields: Array[JsonField] = side.wanted.zipWithIndex.map { case (index, bit) =>
    val field = side.schema(index)
    val (longest, pattern) = field.dataType match {
      case _: StringType => limits.getMaxStringLength -> None
      case DateType => limits.getMaxStringLength -> options.dateFormatInRead
      case TimestampType => limits.getMaxStringLength -> options.timestampFormatInRead
      case _ => limits.getMaxNumberLength -> None
    }
    JsonField(JsonColumn(
      field.name,
      field.dataType,
      index,
      bit,
      spark.makeConverter(field.dataType),
      longest,
      isIso = !isLegacy && pattern.isEmpty
    ))
  }.toArray
  private val byName = new ju.HashMap[String, JsonField]
  fields.foreach(field => byName.put(field.column.name, field))

  private val asksForAll = side.format.failOnMissingField

  /** The defaults of fields that are missing; null where there is none. */
  private val defaults = ResolveDefaultColumns.existenceDefaultValues(wantedSchema)
  private val hasDefaults = defaults.exists(_ != null)
  private val looksForAll = asksForAll || hasDefaults
  private val seen = new Array[Boolean](fields.length)
  private var parser: RecordParser = _

  /** Whether [[RecordParser]] can be used. */
  private var isLinked = true

  /** Names of objects, also those of no column. */
  private val names = new ju.HashMap[String, FieldName]

  /** Reads most records, or what it can of them. */
  private val plain = new PlainFields(factory, if (looksForAll) seen else null)

  /** The field whose value is being read. */
  private var current: JsonField = _

  override def decode(bytes: Array[Byte], into: DecodedValues): DecodeFailure = {
    into.clear()
    current = null
    if (isLinked && bytes.length <= Longest && Utf8.isValid(bytes) && parsed(bytes, into)) {
      if (hasDefaults) addDefaults(into)
      missing()
    } else bySpark(bytes, into)
  }

  private def addDefaults(into: DecodedValues): Unit = fields.foreach { field =>
    if (!seen(field.column.bit)) into.setAny(field.column.index, defaults(field.column.bit))
  }

  private def parsed(bytes: Array[Byte], into: DecodedValues): Boolean = {
    val whole =
      try {
        if ((parser eq null) || parser.names > MostNames) parser = newParser(factory, features)
        parse(bytes, into)
      } catch {
        case NonFatal(_) => false
        // Another version of Jackson is on the class path, whose parser has other protected fields.
        case e: LinkageError =>
          isLinked = false
          logger.warn(
            "JSON is decoded by Spark's parser, which is slower, because of Jackson's version: {}",
            e.toString
          )
          false
      }
    if (!whole) parser = null
    whole
  }

  private def parse(bytes: Array[Byte], into: DecodedValues): Boolean = {
    if (looksForAll) ju.Arrays.fill(seen, false)
    plain.begin()
    val index = plain.read(bytes, 0, into)
    plain.isOver || {
      parser.reset(bytes)
      if (plain.position > 0) {
        parser.enter(index)
        parseFields(bytes, into)
      } else (parser.nextToken() eq JsonToken.START_OBJECT) && parseFields(bytes, into)
    }
  }

  private def parseFields(bytes: Array[Byte], into: DecodedValues): Boolean = {
    var name = next()
    while (name ne null) {
      val token = parser.nextToken()
      val field = name.field
      if (field eq null) {
        val _ = parser.skipChildren()
      } else {
        current = field
        if (looksForAll) seen(field.column.bit) = true
        // A name may be there twice: the last value counts.
        if ((token eq JsonToken.VALUE_NULL) && !field.readsNull) into.setNullAt(field.column.index)
        else field.read(parser, token, into)
        current = null
      }
      plain.position += 1
      parser.moveTo(plain.read(bytes, parser.index, into))
      name = if (plain.isOver) null else next()
    }
    if (plain.isOver) parser.leave()
    plain.isOver || (parser.currentToken() eq JsonToken.END_OBJECT)
  }

  /** The next name of the object, compared with the expected one byte by byte; null at the end. */
  private def next(): FieldName = {
    val expected = plain.expected
    if ((expected ne null) && parser.nextFieldName(expected.text)) expected
    else {
      val found =
        if (expected eq null) parser.nextFieldName()
        else if (parser.currentToken() eq JsonToken.FIELD_NAME) parser.currentName()
        else null
      if (found eq null) null else known(found)
    }
  }

  private def known(text: String): FieldName = {
    var name = names.get(text)
    if (name eq null) {
      if (names.size >= MostNames) names.clear()
      name = new FieldName(new SerializedString(text), byName.get(text))
      val _ = names.put(text, name)
    }
    plain.found(name)
    name
  }

  private def bySpark(bytes: Array[Byte], into: DecodedValues): DecodeFailure = {
    val field = Option(current).map(_.column)
    into.clear()
    try {
      val rows = spark.parse[UTF8String](
        UTF8String.fromBytes(bytes),
        CreateJacksonParser.utf8String,
        identity
      ).iterator
      if (!rows.hasNext) null
      else {
        into.setAll(wanted, rows.next(), wantedSchema)
        if (asksForAll) lookFor(bytes)
        missing()
      }
    } catch {
      case bad: BadRecordException =>
        val partial = bad.partialResults().headOption
        partial.foreach(into.setAll(wanted, _, wantedSchema))
        // The error of the text, not of a value that cannot be represented in a type.
        val isText = bad.cause.getClass == classOf[JsonParseException] ||
          bad.cause.isInstanceOf[JsonEOFException]
        val named = if (isText) None else field
        DecodeFailure(reason(named, isText), named.map(_.name), partial.isEmpty)
      case NonFatal(_) =>
        into.clear()
        DecodeFailure(reason(field, isText = false), field.map(_.name), unparsable = true)
    }
  }

  private def reason(field: Option[JsonColumn], isText: Boolean): String =
    if (isText) "it is not valid JSON"
    else field.fold("it is not a JSON object that fits the schema")(f =>
      s"the value is not of type ${f.dataType.sql}"
    )

  /** Notes which of the fields the object has, for records that only Spark's parser reads. */
  private def lookFor(bytes: Array[Byte]): Unit = {
    ju.Arrays.fill(seen, false)
    val own = CreateJacksonParser.utf8String(factory, UTF8String.fromBytes(bytes))
    try {
      val _ = own.nextToken()
      foreachField(own)(name => Option(byName.get(name)).foreach(field => seen(field.column.bit) = true))
    } catch {
      // Spark has read the record: only what follows the object can be wrong.
      case _: JsonProcessingException =>
    } finally own.close()
  }

  private def missing(): DecodeFailure =
    if (!asksForAll) null
    else fields.find(field => !seen(field.column.bit)).map(field =>
      DecodeFailure("the field is missing", Some(field.column.name), unparsable = false)
    ).orNull
}

private[format] object JsonDecoder {
  private val logger = LoggerFactory.getLogger(classOf[JsonDecoder])

  /**
   * Names the fields of the object in which the parser is; the current token is that of the value, which `use` may read to its end.
   */
  def foreachField(parser: JsonParser)(use: String => Unit): Unit = {
    var name = parser.nextFieldName()
    while (name ne null) {
      val _ = parser.nextToken()
      use(name)
      val _ = parser.skipChildren()
      name = parser.nextFieldName()
    }
  }

  /** Larger records are left to Spark's parser. */
  private val Longest = 1 << 26

  /** With more names than this, a new parser is made. */
  private val MostNames = 4000
}

/**
 * A name in objects.
 *
 * @param field null if no column has this name
 */
private[format] final class FieldName(val text: SerializedString, val field: JsonField) {
  val quoted: Array[Byte] = JsonSkip.quoted(text.asQuotedUTF8)
}

/**
 * Reads the fields of an object without Jackson's parser, as long as their names are those of the object before, in the same order, and
 * each value is one that is skipped, or as most values of its column are.
 *
 * @param factory with the limits of the options
 * @param seen receives which columns were there, by their bits; null if this is not needed
 */
private[format] final class PlainFields(factory: JsonFactory, seen: Array[Boolean]) {
  private val limits = factory.streamReadConstraints
  private val longestNumber = limits.getMaxNumberLength

  /** The name at each position of the object before: most records have the same names in the same order. */
  private val names = new Array[FieldName](if (limits.getMaxNestingDepth > 0) 256 else 0)

  var position = 0
  var isOver = false

  /** The next record begins. */
  def begin(): Unit = {
    position = 0
    isOver = false
  }

  /** The name that is expected next; null if there is none. */
  def expected: FieldName = if (position < names.length) names(position) else null

  def found(name: FieldName): Unit = if (position < names.length) names(position) = name

  /**
   * Reads what is possible.
   *
   * @param bytes valid UTF-8
   * @param from the index of the comma before the next field, or of the opening brace
   * @return the index after the last field that was read, or after the closing brace
   */
  def read(bytes: Array[Byte], from: Int, into: DecodedValues): Int = {
    val end = bytes.length
    var next = from
    var at = from
    while (next >= 0) {
      at = next
      if (position > 0 && at < end && bytes(at) == '}') {
        isOver = true
        next = -1
      } else {
        val name = expected
        val value =
          if (name eq null) -1
          else JsonSkip.afterName(bytes, at, end, if (position == 0) '{' else ',', name.quoted)
        next = if (value < 0) -1 else after(name.field, bytes, value, end, into)
        if (next >= 0) position += 1
      }
    }
    at
  }

  private def after(
      field: JsonField,
      bytes: Array[Byte],
      value: Int,
      end: Int,
      into: DecodedValues
  ): Int =
    if (field eq null) JsonSkip.value(bytes, value, end, longestNumber)
    else {
      val next =
        if (bytes(value) != 'n') field.plain(bytes, value, end, into)
        else if (field.readsNull) -1
        else JsonSkip.literal(bytes, value, end, JsonSkip.Null)
      if (next >= 0) {
        if (bytes(value) == 'n') into.setNullAt(field.column.index)
        if (seen ne null) seen(field.column.bit) = true
      }
      next
    }
}
