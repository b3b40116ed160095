package io.github.dynamickafka

import java.util.Locale
import java.{time => jt, util => ju}

import scala.collection.mutable
import scala.concurrent.duration.{Duration, FiniteDuration}
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.types.StructType

import io.github.dynamickafka.base.Redaction
import io.github.dynamickafka.config.{ClusterScope, OptionCheck, SourceOptionSpecs}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.table.FormatOptionSpecs
import io.github.dynamickafka.metadata.KafkaMetadataService
import io.github.dynamickafka.metadata.service.ServiceRegistry
import io.github.dynamickafka.option.{OptionName, OptionSpec, OptionTable}

/**
 * The common part of the builders for reading and writing. Every method sets options of the data source, which
 * `options()` returns. A later value replaces an earlier one. A wrong name or value is refused in the call that sets it, with
 * UNKNOWN_OPTION or INVALID_OPTION. Not thread-safe.
 *
 * @tparam B the builder itself, which every setter returns
 */
abstract class DynamicKafkaBuilder[B <: DynamicKafkaBuilder[B]] private[dynamickafka] (table: OptionTable) {
  self: B =>
  import FormatOptionSpecs.{ChangeData, KeyFields, KeyFormat, Schema, ValueFormat}

  /** The options by normalized name: the name and the value as the user wrote them, in the order in which they were set. */
  private val entries = mutable.LinkedHashMap.empty[String, (String, String)]

  /**
   * Sets a metadata service object of this JVM. Several queries may use the object, and it is not closed when they end.
   * An application must set it again after a restart, because the checkpoint does not contain it.
   */
  def setKafkaMetadataService(service: KafkaMetadataService): B =
    setKafkaMetadataService(
      ServiceRegistry.Spec.name,
      Map(ServiceRegistry.Handle.name -> ServiceRegistry.register(service))
    )

  /** Sets a metadata service of the connector, such as `FileMetadataService("streams.yaml")`. */
  def setKafkaMetadataService(service: BuiltInMetadataService): B =
    setKafkaMetadataService(service.spec.name, service.arguments)

  /**
   * Sets the metadata service by name. The options are checked by `load()`, `start()` or `save()`.
   *
   * @param name `file`, `http`, `configmap`, `strimzi`, `jdbc`, `kafka-topic`, `static`, `single-cluster`, or the name of a class that
   *             implements `KafkaMetadataService`
   * @param arguments the options `metadataService.*` without that prefix
   */
  def setKafkaMetadataService(name: String, arguments: Map[String, String]): B = {
    entries.filterInPlace((_, option) =>
      OptionName.afterPrefix(option._1, OptionName.MetadataService).isEmpty
    )
    arguments.toSeq.sorted.foldLeft(setOption(SourceOptionSpecs.MetadataService.name, name)) {
      case (builder, (argument, value)) => builder.setOption(OptionName.MetadataService + argument, value)
    }
  }

  def setKafkaMetadataService(name: String, arguments: ju.Map[String, String]): B =
    setKafkaMetadataService(name, arguments.asScala.toMap)

  /** Sets a property of Kafka's clients for all clusters, with or without the prefix `kafka.`. [[setOption]] sets options. */
  def setProperty(key: String, value: String): B =
    put(
      if (OptionName.afterPrefix(key, OptionName.Kafka).isDefined) key else OptionName.Kafka + key,
      value
    )

  def setProperties(properties: Map[String, String]): B =
    properties.foldLeft(this: B) { case (builder, (key, value)) => builder.setProperty(key, value) }

  def setProperties(properties: ju.Map[_, _]): B =
    setProperties(properties.asScala.map { case (key, value) =>
      String.valueOf(key) -> String.valueOf(value)
    }.toMap)

  /**
   * Sets a Kafka property of one cluster, with or without the prefix `kafka.`, or an option that can be set for one
   * cluster. Takes precedence over the metadata and over properties of all clusters.
   *
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION if the cluster id is
   *         invalid, UNKNOWN_OPTION if the key is unknown
   */
  def setClusterProperty(clusterId: String, key: String, value: String): B =
    put(ClusterScope.option(clusterId, key, table), value)

