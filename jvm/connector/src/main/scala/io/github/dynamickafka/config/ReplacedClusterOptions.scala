package io.github.dynamickafka.config

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.option.{OptionSpecs, OptionType, RawOptions}
import io.github.dynamickafka.topology.ReplacedClusterPolicy

/** Kafka clusters that are replaced. */
private[config] trait ReplacedClusterSpecs extends OptionSpecs {
  import OptionType._

  private val MirrorMaker = "mirror-maker"

  /** None: the policy that has options of its own. */
  private val policies = oneOf[Option[ReplacedClusterPolicy]](
    "fail" -> Some(ReplacedClusterPolicy.Fail),
    "earliest" -> Some(ReplacedClusterPolicy.Earliest),
    "latest" -> Some(ReplacedClusterPolicy.Latest),
    "same-offsets" -> Some(ReplacedClusterPolicy.SameOffsets),
    MirrorMaker -> None
  )

  private def removed(policy: String): String =
    if (Set("timestamp", "group-offsets")(policy.toLowerCase))
      " To continue at a time or at the committed offsets of a group, keep 'fail', stop the query, and call the procedure 'reset' " +
        "with 'timestamp:<ms>' or 'group:<id>' when the metadata have the address of the new cluster."
    else ""

  val ReplacedPolicy = option(
    "replacedClusterPolicy",
    OptionType(policies.label, name => policies.parse(name).left.map(_ + removed(name))),
    "fail"
  )(
    "What happens when a cluster id leads to another Kafka cluster than before, which is recognized by Kafka's " +
      "`cluster.id`, or when a cluster enters whose metadata have `replaces`: `fail` fails the query; the others continue " +
      "with the new cluster, and drop the offsets of the former one. `earliest` and `latest` continue at its earliest or " +
      "latest offsets; `same-offsets` at the same offsets, if the new cluster has the same records there; `mirror-maker` " +
      "where the checkpoints of MirrorMaker 2 say. See [semantics](semantics.md#a-cluster-is-replaced)."
  )

  private def noEffect: String = s"it has no effect unless '${ReplacedPolicy.name}' is '$MirrorMaker'."

  private def onlyMirrorMaker(raw: RawOptions) = raw.get(ReplacedPolicy).map(_ => noEffect)

  val MirrorMakerSourceAlias = optional(
    "mirrorMakerSourceAlias",
    text,
    "the cluster id",
    requires = onlyMirrorMaker
  )(
    "With `replacedClusterPolicy=mirror-maker`: the alias of the former cluster in the configuration of MirrorMaker."
  )

  val MirrorMakerReplicationPolicy = option(
    ReplicationPolicies.OptionName,
    OptionType("`default`, `identity`, `class:<name>`", ReplicationPolicies.parse),
    "default",
    requires = onlyMirrorMaker
  )(
    "With `replacedClusterPolicy=mirror-maker`: how MirrorMaker names topics. `default`: `<alias>.<topic>`; `identity`: the " +
      "same names; `class:<name>`: a class that implements `ReplicationPolicy`. `mirrorMakerReplicationPolicy.<property>` " +
      "sets a property of the policy, such as `replication.policy.separator`."
  )

  val ReplicationPolicyProperty: String = ReplicationPolicies.PropertyPrefix

  private[config] def replacedClusters(raw: RawOptions): ReplacedClusterPolicy = {
    val properties = raw.under(ReplicationPolicyProperty)
    for (why <- onlyMirrorMaker(raw); (property, value) <- properties.headOption)
      throw Errors.invalidOption(ReplicationPolicyProperty + property, value, why)
    raw.get(ReplacedPolicy).getOrElse {
      val (group, commits) = (SourceOptionSpecs.CommitGroupId, SourceOptionSpecs.CommitOffsets)
      val policy = ReplacedClusterPolicy.MirrorMaker(
        raw.require(
          group,
          s"'${ReplacedPolicy.name}=$MirrorMaker' requires it: set it to the consumer group of the query."
        ),
        raw.find(MirrorMakerSourceAlias),
        ReplicationPolicies.topics(raw.get(MirrorMakerReplicationPolicy), properties)
      )
      if (!raw.get(commits))
        throw Errors.missingOption(
          commits.name,
          s"'${ReplacedPolicy.name}=$MirrorMaker' requires it to be 'true': MirrorMaker writes checkpoints of committed offsets."
        )
      policy
    }
  }
}
