package io.github.dynamickafka.config.option

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.kafka.Redaction
import io.github.dynamickafka.topology.OffsetsPolicy

/**
 * The options as the user wrote them, sorted by what they are about. Every one of them has a place here: an option
 * that has none is refused.
 *
 * @param kafka the `kafka.*` options without that prefix, to the letter; `cluster` and `service` likewise
 * @param clusterOffsets those of `cluster` that give offsets, under their whole names
 * @param asWritten all options
 */
private[dynamickafka] final class RawOptions private (
    declared: Map[String, RawOptions.Written],
    val kafka: Map[String, String],
    val cluster: Map[String, String],
    val service: Map[String, String],
    val clusterOffsets: Seq[(String, OffsetsPolicy)],
    val asWritten: Map[String, String]
) {

  def isSet(spec: OptionSpec[_]): Boolean = declared.contains(spec.key)

  /** The option as the user wrote it, for error texts. */
  def written(spec: OptionSpec[_]): Option[RawOptions.Written] = declared.get(spec.key)

  def find[T](spec: OptionSpec[T]): Option[T] =
    written(spec).map(w => spec.parse(w.value, w.name)).orElse(spec.default)

  /** For options that have a default. */
  def get[T](spec: OptionSpec[T]): T =
    find(spec).getOrElse(throw new IllegalStateException(s"${spec.name} has no default"))
}

private[dynamickafka] object RawOptions {
  final case class Written(name: String, value: String)

  def apply(options: CaseInsensitiveStringMap, table: OptionTable): RawOptions = {
    // Its other views have lower-case keys, and cluster ids would lose their capital letters.
    val all = options.asCaseSensitiveMap.asScala.toSeq.sorted
    def after(prefix: String) = all.flatMap { case (name, value) =>
      OptionName.afterPrefix(name, prefix).map(_ -> Written(name, value))
    }
    val kafka = after(OptionName.Kafka)
    val cluster = after(OptionName.Cluster)
    kafka.foreach { case (property, w) => table.unsupported.checkShared(property, w.name, w.value) }
    val clusterOffsets = cluster.flatMap { case (key, w) => checkClusterKey(key, w, table) }

    val declared = all
      .filterNot { case (name, _) => OptionName.Prefixes.exists(OptionName.afterPrefix(name, _).isDefined) }
      .map { case (name, value) => specOf(name, value, table).key -> Written(name, value) }

    val service = after(OptionName.MetadataService)
    new RawOptions(
      single(declared),
      values(kafka),
      values(cluster),
      values(service),
      clusterOffsets,
      all.toMap
    )
  }

  private def specOf(name: String, value: String, table: OptionTable): OptionSpec[_] =
    table.find(name).getOrElse {
      table.unsupported.checkForeign(name, value)
      throw Errors.unknownOption(name, Suggestions.forOption(name, table))
    }

  /**
   * Checks what can be told of a key while the cluster ids are not known: the rest is checked when they are.
   *
   * @return the offsets that it gives, if it gives some, under the option's name
   */
  private def checkClusterKey(
      key: String,
      w: Written,
      table: OptionTable
  ): Option[(String, OffsetsPolicy)] = {
    def refuse(reason: String) = throw Errors.invalidOption(w.name, placeholder(w.value), reason)
    if (!key.drop(1).dropRight(1).contains('.'))
      refuse("it is not of the form 'cluster.<id>.kafka.<property>' or 'cluster.<id>.<option>'.")
    table.unsupported.checkPerCluster(key, w.name, w.value)
    ClusterKeys.endsWithOption(key, table).flatMap { case (id, spec) =>
      if (!ClusterKeys.isClusterId(id))
        refuse(s"'$id' is no cluster id: those have 1 to 128 letters, digits, '.', '_' and '-'.")
      if (!spec.perCluster)
        refuse(
          s"'${spec.name}' is for the whole query; a cluster has ${table.perCluster.map(_.name).mkString(", ")}."
        )
      clusterOffsets(id, spec, w).map(w.name -> _)
    }
  }

  /** Parses the value of an option for one cluster, which may fail; the offsets that it gives, if it gives some. */
  private def clusterOffsets(id: String, spec: OptionSpec[_], w: Written): Option[OffsetsPolicy] =
    spec.parse(w.value, w.name) match {
      case policy: OffsetsPolicy => Some(ClusterKeys.offsetsOf(id, policy, w.name))
      case _ => None
    }

  /** Two spellings of one option are one option, if they do not contradict each other. */
  private def single(declared: Seq[(String, Written)]): Map[String, Written] =
    declared.groupMap(_._1)(_._2).map { case (key, written) =>
      written.find(_.value != written.head.value).foreach { other =>
        throw Errors.invalidOption(
          other.name,
          other.value,
          s"it is also set as '${written.head.name}', to '${written.head.value}'."
        )
      }
      key -> written.head
    }

  private def values(written: Seq[(String, Written)]): Map[String, String] =
    written.map { case (key, w) => key -> w.value }.toMap

  /** A key without a known meaning may hold a secret. */
  private def placeholder(value: String): String = if (value.isEmpty) value else Redaction.Redacted
}
