package io.github.dynamickafka.option

/**
 * All options of the source or of the sink.
 *
 * @param all the options in the order of the documentation
 * @param unsupported names that are rejected with a specific reason
 * @param formats the formats whose options are accepted: `<format>.<option>`, also after `key.` and `value.`
 * @param elsewhere whether an option of a format only concerns the other one of source and sink
 * @param isKafkaProperty whether this is the name of a property of the Kafka clients, without the prefix `kafka.`
 * @param ownPrefixes prefixes of options that this table alone has, whose names continue with something that is not declared
 */
private[dynamickafka] final class OptionTable(
    val all: Seq[OptionSpec[_]],
    val unsupported: UnsupportedOptions,
    val formats: Seq[String] = Nil,
    elsewhere: FormatKey => Boolean = _ => false,
    val isKafkaProperty: String => Boolean = _ => false,
    ownPrefixes: Seq[String] = Nil
) {
  val perCluster: Seq[OptionSpec[_]] = all.filter(_.perCluster)

  /** Whether the name starts with a prefix of this table alone. */
  def hasPrefix(name: String): Boolean = ownPrefixes.exists(OptionName.afterPrefix(name, _).isDefined)

  def find(name: String): Option[OptionSpec[_]] = all.find(_.named(name))

  /** Whether this is an option of the table or of one of its formats. */
  def has(name: String): Boolean =
    hasPrefix(name) || find(name).isDefined || FormatKey.of(name, formats).exists(!elsewhere(_))
}
