package io.github.dynamickafka.format.table

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{BinaryType, DataType, StringType, StructField, StructType}

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format._

/**
 * The formats of a table that is read, or of rows that are written: from options to columns.
 *
 * @param schemaFromRegistry `schema=registry`: `schema` is not known yet
 * @param deadLetters where bad records are written; None: nowhere
 */
private[dynamickafka] final case class FormatTable(
    value: SideFormat,
    key: Option[KeyOptions] = None,
    schema: Option[DeclaredSchema] = None,
    schemaFromRegistry: Boolean = false,
    metadata: MetadataSelection = MetadataSelection(),
    changes: ChangeMode = ChangeMode.Rows,
    deadLetters: Option[DeadLetterOptions] = None
) {
  def sides: Seq[SideFormat] = value +: key.map(_.side).toSeq
  def keyFields: Seq[String] = key.fold(Seq.empty[String])(_.fields)
  def exceptKey: Boolean = key.exists(_.isApart)

  /** The table with the columns of `schema=registry`. */
  def withSchema(newest: DeclaredSchema): FormatTable =
    copy(schema = Some(newest), schemaFromRegistry = false)

  /** Whether a format of changes gives envelopes instead of rows. */
  def changeEnvelope: Boolean = changes == ChangeMode.Envelope

  /** Whether the stream is a table with a key, in which a null value deletes. */
  def upsert: Boolean = changes == ChangeMode.Upsert

  /** Whether the column of a whole key is a field of the values, so that it is read from there. */
  def keyIsInValue: Boolean =
    !exceptKey && value.format.hasFields &&
      schema.forall(_.columns.exists(f => wholeKey.contains(f.name)))

  /** The name of the column that is the whole key, with `raw` and `string`. */
  def wholeKey: Option[String] =
    key.filter(!_.side.format.hasFields).map(_.fields.headOption.getOrElse("key"))

  /** Whether the columns are those of Spark's Kafka source, then `cluster` and `stream`. */
  def isPlain: Boolean =
    value.format == Raw && key.isEmpty && metadata == MetadataSelection()

  /**
   * The columns of a table that is read.
   *
   * @param user the schema given to Spark (`.schema(...)`): all columns of the table
   * @param includeHeaders whether `headers` is added to the default metadata columns
   */
  def layout(user: Option[StructType], includeHeaders: Boolean): Layout =
    new TableColumns(this, user, includeHeaders).layout

  /**
   * How the rows of a query become keys and values.
   *
   * @param input the columns of the rows
   * @param routing the indexes of those that route a record, and are not in its key or value
   * @param caseSensitive whether names are compared with their case
   * @throws DynamicKafkaIllegalArgumentException `INVALID_COLUMN`, `INVALID_SCHEMA`
   */
  def encoding(input: StructType, routing: Set[Int], caseSensitive: Boolean): Encoding = {
    val made = new Encodings(this, input, routing, caseSensitive)
    val frames = Seq(Some(made.value) -> false, made.key -> true).collect {
      // The columns of `schema=registry` are not known yet when only the options are checked.
      case (Some(fields: SideColumns.Fields), ofKeys) if !schemaFromRegistry =>
        Encoders.check(fields.side, schema.isDefined)
        fields.frame(ofKeys)
    }
    Encoding(made.value, made.key, frames.flatten, made.upserts)
  }
}

/**
 * The format of the keys.
 *
 * @param fields the columns that are read from keys, with their prefix; with `raw` and `string` the name of the only one
 * @param isApart whether these columns are not in the values
 */
private[dynamickafka] final case class KeyOptions(
    side: SideFormat,
    fields: Seq[String] = Nil,
    prefix: String = "",
    isApart: Boolean = false
) {

  /** The field in the keys of a column. */
  def field(column: StructField): StructField = column.copy(name = column.name.drop(prefix.length))
}

/** @param columns None: the default columns */
private[dynamickafka] final case class MetadataSelection(
    columns: Option[Seq[MetadataItem]] = None,
    prefix: String = ""
)

/** @param cluster None: that of each record */
private[dynamickafka] final case class DeadLetterOptions(topic: String, cluster: Option[String])

/** Makes the columns of a table by the options, or by the schema that the user gave to Spark. */
private final class TableColumns(options: FormatTable, user: Option[StructType], includeHeaders: Boolean) {
  import ColumnOrigin._

  /** A decoded column, or one about the record. */
  private type Column = Either[StructField, LayoutColumn]

