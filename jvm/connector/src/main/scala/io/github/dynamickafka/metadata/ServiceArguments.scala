package io.github.dynamickafka.metadata

import java.util.Locale

import io.github.dynamickafka.config.{ServiceOptions, Suggestions}
import io.github.dynamickafka.error.Errors

/**
 * The `metadataService.*` options of a built-in service. Names are matched without regard to case and hyphens; the rest
 * of a name after a known prefix is unchanged.
 *
 * @param known the names of single arguments
 * @param prefixes the prefixes of arguments with user-defined names, including the `.`
 */
private[metadata] final class ServiceArguments(
    options: ServiceOptions,
    known: Seq[String],
    prefixes: Seq[String]
) {
  import ServiceArguments._

  private val (single, byPrefix) = {
    val read = options.arguments.toSeq.sortBy(_._1).map { case (name, value) =>
      val prefix = prefixes.find(p => name.toLowerCase(Locale.ROOT).startsWith(p.toLowerCase(Locale.ROOT)))
      val ours = prefix.map(p => p + name.drop(p.length)).orElse(known.find(k => plain(k) == plain(name)))
      ours.getOrElse(throw Errors.unknownOption(option(name), suggestion(name))) -> value
    }
    read.groupBy(_._1).collectFirst { case (name, Seq(_, _, _*)) =>
      throw Errors.invalidOption(option(name), "...", "it is set twice, in two spellings")
    }
    read.toMap.partition { case (name, _) => known.contains(name) }
  }

  def get(name: String): Option[String] = single.get(name)

  def required(name: String): String =
    get(name).filterNot(_.isBlank).getOrElse(
      throw Errors.missingOption(option(name), s"the metadata service '${options.name}' requires it")
    )

  /** Zero or more. */
  def long(name: String, default: Long): Long = get(name).fold(default) { text =>
    text.trim.toLongOption.filter(_ >= 0).getOrElse(
      throw Errors.invalidOption(option(name), text, "it must be an integer of at least 0")
    )
  }

  /** The arguments with a prefix, without the prefix. */
  def under(prefix: String): Map[String, String] =
    byPrefix.collect { case (name, value) if name.startsWith(prefix) => name.drop(prefix.length) -> value }

  private def suggestion(name: String): Option[String] =
    Suggestions.closest(name, known).map(option)
}

private[metadata] object ServiceArguments {
  def option(name: String): String = s"metadataService.$name"

  private def plain(name: String): String = name.replace("-", "").toLowerCase(Locale.ROOT)
}
