package io.github.dynamickafka.option

/**
 * The name of an option of a format: `json.timestampFormat`, `value.json.timestampFormat`, `key.json.timestampFormat`.
 *
 * @param side `key` or `value`; None: both
 * @param format a format, in the spelling of the connector
 * @param option the name of the option within the format, as the user wrote it
 */
private[dynamickafka] final case class FormatKey(side: Option[String], format: String, option: String)

private[dynamickafka] object FormatKey {
  val Key = "key"
  val Value = "value"

  def of(name: String, formats: Seq[String]): Option[FormatKey] = {
    def known(part: String) = formats.find(f => OptionName.normalize(f) == OptionName.normalize(part))
    name.split("\\.", 3).toSeq match {
      case Seq(side, format, option) if Seq(Key, Value).exists(_.equalsIgnoreCase(side)) =>
        known(format).map(FormatKey(Some(OptionName.normalize(side)), _, option))
      case format +: (rest @ (_ +: _)) => known(format).map(FormatKey(None, _, rest.mkString(".")))
      case _ => None
    }
  }
}
