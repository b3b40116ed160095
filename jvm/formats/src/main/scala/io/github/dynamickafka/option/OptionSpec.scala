package io.github.dynamickafka.option

import java.util.Locale

import scala.collection.mutable

import io.github.dynamickafka.base.Redaction
import io.github.dynamickafka.error.Errors

/**
 * The declaration of one option of the data source, for parsing, suggestions and documentation.
 *
 * @param name the documented name, in camelCase; users may write it in any case and with hyphens
 * @param doc the description for users, in Markdown
 * @param perCluster whether `cluster.<id>.<name>` sets the option for one cluster
 * @param aliases other names, which may contain dots
 * @param requires why the option, if it is set, is refused beside the others; a switch that is off requires nothing
 */
private[dynamickafka] final case class OptionSpec[T](
    name: String,
    valueType: OptionType[T],
    default: Default[T],
    doc: String,
    perCluster: Boolean = false,
    aliases: Seq[String] = Nil,
    requires: RawOptions => Option[String] = _ => None
) {
  val key: String = OptionName.normalize(name)
  private val keys: Set[String] = aliases.map(OptionName.normalize).toSet + key

  /** @param writtenAs the name of the option as the user wrote it, for the error message */
  def parse(value: String, writtenAs: String = name): T =
    valueType.parse(value.trim).fold(
      reason => throw Errors.invalidOption(writtenAs, shown(value), reason),
      identity
    )

  /** The value in error messages. */
  def shown(value: String): String = if (valueType.isSecret && value.nonEmpty) Redaction.Redacted else value

  def named(other: String): Boolean = keys.contains(OptionName.normalize(other))
}

/**
 * What applies if an option is not set.
 *
 * @param value None if the absence of the option has its own meaning
 * @param text the default in the documentation
 */
private[dynamickafka] final case class Default[+T](value: Option[T], text: String)

private[dynamickafka] object Default {
  val Required: Default[Nothing] = Default(None, "required")

  /** @param written as a user writes it */
  def of[T](value: T, written: String): Default[T] = Default(Some(value), s"`$written`")
}

/** Declares the options of one subject. Each declaration becomes an entry of [[all]]. */
private[dynamickafka] trait OptionSpecs {
  private val declared = mutable.ArrayBuffer.empty[OptionSpec[_]]

  /** All options in the order of the documentation, which is that of the declarations. */
  final def all: Seq[OptionSpec[_]] = declared.toSeq

  /** @param default as a user writes it */
  protected final def option[T](
      name: String,
      valueType: OptionType[T],
      default: String,
      perCluster: Boolean = false,
      aliases: Seq[String] = Nil,
      requires: RawOptions => Option[String] = _ => None
  )(doc: String): OptionSpec[T] = {
    val spec = OptionSpec(name, valueType, Default.Required, doc, perCluster, aliases, requires)
    declare(spec.copy(default = Default.of(spec.parse(default), default)))
  }

  /** @param unset what applies if the option is not set, in the documentation */
  protected final def optional[T](
      name: String,
      valueType: OptionType[T],
      unset: String = "-",
      perCluster: Boolean = false,
      aliases: Seq[String] = Nil,
      requires: RawOptions => Option[String] = _ => None
  )(doc: String): OptionSpec[T] =
    declare(OptionSpec(name, valueType, Default(None, unset), doc, perCluster, aliases, requires))

  protected final def declare[T](spec: OptionSpec[T]): OptionSpec[T] = {
    include(Seq(spec))
    spec
  }

  /** Adds options that are declared elsewhere. */
  protected final def include(specs: Seq[OptionSpec[_]]): Unit = declared ++= specs

  /** For `requires`: the option has no effect unless another one has this value. */
  protected final def without[T](other: OptionSpec[T], value: String): RawOptions => Option[String] =
    raw =>
      Option.unless(raw.get(other) == other.parse(value))(
        s"it has no effect without '${other.name}=$value'."
      )
}

/** Compares option names without regard to case and hyphens, so that the spellings of Flink are valid. */
private[dynamickafka] object OptionName {
  val Kafka = "kafka."
  val Cluster = "cluster."
  val MetadataService = "metadataService."
  val Prefixes: Seq[String] = Seq(Kafka, Cluster, MetadataService)

  def normalize(name: String): String = name.replace("-", "").toLowerCase(Locale.ROOT)

  /** The rest of `name` after the prefix, unchanged, if `name` starts with the prefix in any spelling. */
  def afterPrefix(name: String, prefix: String): Option[String] = {
    val dot = name.indexOf('.')
    if (dot >= 0 && normalize(name.take(dot + 1)) == normalize(prefix)) Some(name.drop(dot + 1)) else None
  }
}
