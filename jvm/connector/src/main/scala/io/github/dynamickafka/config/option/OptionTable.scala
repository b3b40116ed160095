package io.github.dynamickafka.config.option

/**
 * All options of the source or of the sink.
 *
 * @param all the options in the order of the documentation
 * @param unsupported names that are rejected with a specific reason
 * @param formats the formats whose options are accepted: `<format>.<option>`, also after `key.` and `value.`
 */
private[dynamickafka] final class OptionTable(
    val all: Seq[OptionSpec[_]],
    val unsupported: UnsupportedOptions,
    val formats: Seq[String] = Nil
) {
  val perCluster: Seq[OptionSpec[_]] = all.filter(_.perCluster)

  def find(name: String): Option[OptionSpec[_]] = all.find(_.named(name))

  /** Whether this is an option of the table or of one of its formats. */
  def has(name: String): Boolean = find(name).isDefined || FormatKey.of(name, formats).isDefined
}