  /**
   * Sets the interval between two polls of the metadata service, in milliseconds or with a unit as in `10s`. The
   * default is 30 seconds. -1: the metadata is read only at the start of the query.
   */
  def setMetadataDiscoveryInterval(interval: String): B =
    setOption(SourceOptionSpecs.DiscoveryIntervalMs.name, interval)
  def setMetadataDiscoveryInterval(ms: Long): B = setMetadataDiscoveryInterval(ms.toString)
  def setMetadataDiscoveryInterval(interval: jt.Duration): B =
    setMetadataDiscoveryInterval(interval.toMillis)

  /** With an infinite duration, the metadata is read only at the start of the query. */
  def setMetadataDiscoveryInterval(interval: Duration): B = interval match {
    case finite: FiniteDuration => setMetadataDiscoveryInterval(finite.toMillis)
    case _ => setMetadataDiscoveryInterval(-1L)
  }

  /**
   * Sets the format of the values, `raw` by default; `docs/formats.md` lists the formats. `metadata`: format, schema and options as the
   * metadata has them. Options of the format are set with `setOption("json.timestampFormat", ...)`.
   */
  def setFormat(format: String): B = setOption(ValueFormat.name, format)

  /** Sets the format of the keys, and the columns that keys contain; none with `raw` and `string`, which have a column `key`. */
  def setKeyFormat(format: String, fields: String*): B = {
    val withFormat = setOption(KeyFormat.name, format)
    if (fields.isEmpty) withFormat else withFormat.setOption(KeyFields.name, fields.mkString(";"))
  }

  /**
   * Sets the columns of the records, as DDL, as the JSON of a `StructType`, or as an Avro schema. Default when writing: the columns of
   * the DataFrame.
   */
  def setSchema(schema: String): B = setOption(Schema.name, schema)
  def setSchema(schema: StructType): B = setSchema(schema.json)

  /**
   * Sets what a record of a format of changes becomes: `rows` (default) or `envelope`; with any other format `upsert`: a table with a key,
   * in which a null value deletes. When writing, `upsert` makes null values of rows with `delete` in the column `_change_type`, and
   * requires a key format with fields.
   */
  def setChangeData(mode: String): B = setOption(ChangeData.name, mode)

  /** Sets an option of the data source. [[setProperty]] sets properties of Kafka's clients. */
  def setOption(name: String, value: String): B =
    if (OptionName.afterPrefix(name, OptionName.Kafka).isDefined) throw OptionCheck.isProperty(name)
    else put(name, value)

  def setOptions(options: Map[String, String]): B =
    options.foldLeft(this: B) { case (builder, (name, value)) => builder.setOption(name, value) }

  def setOptions(options: ju.Map[String, String]): B = setOptions(options.asScala.toMap)

  /**
   * The options of the data source that were set.
   *
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION if two names differ only
   *         in case, which Spark treats as one option
   */
  def options(): Map[String, String] = {
    val all = entries.values.toSeq
    all.map(_._1).groupBy(_.toLowerCase(Locale.ROOT)).values.filter(_.size > 1).foreach { names =>
      throw Errors.invalidOption(
        names.last,
        Redaction.Redacted,
        s"Spark treats option names as case-insensitive and would not distinguish it from '${names.head}'. Use cluster " +
          "ids that differ in more than case, or set these properties in the metadata."
      )
    }
    all.toMap
  }

  /** Sets an option beside which another one is not allowed. */
  private[dynamickafka] def setAlone(spec: OptionSpec[_], other: OptionSpec[_], value: String): B =
    if (entries.contains(other.key))
      throw Errors.invalidOption(
        spec.name,
        value,
        s"'${other.name}' is also set, but only one of the two options is allowed."
      )
    else setOption(spec.name, value)

  /** Sets options and removes the ones that they replace, for example offsets by a timestamp. */
  private[dynamickafka] def replace(others: Seq[OptionSpec[_]], options: Seq[(String, String)]): B = {
    others.foreach(other => entries.remove(other.key))
    options.foldLeft(this: B) { case (builder, (name, value)) => builder.setOption(name, value) }
  }

  private def put(name: String, value: String): B = {
    OptionCheck(name, value, table)
    val key = keyOf(name)
    entries.remove(key)
    entries.update(key, name -> value)
    this
  }

  private def keyOf(name: String): String = table.find(name).map(_.key).getOrElse {
    OptionName.Prefixes
      .find(OptionName.afterPrefix(name, _).isDefined)
      .map(prefix => OptionName.normalize(prefix) + OptionName.afterPrefix(name, prefix).getOrElse(""))
      .getOrElse(name)
  }
}
