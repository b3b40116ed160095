package io.github.dynamickafka.config

import io.github.dynamickafka.option.{OptionSpecs, OptionType, RawOptions}

/** The options that say which streams a query reads, and the metadata service that describes them. */
private[config] trait SubscriptionSpecs extends OptionSpecs {
  import OptionType._

  val MetadataService = optional("metadataService", text, "required")(
    "One of the [metadata services](#arguments-of-the-metadata-service), or a class that implements `KafkaMetadataService`."
  )

  val StreamIds = optional("streamIds", names, "required, or `streamPattern`")("The streams to read.")

  val StreamPattern = optional(
    "streamPattern",
    regex,
    "required, or `streamIds`",
    requires = raw =>
      Option.when(raw.isSet(StreamIds))(
        s"'${StreamIds.name}' is also set, but only one of the two options is allowed."
      )
  )(
    "Reads every stream whose whole id matches. Streams enter and leave as their ids match."
  )

  private[config] def service(raw: RawOptions): ServiceOptions = ServiceOptions(
    raw.require(
      MetadataService,
      s"set it to the metadata service that describes the streams: ${MetadataServiceSpecs.names("'")} or the name of a class."
    ),
    raw.service
  )

  private[config] def subscription(raw: RawOptions): Subscription =
    raw.find(StreamPattern).map(p => Subscription.Pattern(p.regex)).getOrElse(Subscription.Ids(raw.require(
      StreamIds,
      s"set it to the ids of the streams to read, or set '${StreamPattern.name}' to a pattern of the ids."
    )))
}

/**
 * The metadata service.
 *
 * @param name `file`, `http`, ..., or a class name
 * @param arguments the `metadataService.*` options without that prefix, keys as the user wrote them
 */
private[dynamickafka] final case class ServiceOptions(name: String, arguments: Map[String, String]) {
  override def toString: String = s"ServiceOptions($name)"
}

private[dynamickafka] sealed trait Subscription extends Product with Serializable {
  def includes(stream: String): Boolean

  /** The text for users, in progress, UI and logs. */
  def text: String

  /** What stands for the name of a query that has none. */
  def name: String
}
private[dynamickafka] object Subscription {

  /** How many streams a name has. */
  private val Named = 3

  final case class Ids(ids: Seq[String]) extends Subscription {
    override def includes(stream: String): Boolean = ids.contains(stream)
    override def text: String = s"streams: ${ids.mkString(", ")}"
    override def name: String =
      (ids.take(Named) ++ Some(ids.size - Named).filter(_ > 0).map(n => s"$n others")).mkString("+")
  }

  /** Streams whose whole id matches. */
  final case class Pattern(regex: String) extends Subscription {
    private val compiled = regex.r
    override def includes(stream: String): Boolean = compiled.matches(stream)
    override def text: String = s"pattern: $regex"
    override def name: String = regex
  }
}
