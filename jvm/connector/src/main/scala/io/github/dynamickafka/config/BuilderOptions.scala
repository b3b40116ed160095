package io.github.dynamickafka.config

import java.util.Locale
import java.util.regex.Pattern

import scala.collection.mutable

import io.github.dynamickafka.config.option.{ClusterKeys, OptionName, OptionSpec, OptionTable, Suggestions}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.kafka.{KafkaProperties, Redaction}

/** The options that a builder collects: one value for each, in the order in which they were set. */
private[dynamickafka] final class BuilderOptions(table: OptionTable) {
  import SourceOptionSpecs._

  /** By the name that decides which option it is; then as it was written. */
  private val entries = mutable.LinkedHashMap.empty[String, (String, String)]

  /** @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException if Spark would lose an option */
  def toMap: Map[String, String] = {
    val all = entries.values.toSeq
    all.groupBy { case (name, _) => name.toLowerCase(Locale.ROOT) }.values.filter(_.size > 1).foreach {
      same =>
        val names = same.map(_._1)
        throw Errors.invalidOption(
          names.last,
          Redaction.Redacted,
          s"Spark takes it for '${names.head}', because it knows no upper and lower case in options. Tell clusters " +
            "apart by more than that, or give these settings in the metadata."
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
      throw Errors.invalidOption(StreamIds.name, id, "it is no stream id: it is empty, or holds ';' or ','.")
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
        "flags of a pattern have no place in an option: write them into the expression, as in '(?i)orders'."
      )
    setStreamPattern(regex.pattern)
  }

  /** Sets options in the place of others, as a time in the place of offsets. */
  def replace(others: Seq[OptionSpec[_]], options: Seq[(String, String)]): Unit = {
    others.foreach(other => entries.remove(other.key))
    options.foreach { case (name, value) => set(name, value) }
  }

  def setProperty(key: String, value: String): Unit =
    if (OptionName.Prefixes.exists(OptionName.afterPrefix(key, _).isDefined) || table.find(key).isDefined)
      set(key, value)
    else if (KafkaProperties.isPlausible(key)) set(OptionName.Kafka + key, value)
    else throw Errors.unknownOption(key, Suggestions.forOption(key, table))

  def setClusterProperty(clusterId: String, key: String, value: String): Unit = {
    if (!ClusterKeys.isClusterId(clusterId))
      throw Errors.invalidOption(
        s"${OptionName.Cluster}$clusterId.$key",
        Redaction.Redacted,
        s"'$clusterId' is no cluster id: those have 1 to 128 letters, digits, '.', '_' and '-'."
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
        s"'${other.name}' is set as well, and only one of the two can be."
      )

  private def keyOf(name: String): String = table.find(name).map(_.key).getOrElse {
    OptionName.Prefixes
      .find(OptionName.afterPrefix(name, _).isDefined)
      .map(prefix => OptionName.normalize(prefix) + OptionName.afterPrefix(name, prefix).getOrElse(""))
      .getOrElse(name)
  }
}
