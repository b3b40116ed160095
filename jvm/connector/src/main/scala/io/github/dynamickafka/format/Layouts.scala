package io.github.dynamickafka.format

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{BinaryType, StringType, StructField, StructType}

import io.github.dynamickafka.error.Errors

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
    val keeps = (options.value +: options.key.toSeq).exists(_.parseErrors == ParseErrors.Keep)
    val corrupt = Seq(
      LayoutColumn(StructField(CorruptColumn, BinaryType), CorruptRecord),
      LayoutColumn(StructField(ErrorColumn, StringType), DecodeError)
    )
    val all = columns.flatMap {
      case Left(decoded) => Seq(LayoutColumn(decoded, layout.origin(decoded)))
      case Right(metadata) => Seq(metadata)
    }
    val (decoded, metadata) = all.partition(c => !c.origin.isInstanceOf[OfRecord])
    val complete = if (keeps && user.isEmpty) decoded ++ corrupt ++ metadata else all
    refuseCollisions(complete)
    Layout(complete, layout.value, layout.key)
  }

  private type Column = Either[StructField, LayoutColumn]

  /** The decoded columns, then those of the record. */
  private def declared(options: FormatOptions, includeHeaders: Boolean): Seq[Column] = {
    val fields = options.schema.map(_.columns)
    val needsSchema = options.value.format.hasFields || options.key.exists(_.format.hasFields)
    if (needsSchema && fields.isEmpty)
      throw Errors.missingOption(
        FormatOptionSpecs.Schema.name,
        s"the format '${(options.value +: options.key.toSeq).map(_.format).find(_.hasFields).get.name}' requires the columns of " +
          "the records, as DDL, as JSON, or by '.schema(...)' of Spark."
      )
    val decoded = fixed(options.key, "key") ++ fields.fold(Seq.empty[StructField])(_.fields.toSeq) ++
      fixed(Some(options.value), "value")
    val wanted = options.metadata.getOrElse(MetadataColumn.default)
    val all = if (includeHeaders) (wanted :+ MetadataColumn.Headers).distinct else wanted
    decoded.map(Left(_)) ++ all.map(c => Right(metadata(options, c, None)))
  }

  /** Names of metadata columns are metadata, all others are decoded. */
  private def asGiven(options: FormatOptions, user: StructType): Seq[Column] = {
    if (options.schema.isDefined)
      throw Errors.invalidOption(
        FormatOptionSpecs.Schema.name,
        options.schema.get.columns.toDDL,
        "a schema is also given to Spark ('.schema(...)'), but only one of the two is allowed."
      )
    val single =
      (fixed(options.key, "key") ++ fixed(Some(options.value), "value")).map(f => f.name -> f).toMap
    val known = options.metadata.getOrElse(MetadataColumn.all)
    val keeps = (options.value +: options.key.toSeq).exists(_.parseErrors == ParseErrors.Keep)
    SchemaText.nullable(user).zip(user).map { case (field, original) =>
      val ofRecord = Option.when(field.name.startsWith(options.metadataPrefix))(
        field.name.drop(options.metadataPrefix.length)
      ).flatMap(MetadataColumn.find).filter(known.contains)
      field.name match {
        case name if single.contains(name) =>
          refuseType(field, single(name), "is the whole key or value")
          Left(single(name))
        case CorruptColumn if keeps =>
          refuseType(field, StructField(CorruptColumn, BinaryType), "has the bytes of bad records")
          Right(LayoutColumn(field, CorruptRecord))
        case ErrorColumn if keeps =>
          refuseType(field, StructField(ErrorColumn, StringType), "has the errors of bad records")
          Right(LayoutColumn(field, DecodeError))
        case _ => ofRecord match {
            case Some(column) =>
              val own = StructField(
                field.name,
                SchemaText.nullable(new StructType().add("c", column.dataType)).head.dataType
              )
              refuseType(field, own, "is metadata of the record")
              Right(metadata(options, column, Some(original)))
            case None if !options.value.format.hasFields && !options.keyFields.contains(field.name) =>
              throw Errors.invalidSchema(
                s"the format '${options.value.format.name}' has no column '${field.name}'."
              )
            case None => Left(field)
          }
      }
    }
  }

  /** The column of a format without fields. */
  private def fixed(side: Option[SideFormat], name: String): Seq[StructField] = side.map(_.format).collect {
    case Format.Raw => StructField(name, BinaryType)
    case Format.Text => StructField(name, StringType)
  }.toSeq

  private def metadata(
      options: FormatOptions,
      column: MetadataColumn,
      field: Option[StructField]
  ): LayoutColumn =
    LayoutColumn(
      field.getOrElse(StructField(options.metadataPrefix + column.name, column.dataType, column.nullable)),
      OfRecord(column)
    )

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
    throw Errors.invalidSchema(
      s"it has no column '$name', which '${FormatOptionSpecs.KeyFields.name}' contains."
    )
  )

  private val wholeKey = options.key.filter(!_.format.hasFields).map(_ => "key")
  private val ofKey: Seq[StructField] =
    wholeKey.fold(if (options.exceptKey) decoded.filter(f => options.keyFields.contains(f.name)) else Nil)(
      name =>
        decoded.filter(_.name == name)
    )
  private val ofValue: Seq[StructField] = decoded.diff(ofKey)
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
    val zone = side.format match {
      case Format.Json | Format.JsonConfluent | Format.Csv =>
        Map("timeZone" -> SQLConf.get.sessionLocalTimeZone)
      case _ => Map.empty[String, String]
    }
    SideLayout(side.copy(options = zone ++ side.options), StructType(fields), fields.indices, avro)
  }

  val value: SideLayout =
    layout(options.value, ofValue, options.schema.flatMap(_.avro).filter(_ => ofKey.isEmpty))

  /** With `ALL`, the fields of keys are read from the values, so keys are not decoded. */
  val key: Option[SideLayout] = options.key.filter(_ => ofKey.nonEmpty).map { side =>
    val prefix = options.keyFieldsPrefix.length
    layout(side, if (wholeKey.isDefined) ofKey else ofKey.map(f => f.copy(name = f.name.drop(prefix))), None)
  }

  def origin(field: StructField): ColumnOrigin = {
    val inKey = ofKey.indexWhere(_.name == field.name)
    if (inKey >= 0) ColumnOrigin.OfKey(inKey)
    else ColumnOrigin.OfValue(ofValue.indexWhere(_.name == field.name))
  }
}