  private val keeps = options.sides.exists(_.parseErrors == ParseErrors.Keep)
  private val corrupt = Seq(
    LayoutColumn(StructField("_corrupt_record", BinaryType), CorruptRecord),
    LayoutColumn(StructField("_decode_error", StringType), DecodeError)
  )
  private val changeType =
    Option.when(options.upsert || (options.value.format.isChange && !options.changeEnvelope))(
      LayoutColumn(StructField(ChangeLayout.TypeColumn, StringType), OfChange(ChangeLayout.TypeIndex))
    )
  private val keyColumn = options.wholeKey.flatMap(whole(options.key.map(_.side), _))
  private val valueColumn = whole(Some(options.value), "value")
  private val formatMetadata = FormatMetadata.asked(options.value.format, options.metadata.columns)
  private val columns: Seq[Column] = user.fold(declared)(asGiven)
  private val decoded = columns.collect { case Left(field) => field }
  refuseTwice(decoded.map(_.name))(name => s"it has the column '$name' twice.")

  /** The column of a format without fields. */
  private def whole(side: Option[SideFormat], name: String): Option[StructField] =
    side.flatMap(_.format.wholeTypes.headOption).map(StructField(name, _))

  /** The decoded columns, then those of the record. */
  private def declared: Seq[Column] = {
    val fields = options.schema.map(_.columns)
    if (fields.isEmpty) options.sides.map(_.format).find(_.hasFields).foreach { format =>
      options.sides.flatMap(_.format.withoutSchema).headOption.foreach(reason =>
        throw Errors.invalidSchema(reason)
      )
      throw Errors.missingOption(
        FormatOptionSpecs.Schema.name,
        s"the format '${format.name}' requires the columns of the records, as DDL, as JSON, or by '.schema(...)' of Spark."
      )
    }
    val ofValue = if (options.changeEnvelope) fields.map(ChangeLayout.envelope) else fields
    val declared = ofValue.fold(Seq.empty[StructField])(_.fields.toSeq)
    // `schema` may have the column of the key, where it belongs in the table.
    val key = keyColumn.filterNot(k => declared.exists(_.name == k.name))
    val wanted = options.metadata.columns.getOrElse(MetadataItem.default)
    val all =
      if (includeHeaders) (wanted :+ MetadataItem.OfRecord(MetadataColumn.Headers)).distinct else wanted
    (key.toSeq ++ declared ++ valueColumn).map(Left(_)) ++ (changeType.toSeq ++ all.map(metadata)).map(Right(
      _
    ))
  }

  /** Names of metadata columns are metadata, all others are decoded. */
  private def asGiven(user: StructType): Seq[Column] = {
    options.schema.foreach(schema =>
      throw Errors.invalidOption(
        FormatOptionSpecs.Schema.name,
        schema.columns.toDDL,
        "a schema is also given to Spark ('.schema(...)'), but only one of the two is allowed."
      )
    )
    if (options.changeEnvelope)
      throw Errors.invalidOption(
        FormatOptionSpecs.ChangeData.name,
        "envelope",
        s"a schema is given to Spark ('.schema(...)'): use the option '${FormatOptionSpecs.Schema.name}', with the columns of " +
          "the changed table."
      )
    val key = keyColumn.filter(_ => options.keyFields.isEmpty || !options.keyIsInValue)
    val kept =
      if (keeps) corrupt.zip(Seq("has the bytes of bad records", "has the errors of bad records")) else Nil
    val special = (changeType.map(_ -> "has the kind of the change") ++ kept).toSeq
    val known = options.metadata.columns.getOrElse(MetadataItem.ofRecord)
    user.toNullable.zip(user).map { case (field, original) =>
      def ofRecord = Option.when(field.name.startsWith(options.metadata.prefix))(
        field.name.drop(options.metadata.prefix.length)
      ).flatMap(name => known.find(_.name.equalsIgnoreCase(name)))
      (valueColumn ++ key).find(_.name == field.name).map { own =>
        refuseType(field, own.dataType, "is the whole key or value")
        Left(own)
      }.orElse(special.find(_._1.field.name == field.name).map { case (column, what) =>
        refuseType(field, column.field.dataType, what)
        Right(column.copy(field = field))
      }).orElse(ofRecord.map { item =>
        val column = metadata(item)
        val own = new StructType().add("c", column.field.dataType).toNullable.head.dataType
        refuseType(field, own, "is metadata of the record")
        Right(column.copy(field = original))
      }).getOrElse {
        if (!options.value.format.hasFields && !options.keyFields.contains(field.name))
          throw Errors.invalidSchema(
            s"the format '${options.value.format.name}' has no column '${field.name}'."
          )
        Left(field)
      }
    }
  }

  private def metadata(item: MetadataItem): LayoutColumn = {
    val name = options.metadata.prefix + item.name
    item match {
      case MetadataItem.OfRecord(c, _) => LayoutColumn(StructField(name, c.dataType, c.nullable), OfRecord(c))
      case MetadataItem.OfFormat(key, _) =>
        val found = FormatMetadata.find(options.value.format, key).get
        val index = ChangeLayout.TypeIndex + 1 + formatMetadata.indexOf(found)
        LayoutColumn(StructField(name, found.dataType), OfChange(index))
    }
  }

