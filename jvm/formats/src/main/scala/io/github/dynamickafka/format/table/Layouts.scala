package io.github.dynamickafka.format.table

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{BinaryType, DataType, StringType, StructField, StructType}

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.{
  AvroSchemas,
  ChangeLayout,
  ColumnOrigin,
  FormatMetadata,
  FormatOptions,
  Layout,
  LayoutColumn,
  MetadataColumn,
  MetadataItem,
  ParseErrors,
  SchemaText,
  SideFormat,
  SideLayout
}

/** Makes the [[Layout]] of a table from the options, or from the schema that the user gave to Spark. */
private[dynamickafka] object Layouts {
  import ColumnOrigin._

  val CorruptColumn = "_corrupt_record"
  val ErrorColumn = "_decode_error"

  /**
   * @param user the schema given to Spark (`.schema(...)`): all columns of the table
   * @param includeHeaders whether `headers` is added to the default metadata columns
   */
  def of(options: FormatOptions, user: Option[StructType], includeHeaders: Boolean): Layout = {
    val columns = user.fold(declared(options, includeHeaders))(asGiven(options, _))
    refuseDuplicates(columns)
    val layout = new Sides(options, columns.collect { case Left(decoded) => decoded })
    val keeps = options.sides.exists(_.parseErrors == ParseErrors.Keep)
    val corrupt = Seq(
      LayoutColumn(StructField(CorruptColumn, BinaryType), CorruptRecord),
      LayoutColumn(StructField(ErrorColumn, StringType), DecodeError)
    )
    val all = columns.flatMap {
      case Left(decoded) => Seq(LayoutColumn(decoded, layout.origin(decoded)))
      case Right(metadata) => Seq(metadata)
    }
    val (metadata, decoded) = all.partition(_.origin match {
      case OfRecord(_) => true
      case OfChange(index) => index != ChangeLayout.TypeIndex
      case _ => false
    })
    val complete = if (keeps && user.isEmpty) decoded ++ corrupt ++ metadata else all
    refuseCollisions(complete)
    Layout(complete, layout.value, layout.key, options.upsert)
  }

  private type Column = Either[StructField, LayoutColumn]

  /** The decoded columns, then those of the record. */
  private def declared(options: FormatOptions, includeHeaders: Boolean): Seq[Column] = {
    val fields = options.schema.map(_.columns)
    val needsSchema = options.value.format.hasFields || options.key.exists(_.format.hasFields)
    if (needsSchema && fields.isEmpty) {
      options.sides.flatMap(_.format.withoutSchema).headOption.foreach(reason =>
        throw Errors.invalidSchema(reason)
      )
      throw Errors.missingOption(
        FormatOptionSpecs.Schema.name,
        s"the format '${options.sides.map(_.format).find(_.hasFields).get.name}' requires the columns of " +
          "the records, as DDL, as JSON, or by '.schema(...)' of Spark."
      )
    }
    val ofValue = if (options.changeEnvelope) fields.map(ChangeLayout.envelope) else fields
    val columns = ofValue.fold(Seq.empty[StructField])(_.fields.toSeq)
    // `schema` may have the column of the key, where it belongs in the table.
    val key = wholeKey(options).filterNot(k => columns.exists(_.name == k.name))
    val decoded = key ++ columns ++ fixed(Some(options.value), "value")
    val wanted = options.metadata.getOrElse(MetadataItem.default)
    val all =
      if (includeHeaders) (wanted :+ MetadataItem.OfRecord(MetadataColumn.Headers)).distinct else wanted
    decoded.map(Left(_)) ++ changeType(options).map(c => Right(c)) ++
      all.map(c => Right(metadata(options, c, None)))
  }

  private def changeType(options: FormatOptions): Option[LayoutColumn] =
    Option.when(options.upsert || (options.value.format.isChange && !options.changeEnvelope))(
      LayoutColumn(StructField(ChangeLayout.TypeColumn, StringType), OfChange(ChangeLayout.TypeIndex))
    )

  /** Names of metadata columns are metadata, all others are decoded. */
  private def asGiven(options: FormatOptions, user: StructType): Seq[Column] = {
    if (options.schema.isDefined)
      throw Errors.invalidOption(
        FormatOptionSpecs.Schema.name,
        options.schema.get.columns.toDDL,
        "a schema is also given to Spark ('.schema(...)'), but only one of the two is allowed."
      )
    if (options.changeEnvelope)
      throw Errors.invalidOption(
        FormatOptionSpecs.ChangeData.name,
        "envelope",
        s"a schema is given to Spark ('.schema(...)'): use the option '${FormatOptionSpecs.Schema.name}', with the columns of " +
          "the changed table."
      )
    val change = changeType(options)
    val key = wholeKey(options).filter(_ => options.keyFields.isEmpty || !options.keyIsInValue)
    val single = (key ++ fixed(Some(options.value), "value")).map(f => f.name -> f).toMap
    val known = options.metadata.getOrElse(MetadataItem.ofRecord)
    val keeps = options.sides.exists(_.parseErrors == ParseErrors.Keep)
    SchemaText.nullable(user).zip(user).map { case (field, original) =>
      val ofRecord = Option.when(field.name.startsWith(options.metadataPrefix))(
        field.name.drop(options.metadataPrefix.length)
      ).flatMap(name => known.find(_.name.equalsIgnoreCase(name)))
      field.name match {
        case name if single.contains(name) =>
          refuseType(field, single(name), "is the whole key or value")
          Left(single(name))
        case name if change.exists(_.field.name == name) =>
          refuseType(field, change.get.field, "has the kind of the change")
          Right(change.get)
        case CorruptColumn if keeps =>
          refuseType(field, StructField(CorruptColumn, BinaryType), "has the bytes of bad records")
          Right(LayoutColumn(field, CorruptRecord))
        case ErrorColumn if keeps =>
          refuseType(field, StructField(ErrorColumn, StringType), "has the errors of bad records")
          Right(LayoutColumn(field, DecodeError))
        case _ => ofRecord match {
            case Some(item) =>
              val column = metadata(options, item, Some(original))
              val own = metadata(options, item, None).field.dataType
              val nullable = SchemaText.nullable(new StructType().add("c", own)).head.dataType
              refuseType(field, StructField(field.name, nullable), "is metadata of the record")
              Right(column)
            case None if !options.value.format.hasFields && !options.keyFields.contains(field.name) =>
              throw Errors.invalidSchema(
                s"the format '${options.value.format.name}' has no column '${field.name}'."
              )
            case None => Left(field)
          }
      }
    }
  }

  private def wholeKey(options: FormatOptions): Seq[StructField] =
    options.wholeKey.toSeq.flatMap(fixed(options.key, _))

  /** The column of a format without fields. */
  private def fixed(side: Option[SideFormat], name: String): Seq[StructField] =
    side.flatMap(_.format.wholeTypes.headOption).map(StructField(name, _)).toSeq

  private def metadata(
      options: FormatOptions,
      item: MetadataItem,
      as: Option[StructField]
  ): LayoutColumn = {
    def column(dataType: DataType, nullable: Boolean, origin: ColumnOrigin) =
      LayoutColumn(
        as.getOrElse(StructField(options.metadataPrefix + item.name, dataType, nullable)),
        origin
      )
    item match {
      case MetadataItem.OfRecord(c, _) => column(c.dataType, c.nullable, OfRecord(c))
      case MetadataItem.OfFormat(key, _) =>
        val all = FormatMetadata.asked(options)
        val found = FormatMetadata.find(options.value.format, key).get
        column(found.dataType, nullable = true, OfChange(ChangeLayout.TypeIndex + 1 + all.indexOf(found)))
    }
  }

  private def refuseType(found: StructField, expected: StructField, what: String): Unit =
    if (found.dataType != expected.dataType)
      throw Errors.invalidSchema(
        s"the column '${found.name}' $what and has type ${expected.dataType.sql}, not ${found.dataType.sql}. For a field of " +
          s"this name in the records, set '${FormatOptionSpecs.MetadataPrefix.name}'."
      )

  private def refuseDuplicates(columns: Seq[Column]): Unit =
    twice(columns.collect { case Left(field) => field.name }).foreach(name =>
      throw Errors.invalidSchema(s"it has the column '$name' twice.")
    )

  private def refuseCollisions(columns: Seq[LayoutColumn]): Unit =
    twice(columns.map(_.field.name)).foreach(name =>
      throw Errors.invalidSchema(
        s"the records and their metadata both have a column '$name': set '${FormatOptionSpecs.MetadataPrefix.name}', or leave " +
          s"it out of '${FormatOptionSpecs.MetadataColumns.name}'."
      )
    )

  private def twice(names: Seq[String]): Option[String] = {
    def key(name: String) =
      if (SQLConf.get.caseSensitiveAnalysis) name else name.toLowerCase(java.util.Locale.ROOT)
    names.diff(names.distinctBy(key)).headOption
  }
}

