package io.github.dynamickafka.config

import java.util.Locale
import java.util.regex.Pattern

import scala.collection.mutable

import io.github.dynamickafka.base.Redaction
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.kafka.KafkaProperties
import io.github.dynamickafka.option.{ClusterKeys, OptionName, OptionSpec, OptionTable, Suggestions}

/** The options that a builder collects: one value per option, in the order in which they were set. */
private[dynamickafka] final class BuilderOptions(table: OptionTable) {
  import SourceOptionSpecs._

  /** By normalized name: the name and the value as the user wrote them. */
  private val entries = mutable.LinkedHashMap.empty[String, (String, String)]

  /**
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException
   *         if two names differ only in case, which Spark treats as one option
   */
  def toMap: Map[String, String] = {
    val all = entries.values.toSeq
    all.groupBy { case (name, _) => name.toLowerCase(Locale.ROOT) }.values.filter(_.size > 1).foreach {
      same =>
        val names = same.map(_._1)
        throw Errors.invalidOption(
          names.last,
          Redaction.Redacted,
          s"Spark treats option names as case-insensitive and would not distinguish it from '${names.head}'. Use cluster " +
            "ids that differ in more than case, or set these properties in the metadata."
        )
    }
    all.toMap
  }

  def set(name: String, value: String): Unit = {
    val key = keyOf(name)
    entries.remove(key)
    entries.update(key, name -> value)
  }

  def setService(name: String, arguments: Map[String, String]): Unit = {
    entries.filterInPlace((_, option) =>
      OptionName.afterPrefix(option._1, OptionName.MetadataService).isEmpty
    )
    set(MetadataService.name, name)
    arguments.toSeq.sorted.foreach { case (argument, value) =>
      set(OptionName.MetadataService + argument, value)
    }
  }

  def setStreamIds(ids: Seq[String]): Unit = {
    refuseBoth(StreamIds, ids.mkString(", "), StreamPattern)
    ids.find(id => id.trim.isEmpty || id.exists(";,".contains(_))).foreach { id =>
      throw Errors.invalidOption(
        StreamIds.name,
        id,
        "it is not a valid stream id: it is empty, or contains ';' or ','."
      )
    }
    set(StreamIds.name, ids.mkString(";"))
  }

  def setStreamPattern(regex: String): Unit = {
    refuseBoth(StreamPattern, regex, StreamIds)
    set(StreamPattern.name, regex)
  }

  def setStreamPattern(regex: Pattern): Unit = {
    if (regex.flags != 0)
      throw Errors.invalidOption(
        StreamPattern.name,
        regex.pattern,
        "an option cannot contain the flags of a pattern: embed them in the expression, as in '(?i)orders'."
      )
    setStreamPattern(regex.pattern)
  }

  /** Sets options and removes the ones that they replace, for example offsets by a timestamp. */
  def replace(others: Seq[OptionSpec[_]], options: Seq[(String, String)]): Unit = {
    others.foreach(other => entries.remove(other.key))
    options.foreach { case (name, value) => set(name, value) }
  }

  def setProperty(key: String, value: String): Unit =
    if (OptionName.Prefixes.exists(OptionName.afterPrefix(key, _).isDefined) || table.has(key))
      set(key, value)
    else if (KafkaProperties.isPlausible(key)) set(OptionName.Kafka + key, value)
    else throw Errors.unknownOption(key, Suggestions.forOption(key, table))

  def setClusterProperty(clusterId: String, key: String, value: String): Unit = {
    if (!ClusterKeys.isClusterId(clusterId))
      throw Errors.invalidOption(
        s"${OptionName.Cluster}$clusterId.$key",
        Redaction.Redacted,
        s"'$clusterId' is not a valid cluster id: a cluster id has 1 to 128 letters, digits, '.', '_' and '-'."
      )
    val isOurs = OptionName.afterPrefix(key, OptionName.Kafka).isDefined || table.find(key).isDefined
    val name = ClusterScope.checked(clusterId, key, table)
    set(s"${OptionName.Cluster}$clusterId.${if (isOurs) name else OptionName.Kafka + name}", value)
  }

  private def refuseBoth(spec: OptionSpec[_], value: String, other: OptionSpec[_]): Unit =
    if (entries.contains(other.key))
      throw Errors.invalidOption(
        spec.name,
        value,
        s"'${other.name}' is also set, but only one of the two options is allowed."
      )

  private def keyOf(name: String): String = table.find(name).map(_.key).getOrElse {
    OptionName.Prefixes
      .find(OptionName.afterPrefix(name, _).isDefined)
      .map(prefix => OptionName.normalize(prefix) + OptionName.afterPrefix(name, prefix).getOrElse(""))
      .getOrElse(name)
  }
}
