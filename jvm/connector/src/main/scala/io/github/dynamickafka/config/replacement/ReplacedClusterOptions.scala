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

  /** Whether the policy is about the consumer group of the query. */
  def usesGroup: Boolean = Set(GroupOffsets, MirrorMaker)(raw.get(ReplacedPolicy))

  def parse(): ReplacedClusterPolicy = {
    val name = raw.get(ReplacedPolicy)
    if (!Set(Timestamp, GroupOffsets)(name)) refuse(ReplacedOverlap, s"$Timestamp' or '$GroupOffsets")
    if (name != MirrorMaker) {
      refuse(MirrorMakerSourceAlias, MirrorMaker)
      refuse(MirrorMakerReplicationPolicy, MirrorMaker)
      raw.under(ReplicationPolicyProperty).headOption.foreach { case (property, value) =>
        throw noEffect(ReplicationPolicyProperty + property, value, MirrorMaker)
      }
    }
    def overlap = raw.get(ReplacedOverlap)
    name match {
      case Earliest => ReplacedClusterPolicy.Earliest
      case Latest => ReplacedClusterPolicy.Latest
      case SameOffsets => ReplacedClusterPolicy.SameOffsets
      case Timestamp => ReplacedClusterPolicy.Timestamp(overlap)
      case GroupOffsets => ReplacedClusterPolicy.GroupOffsets(groupOf(name), overlap)
      case MirrorMaker => mirrorMaker()
      case _ => ReplacedClusterPolicy.Fail
    }
  }

  private def mirrorMaker(): ReplacedClusterPolicy = {
    val policy = ReplacedClusterPolicy.MirrorMaker(
      groupOf(MirrorMaker),
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

  private def groupOf(policy: String): String =
    raw.find(group).getOrElse(throw Errors.missingOption(
      group.name,
      s"'${ReplacedPolicy.name}=$policy' requires it: set it to the consumer group of the query."
    ))

  private def refuse(option: OptionSpec[_], policy: String): Unit =
    if (raw.isSet(option))
      throw noEffect(option.name, raw.written(option).fold("")(_.value), policy)

  private def noEffect(option: String, value: String, policy: String) =
    Errors.invalidOption(option, value, s"it has no effect unless '${ReplacedPolicy.name}' is '$policy'.")
}
