package io.github.dynamickafka.config.replacement

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.option.{OptionSpec, RawOptions}
import io.github.dynamickafka.topology.ReplacedClusterPolicy

/**
 * Parses `replacedClusterPolicy` with the options that only some of its values use. Pure.
 *
 * @param group the option with the consumer group of the query
 * @param commits the option by which the query commits to it
 */
private[config] final class ReplacedClusterOptions(
    raw: RawOptions,
    group: OptionSpec[String],
    commits: OptionSpec[Boolean]
) {
  import PolicyNames._
  import ReplacedClusterOptionSpecs._

  def parse(): ReplacedClusterPolicy = {
    val name = raw.get(ReplacedPolicy)
    if (name != MirrorMaker) {
      refuse(MirrorMakerSourceAlias)
      refuse(MirrorMakerReplicationPolicy)
      raw.under(ReplicationPolicyProperty).headOption.foreach { case (property, value) =>
        throw noEffect(ReplicationPolicyProperty + property, value)
      }
    }
    name match {
      case Earliest => ReplacedClusterPolicy.Earliest
      case Latest => ReplacedClusterPolicy.Latest
      case SameOffsets => ReplacedClusterPolicy.SameOffsets
      case MirrorMaker => mirrorMaker()
      case _ => ReplacedClusterPolicy.Fail
    }
  }

  private def mirrorMaker(): ReplacedClusterPolicy = {
    val policy = ReplacedClusterPolicy.MirrorMaker(
      raw.find(group).getOrElse(throw Errors.missingOption(
        group.name,
        s"'${ReplacedPolicy.name}=$MirrorMaker' requires it: set it to the consumer group of the query."
      )),
      raw.find(MirrorMakerSourceAlias),
      ReplicationPolicies.topics(raw.get(MirrorMakerReplicationPolicy), raw.under(ReplicationPolicyProperty))
    )
    if (!raw.get(commits))
      throw Errors.missingOption(
        commits.name,
        s"'${ReplacedPolicy.name}=$MirrorMaker' requires it to be 'true': MirrorMaker writes checkpoints of committed offsets."
      )
    policy
  }

  private def refuse(option: OptionSpec[_]): Unit =
    if (raw.isSet(option))
      throw noEffect(option.name, raw.written(option).fold("")(_.value))

  private def noEffect(option: String, value: String) =
    Errors.invalidOption(
      option,
      value,
      s"it has no effect unless '${ReplacedPolicy.name}' is '$MirrorMaker'."
    )
}
