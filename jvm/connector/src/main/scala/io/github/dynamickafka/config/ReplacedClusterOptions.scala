package io.github.dynamickafka.config

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.option.{OptionSpec, RawOptions}
import io.github.dynamickafka.topology.{MirroredTopics, ReplacedClusterPolicy}

/** Parses `replacedClusterPolicy` with the options that only some of its values use. Pure. */
private[config] object ReplacedClusterOptions {
  import ReplacedClusterOptionSpecs._
  import SourceOptionSpecs.{
    CommitGroupId,
    CommitOffsets,
    MirrorMakerReplicationPolicy,
    MirrorMakerSourceAlias,
    ReplacedOverlap,
    ReplacedPolicy,
    ReplicationPolicyProperty
  }

  /** Whether the policy is about the consumer group of the query. */
  def usesGroup(raw: RawOptions): Boolean = Set(GroupOffsets, MirrorMaker)(raw.get(ReplacedPolicy))

  def parse(raw: RawOptions): ReplacedClusterPolicy = {
    val name = raw.get(ReplacedPolicy)
    if (!Set(Timestamp, GroupOffsets)(name)) refuse(raw, ReplacedOverlap, s"$Timestamp' or '$GroupOffsets")
    if (name != MirrorMaker) {
      refuse(raw, MirrorMakerSourceAlias, MirrorMaker)
      refuse(raw, MirrorMakerReplicationPolicy, MirrorMaker)
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
      case GroupOffsets => ReplacedClusterPolicy.GroupOffsets(group(raw, name), overlap)
      case MirrorMaker =>
        val _ = mirrorMaker(raw)
        throw Errors.invalidOption(ReplacedPolicy.name, MirrorMaker, "it is not available yet.")
      case _ => ReplacedClusterPolicy.Fail
    }
  }

  private def mirrorMaker(raw: RawOptions): ReplacedClusterPolicy = {
    val policy = ReplacedClusterPolicy.MirrorMaker(
      group(raw, MirrorMaker),
      raw.find(MirrorMakerSourceAlias),
      MirroredTopics(raw.get(MirrorMakerReplicationPolicy), raw.under(ReplicationPolicyProperty))
    )
    if (!raw.get(CommitOffsets))
      throw Errors.missingOption(
        CommitOffsets.name,
        s"'${ReplacedPolicy.name}=$MirrorMaker' requires it to be 'true': MirrorMaker writes checkpoints of committed offsets."
      )
    policy
  }

  private def group(raw: RawOptions, policy: String): String =
    raw.find(CommitGroupId).getOrElse(throw Errors.missingOption(
      CommitGroupId.name,
      s"'${ReplacedPolicy.name}=$policy' requires it: set it to the consumer group of the query."
    ))

  private def refuse(raw: RawOptions, option: OptionSpec[_], policy: String): Unit =
    if (raw.isSet(option))
      throw noEffect(option.name, raw.written(option).fold("")(_.value), policy)

  private def noEffect(option: String, value: String, policy: String) =
    Errors.invalidOption(option, value, s"it has no effect unless '${ReplacedPolicy.name}' is '$policy'.")
}
