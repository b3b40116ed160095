package io.github.dynamickafka.config.option

/**
 * All options of the source or of the sink.
 *
 * @param all the options in the order of the documentation
 * @param unsupported names that are rejected with a specific reason
 */
private[dynamickafka] final class OptionTable(
    val all: Seq[OptionSpec[_]],
    val unsupported: UnsupportedOptions
) {
  val perCluster: Seq[OptionSpec[_]] = all.filter(_.perCluster)

  def find(name: String): Option[OptionSpec[_]] = all.find(_.named(name))
}
