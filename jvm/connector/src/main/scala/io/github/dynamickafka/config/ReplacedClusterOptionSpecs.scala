package io.github.dynamickafka.config

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.option.{OptionSpec, OptionType, RawOptions}
import io.github.dynamickafka.topology.ReplacedClusterPolicy

/** The options of the source about Kafka clusters that are replaced. */
private[dynamickafka] trait ReplacedClusterOptionSpecs {
  import OptionType._

  private val policies = oneOf(PolicyNames.All.map(name => name -> name): _*)

  private def removed(policy: String): String =
    if (Set("timestamp", "group-offsets")(policy.toLowerCase))
      " To continue at a time or at the committed offsets of a group, keep 'fail', stop the query, and call the procedure 'reset' " +
        "with 'timestamp:<ms>' or 'group:<id>' when the metadata have the address of the new cluster."
    else ""

  val ReplacedPolicy: OptionSpec[String] = OptionSpec(
    "replacedClusterPolicy",
    OptionType(policies.label, name => policies.parse(name).left.map(_ + removed(name))),
    Some(PolicyNames.Fail),
    "`fail`",
    "What happens when a cluster id leads to another Kafka cluster than before, which is recognized by Kafka's " +
      "`cluster.id`, or when a cluster enters whose metadata have `replaces`: `fail` fails the query; the others continue " +
      "with the new cluster, and drop the offsets of the former one. `earliest` and `latest` continue at its earliest or " +
      "latest offsets; `same-offsets` at the same offsets, if the new cluster has the same records there; `mirror-maker` " +
      "where the checkpoints of MirrorMaker 2 say. See [semantics](semantics.md#a-cluster-is-replaced)."
  )

  val MirrorMakerSourceAlias: OptionSpec[String] = OptionSpec(
    "mirrorMakerSourceAlias",
    text,
    None,
    "the cluster id",
    "With `replacedClusterPolicy=mirror-maker`: the alias of the former cluster in the configuration of MirrorMaker."
  )

  val MirrorMakerReplicationPolicy: OptionSpec[ReplicationPolicies.Chosen] = OptionSpec(
    ReplicationPolicies.OptionName,
    OptionType[ReplicationPolicies.Chosen](
      "`default`, `identity`, `class:<name>`",
      ReplicationPolicies.parse(_)
    ),
    Some(ReplicationPolicies.Default),
    "`default`",
    "With `replacedClusterPolicy=mirror-maker`: how MirrorMaker names topics. `default`: `<alias>.<topic>`; `identity`: the " +
      "same names; `class:<name>`: a class that implements `ReplicationPolicy`. `mirrorMakerReplicationPolicy.<property>` " +
      "sets a property of the policy, such as `replication.policy.separator`."
  )

  val ReplicationPolicyProperty: String = ReplicationPolicies.PropertyPrefix
}

private[config] object ReplacedClusterOptionSpecs extends ReplacedClusterOptionSpecs

/** The values of `replacedClusterPolicy`. */
private[config] object PolicyNames {
  val Fail = "fail"
  val Earliest = "earliest"
  val Latest = "latest"
  val SameOffsets = "same-offsets"
  val MirrorMaker = "mirror-maker"
  val All: Seq[String] = Seq(Fail, Earliest, Latest, SameOffsets, MirrorMaker)
}

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
