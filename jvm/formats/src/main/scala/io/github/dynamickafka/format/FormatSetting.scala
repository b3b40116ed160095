package io.github.dynamickafka.format

import io.github.dynamickafka.option.{OptionName, OptionType}
import io.github.dynamickafka.schemaregistry.RegistryOptionSpecs

/**
 * An option of one format.
 *
 * @param name the name in Spark, or in Flink if Spark has no such option
 * @param valueType checks the value, which is passed on as text
 * @param aliases the names in Flink
 * @param decidesColumns whether the types of columns depend on the option, not only their values
 * @param required why a query has to set the option, if it has to
 * @param refusedInWrites why a query that writes refuses an option of reading also in the settings of a catalog, if it does: with the
 *                        option, what is written could not be read
 */
private[dynamickafka] final case class FormatSetting(
    name: String,
    valueType: OptionType[_],
    aliases: Seq[String] = Nil,
    decidesColumns: Boolean = false,
    required: Option[String] = None,
    refusedInWrites: Option[String] = None
) {
  private val keys = (name +: aliases).map(OptionName.normalize).toSet

  def named(other: String): Boolean = keys(OptionName.normalize(other))
}

/** The options that several formats have, and the rules for all options of formats. */
private[dynamickafka] object FormatSetting {
  import OptionType.{boolean, text}

  val IgnoreParseErrors: FormatSetting = FormatSetting("ignoreParseErrors", boolean)
  val FailOnMissingField: FormatSetting = FormatSetting("failOnMissingField", boolean)

  def texts(names: String*): Seq[FormatSetting] = names.map(FormatSetting(_, text))
  def flags(names: String*): Seq[FormatSetting] = names.map(FormatSetting(_, boolean))

  /** A character may be a space, and a literal may be empty. */
  val anything: OptionType[String] = OptionType("string", Right(_))

  private val parseErrors = Set("mode", "columnnameofcorruptrecord")

  /** Why a query that reads refuses an option that Spark or Flink have for the format. */
  def refused(format: Format, option: String): Option[String] = {
    val name = OptionName.normalize(option)
    if (parseErrors(name)) Some("use 'parseErrors', 'keyParseErrors' or 'valueParseErrors'.")
    else
      format.refused(name).orElse(ofRegistry(format, name)).orElse(
        Option.when(format.withoutEffect.map(OptionName.normalize)(name))(
          "it has no effect when records are read."
        )
      )
  }

  /** The same for a query that writes. */
  def refusedInWrites(format: Format, option: String): Option[String] = {
    val name = OptionName.normalize(option)
    format.settings.find(_.named(option)).map(_.refusedInWrites)
      .orElse(Option.when(name == "mode")(None))
      .map(_.getOrElse("it has no effect when records are written."))
      .orElse(ofRegistry(format, name))
      .orElse(format.writer.flatMap(_.refused(name)))
  }

  /** Options of Flink about registries, for reading and writing. */
  private def ofRegistry(format: Format, name: String): Option[String] =
    if (!format.hasRegistry) None
    else if (name == "schema") Some("use 'schema' without a prefix.")
    else Option.when(name.endsWith(".credentialssource"))(
      s"the credentials are those of '${RegistryOptionSpecs.UserInfo.name}' or '${RegistryOptionSpecs.Token.name}'."
    )
}

/** The options of formats whose times are texts. */
private[format] object TimeSettings {
  import FormatSetting.{flags, texts}

  /** Of Flink; sets the formats of timestamps in Spark. */
  private val standard: FormatSetting =
    FormatSetting("timestampFormat.standard", OptionType.oneOf("SQL" -> "SQL", "ISO-8601" -> "ISO-8601"))

  private val formats = texts("timeZone", "dateFormat", "timestampFormat", "timestampNTZFormat", "locale")

  val reading: Seq[FormatSetting] = formats ++ flags("enableDateTimeParsingFallback")
  val writing: Seq[FormatSetting] = formats

  /** Flink's option, of JSON only. */
  val ofFlink: Seq[FormatSetting] = Seq(standard)

  def forDecoder(set: Map[String, String]): Map[String, String] =
    (if (set.contains(standard.name)) {
       val local = s"yyyy-MM-dd${separator(set)}HH:mm:ss[.SSSSSSSSS]"
       Map("timestampFormat" -> s"$local[XXX]", "timestampNTZFormat" -> local)
     } else Map.empty[String, String]) ++ (set - standard.name)

  /** Timestamps have six digits, because Spark's own default cuts off what is below milliseconds. */
  def forEncoder(set: Map[String, String]): Map[String, String] = {
    val local = s"yyyy-MM-dd${separator(set)}HH:mm:ss.SSSSSS"
    Map("timestampFormat" -> s"${local}XXX", "timestampNTZFormat" -> local) ++ (set - standard.name)
  }

  private def separator(set: Map[String, String]) =
    if (set.get(standard.name).exists(_.trim.equalsIgnoreCase("SQL"))) " " else "'T'"
}
