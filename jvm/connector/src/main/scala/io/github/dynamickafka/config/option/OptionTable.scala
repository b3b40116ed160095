package io.github.dynamickafka.config.option

/**
 * All options that there are on one side, the source or the sink.
 *
 * @param all in the order of the documentation
 * @param unsupported names that are refused with a reason
 */
private[dynamickafka] final class OptionTable(
    val all: Seq[OptionSpec[_]],
    val unsupported: UnsupportedOptions
) {
  val perCluster: Seq[OptionSpec[_]] = all.filter(_.perCluster)

  def find(name: String): Option[OptionSpec[_]] = all.find(_.named(name))
}
