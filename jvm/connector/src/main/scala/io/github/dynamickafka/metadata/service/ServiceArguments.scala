package io.github.dynamickafka.metadata.service

import io.github.dynamickafka.config.{MetadataServiceSpec, ServiceOptions}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.option.{OptionName, OptionSpec, Suggestions}

/**
 * The `metadataService.*` options of a service that comes with the connector. Names are compared without regard to
 * case and hyphens; what follows a prefix is kept unchanged.
 */
private[dynamickafka] final class ServiceArguments(options: ServiceOptions, spec: MetadataServiceSpec) {
  import ServiceArguments._

  private val (declared, prefixed) = {
    val read = options.arguments.toSeq.sortBy(_._1).map { case (name, value) =>
      canonical(name).getOrElse(throw Errors.unknownOption(option(name), suggestion(name))) -> value
    }
    read.groupBy(_._1).collectFirst { case (name, Seq(_, _, _*)) =>
      throw Errors.invalidOption(option(name), "...", "it is given twice, in two spellings")
    }
    read.toMap.partition { case (name, _) => spec.arguments.exists(_.name == name) }
  }

  /** The argument, or its default. */
  def apply[A](argument: OptionSpec[A]): A =
    declared.get(argument.name).filterNot(_.isBlank).map(argument.parse(_, option(argument.name)))
      .orElse(argument.default)
      .getOrElse(
        throw Errors.missingOption(
          option(argument.name),
          s"the metadata service '${options.name}' needs it"
        )
      )

  /** The arguments that the user named, without the prefix. */
  def underPrefix: Map[String, String] =
    spec.prefix.fold(Map.empty[String, String]) { prefix =>
      prefixed.map { case (name, value) => name.drop(prefix.name.length) -> value }
    }

  private def canonical(name: String): Option[String] =
    spec.prefix
      .flatMap(prefix => OptionName.afterPrefix(name, prefix.name).map(prefix.name + _))
      .orElse(spec.arguments.find(_.named(name)).map(_.name))

  private def suggestion(name: String): Option[String] =
    Suggestions.closest(name, spec.arguments.map(_.name)).map(option)
}

private[dynamickafka] object ServiceArguments {
  def apply(spec: MetadataServiceSpec, arguments: (String, String)*): ServiceArguments =
    new ServiceArguments(ServiceOptions(spec.name, arguments.toMap), spec)

  def option(name: String): String = OptionName.MetadataService + name
}
