package io.github.dynamickafka.option

import java.util.Locale

/**
 * Splits the keys of `cluster.<id>.<name>` options, without the prefix `cluster.`, into id and name. Ids may contain
 * dots, so a key belongs to the longest known id that it starts with.
 */
private[dynamickafka] object ClusterKeys {
  val Rule = "a cluster id has 1 to 128 letters, digits, '.', '_' or '-'"

  private val ClusterId = "[A-Za-z0-9._-]{1,128}".r

  def isClusterId(text: String): Boolean = text != null && ClusterId.matches(text)

  /** The known cluster of this key, and the name of the option or property. */
  def split(key: String, knownIds: Iterable[String], table: OptionTable): Option[(String, String)] =
    knownIds
      .filter(id => key.startsWith(s"$id.") && key.length > id.length + 1)
      .maxByOption(_.length)
      .map(id => id -> key.drop(id.length + 1))
      .filterNot { case (_, name) => isOfLongerId(name, table) }

  /** Whether the name starts with the rest of an unknown id: no property and no option has such a name. */
  private def isOfLongerId(name: String, table: OptionTable): Boolean =
    OptionName.afterPrefix(name, OptionName.Kafka).isEmpty &&
      (name.toLowerCase(Locale.ROOT).contains(s".${OptionName.Kafka}") || endsWithOption(
        name,
        table
      ).isDefined)

  /** For keys of unknown clusters: what the user probably means as the id. Every id of the key begins like it. */
  def probableId(key: String, table: OptionTable): String = {
    val kafka = key.indexOf(s".${OptionName.Kafka}")
    if (kafka >= 0) key.take(kafka) else endsWithOption(key, table).fold(key.takeWhile(_ != '.'))(_._1)
  }

  /** For keys of unknown clusters: the id and the option, if the key ends with the name of an option. */
  def endsWithOption(key: String, table: OptionTable): Option[(String, OptionSpec[_])] =
    // Names of options may contain dots: the longest one counts.
    key.indices.iterator.filter(key(_) == '.').flatMap(dot =>
      table.find(key.drop(dot + 1)).map(key.take(dot) -> _)
    ).nextOption()
}

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
