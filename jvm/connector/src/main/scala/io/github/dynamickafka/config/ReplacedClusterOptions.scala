package io.github.dynamickafka.config

import java.lang.reflect.InvocationTargetException

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.kafka.common.Configurable

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.{MirroredTopics, ReplacedClusterPolicy}
import io.github.dynamickafka.option.{OptionSpecs, OptionType, RawOptions}

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
        "with 'timestamp:<ms>' or 'group:<id>' when the metadata has the address of the new cluster."
    else ""

  val ReplacedPolicy = option(
    "replacedClusterPolicy",
    OptionType(policies.label, name => policies.parse(name).left.map(_ + removed(name))),
    "fail"
  )(
    "What happens when a cluster id leads to another Kafka cluster, or a cluster enters with `replaces`: `fail` fails the " +
      "query, the others say [where it continues](semantics.md#a-cluster-is-replaced)."
  )

  private def onlyMirrorMaker(raw: RawOptions) =
    raw.get(ReplacedPolicy).map(_ => s"it has no effect unless '${ReplacedPolicy.name}' is '$MirrorMaker'.")

  val MirrorMakerSourceAlias = optional(
    "mirrorMakerSourceAlias",
    text,
    "the cluster id",
    requires = onlyMirrorMaker
  )(
    "MirrorMaker's alias of the former cluster."
  )

  val MirrorMakerReplicationPolicy = option(
    ReplicationPolicies.OptionName,
    OptionType("`default`, `identity`, `class:<name>`", ReplicationPolicies.parse),
    "default",
    requires = onlyMirrorMaker
  )(
    "How MirrorMaker names topics: `<alias>.<topic>`, or with `identity` the same; or a class that implements " +
      "`ReplicationPolicy`. `mirrorMakerReplicationPolicy.<property>` sets its properties, such as " +
      "`replication.policy.separator`."
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
        raw.get(MirrorMakerReplicationPolicy)(properties)
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

/** The values of `mirrorMakerReplicationPolicy`, and `mirrorMakerReplicationPolicy.<property>`. */
private[dynamickafka] object ReplicationPolicies {
  val OptionName = "mirrorMakerReplicationPolicy"
  val PropertyPrefix: String = s"$OptionName."

  /** Given properties of MirrorMaker, without the prefix of the option. */
  type Policy = Map[String, String] => MirroredTopics

  private val OfClassForm = "class:(.+)".r
  private val Separator = "replication.policy.separator"
  private val InternalSeparator = "replication.policy.internal.topic.separator.enabled"

  def parse(text: String): Either[String, Policy] = text.trim match {
    case "default" => Right(standard(identity = false, _))
    case "identity" => Right(standard(identity = true, _))
    case OfClassForm(name) => Right(ReplicationPolicyClass(name.trim, _).checked)
    case _ => Left("it is not one of 'default', 'identity', 'class:<name>'.")
  }

  private def standard(identity: Boolean, properties: Map[String, String]): MirroredTopics = {
    val known = Set(Separator, InternalSeparator)
    properties.find { case (name, _) => !known(name) }.foreach { case (name, value) =>
      throw Errors.invalidOption(
        PropertyPrefix + name,
        value,
        s"MirrorMaker's own policies have the properties '$Separator' and '$InternalSeparator'."
      )
    }
    MirroredTopics.Standard(
      identity,
      properties.getOrElse(Separator, "."),
      // As in MirrorMaker, only together with a separator.
      !properties.contains(
        Separator
      ) || properties.get(InternalSeparator).forall(java.lang.Boolean.parseBoolean)
    )
  }
}

/**
 * A `ReplicationPolicy` of the user. MirrorMaker's classes are not on the class path of the connector, so its methods are found by their
 * names.
 */
private[config] final case class ReplicationPolicyClass(name: String, properties: Map[String, String])
    extends MirroredTopics {
  @transient private lazy val policy: AnyRef = {
    val loader = Option(Thread.currentThread.getContextClassLoader).getOrElse(getClass.getClassLoader)
    val made = Class.forName(name, true, loader).getDeclaredConstructor().newInstance().asInstanceOf[AnyRef]
    made match {
      case configurable: Configurable => configurable.configure(properties.asJava)
      case _ => ()
    }
    made
  }

  override def mirrored(alias: String, topic: String): String = call("formatRemoteTopic", alias, topic)

  override def upstream(topic: String): Option[String] = Option(call("upstreamTopic", topic))

  override def checkpoints(alias: String): String = call("checkpointsTopic", alias)

  /** @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION if it is no such class */
  def checked: MirroredTopics =
    try {
      val _ = (mirrored("alias", "topic"), upstream("topic"), checkpoints("alias"))
      this
    } catch {
      case e @ (NonFatal(_) | _: LinkageError) =>
        val cause = e match {
          case wrapped: InvocationTargetException if wrapped.getCause != null => wrapped.getCause
          case other => other
        }
        throw Errors.invalidOption(
          ReplicationPolicies.OptionName,
          s"class:$name",
          s"it is not a class that implements MirrorMaker's 'ReplicationPolicy': $cause",
          cause
        )
    }

  private def call(method: String, arguments: String*): String = {
    val found = policy.getClass.getMethod(method, arguments.map(_ => classOf[String]): _*)
    found.setAccessible(true)
    found.invoke(policy, arguments: _*).asInstanceOf[String]
  }
}