/** Divides the decoded columns between keys and values. */
private final class Sides(options: FormatOptions, decoded: Seq[StructField]) {
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
  for (name <- wholeKey; field <- ofKey; format = options.key.get.format) {
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

  /** The time zone is that of the session which makes the table, as with Spark's functions. */
  private def layout(side: SideFormat, fields: Seq[StructField], avro: Option[String]) = {
    val zone =
      if (side.format.usesTimeZone) Map("timeZone" -> SQLConf.get.sessionLocalTimeZone)
      else Map.empty[String, String]
    SideLayout(side.copy(options = zone ++ side.options), StructType(fields), fields.indices, avro)
  }

  val value: SideLayout =
    layout(
      options.value,
      ofValue,
      options.schema.flatMap(_.avro).map(AvroSchemas.without(_, ofKey.diff(ofValue).map(_.name).toSet))
    ).copy(
      wanted = ofValue.indices.filterNot(i => ofKey.contains(ofValue(i))),
      change = Option.when(options.value.format.isChange)(change)
    )

  private def change: ChangeLayout = {
    val payload =
      if (options.changeEnvelope) options.schema.map(_.columns).get else StructType(ofValue)
    val metadata = FormatMetadata.asked(options)
    ChangeLayout(
      payload,
      metadata,
      (ChangeLayout.TypeIndex +: metadata.indices.map(_ + 1)),
      options.changeEnvelope
    )
  }

  /** With `ALL`, the fields of keys are read from the values, so keys are not decoded, except in upserts. */
  val key: Option[SideLayout] = options.key.filter(_ => ofKey.nonEmpty).map { side =>
    val prefix = options.keyFieldsPrefix.length
    layout(
      side,
      if (wholeKey.isDefined) ofKey else ofKey.map(f => f.copy(name = f.name.drop(prefix))),
      None
    )
  }

  def origin(field: StructField): ColumnOrigin = {
    val inKey = ofKey.indexWhere(_.name == field.name)
    if (inKey >= 0) ColumnOrigin.OfKey(inKey)
    else ColumnOrigin.OfValue(ofValue.indexWhere(_.name == field.name))
  }
}