  private def refuseType(found: StructField, expected: DataType, what: String): Unit =
    if (found.dataType != expected)
      throw Errors.invalidSchema(
        s"the column '${found.name}' $what and has type ${expected.sql}, not ${found.dataType.sql}. For a field of " +
          s"this name in the records, set '${FormatOptionSpecs.MetadataPrefix.name}'."
      )

  private def refuseTwice(names: Seq[String])(reason: String => String): Unit = {
    def key(name: String) =
      if (SQLConf.get.caseSensitiveAnalysis) name else name.toLowerCase(java.util.Locale.ROOT)
    names.diff(names.distinctBy(key)).headOption.foreach(name => throw Errors.invalidSchema(reason(name)))
  }

  private val names = decoded.map(_.name)
  options.keyFields.find(!names.contains(_)).foreach(name =>
    throw Errors.invalidOption(
      FormatOptionSpecs.KeyFields.name,
      name,
      s"the schema has no column '$name'."
    )
  )

  private val wholeKey = options.wholeKey
  private val ofKey: Seq[StructField] = wholeKey match {
    case Some(name) if options.upsert || options.keyFields.isEmpty || !options.keyIsInValue =>
      decoded.filter(_.name == name)
    case None if options.upsert || options.exceptKey =>
      options.keyFields.flatMap(name => decoded.find(_.name == name))
    case _ => Nil
  }
  for (name <- wholeKey; field <- ofKey; format = options.key.get.side.format) {
    val fits = format.wholeTypes
    if (!fits.contains(field.dataType))
      throw Errors.invalidSchema(
        s"the column '$name' is the whole key, in the format '${format.name}', and has type " +
          s"${fits.map(_.sql).mkString(" or ")}, not ${field.dataType.sql}."
      )
  }

  /** An upsert reads the fields of keys from keys, because a null value has none; values may have them as well. */
  private val isInBoth = options.upsert && options.value.format.hasFields &&
    wholeKey.fold(!options.exceptKey)(_ => options.keyIsInValue)
  private val ofValue: Seq[StructField] = if (isInBoth) decoded else decoded.diff(ofKey)
  if (!options.value.format.hasFields)
    ofValue.find(_.name != "value").foreach(field =>
      throw Errors.invalidSchema(
        s"keys do not contain the column '${field.name}', and the format '${options.value.format.name}' of the values has no " +
          s"fields. Set '${FormatOptionSpecs.ValueFieldsInclude.name}' to 'EXCEPT_KEY', and name the column in " +
          s"'${FormatOptionSpecs.KeyFields.name}'."
      )
    )

  private val value: SideLayout =
    SideLayout.of(
      options.value,
      ofValue,
      options.schema.flatMap(_.avro).map(AvroSchemas.without(_, ofKey.diff(ofValue).map(_.name).toSet))
    ).copy(
      wanted = ofValue.indices.filterNot(i => ofKey.contains(ofValue(i))),
      change = Option.when(options.value.format.isChange)(ChangeLayout(
        if (options.changeEnvelope) options.schema.map(_.columns).get else StructType(ofValue),
        formatMetadata,
        ChangeLayout.TypeIndex +: formatMetadata.indices.map(_ + 1),
        options.changeEnvelope
      ))
    )

  /** With `ALL`, the fields of keys are read from the values, so keys are not decoded, except in upserts. */
  private val key: Option[SideLayout] = options.key.filter(_ => ofKey.nonEmpty).map(key =>
    SideLayout.of(key.side, if (wholeKey.isDefined) ofKey else ofKey.map(key.field))
  )

  private def origin(field: StructField): ColumnOrigin = {
    val inKey = ofKey.indexWhere(_.name == field.name)
    if (inKey >= 0) OfKey(inKey) else OfValue(ofValue.indexWhere(_.name == field.name))
  }

  val layout: Layout = {
    val all = columns.map(_.fold(field => LayoutColumn(field, origin(field)), identity))
    val (metadata, others) = all.partition(_.origin match {
      case OfRecord(_) => true
      case OfChange(index) => index != ChangeLayout.TypeIndex
      case _ => false
    })
    val complete = if (keeps && user.isEmpty) others ++ corrupt ++ metadata else all
    refuseTwice(complete.map(_.field.name))(name =>
      s"the records and their metadata both have a column '$name': set '${FormatOptionSpecs.MetadataPrefix.name}', or leave " +
        s"it out of '${FormatOptionSpecs.MetadataColumns.name}'."
    )
    Layout(complete, value, key, options.upsert)
  }
}
