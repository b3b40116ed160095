package io.github.dynamickafka.option

import scala.collection.immutable.SortedMap
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.base.Redaction
import io.github.dynamickafka.error.Errors

/**
 * The options as the user wrote them, grouped by prefix. An option that belongs to no group is rejected.
 *
 * @param ofClusters the options of `cluster` that are declared, with their values
 * @param formats the options of formats
 * @param asWritten all options
 */
private[dynamickafka] final class RawOptions private (
    declared: Map[String, RawOptions.Written],
    val ofClusters: Seq[RawOptions.OfCluster],
    val formats: Seq[(FormatKey, RawOptions.Written)],
    val asWritten: Map[String, String]
) {

  val kafka: Map[String, String] = under(OptionName.Kafka)
  val cluster: Map[String, String] = under(OptionName.Cluster)
  val service: Map[String, String] = under(OptionName.MetadataService)

  def isSet(spec: OptionSpec[_]): Boolean = declared.contains(spec.key)

  /** The option as the user wrote it, for error texts. */
  def written(spec: OptionSpec[_]): Option[RawOptions.Written] = declared.get(spec.key)

  /** The options with this prefix, without it, names unchanged. */
  def under(prefix: String): Map[String, String] = asWritten.flatMap { case (name, value) =>
    OptionName.afterPrefix(name, prefix).map(_ -> value)
  }

  def find[T](spec: OptionSpec[T]): Option[T] =
    written(spec).map(w => spec.parse(w.value, w.name)).orElse(spec.default.value)

  /** The value or the default. Only for options that have a default. */
  def get[T](spec: OptionSpec[T]): T =
    find(spec).getOrElse(throw new IllegalStateException(s"${spec.name} has no default"))

  /** The value of an option that has to be set for this reason. */
  def require[T](spec: OptionSpec[T], reason: String): T =
    find(spec).getOrElse(throw Errors.missingOption(spec.name, reason))
}

private[dynamickafka] object RawOptions {
  final case class Written(name: String, value: String) {
    def invalid(reason: String): Errors.IllegalArgument = Errors.invalidOption(name, value, reason)
  }

  /**
   * An option of one cluster.
   *
   * @param cluster its id, as far as it can be known from the name of the option
   * @param writtenAs the name of the option as the user wrote it
   * @param value what the option's type makes of the text
   */
  final case class OfCluster(cluster: String, writtenAs: String, value: Any)

  def apply(options: CaseInsensitiveStringMap, table: OptionTable): RawOptions = {
    // The other views have lower-case keys, which would change cluster ids.
    val all = options.asCaseSensitiveMap.asScala.toSeq.sorted
    def after(prefix: String) = all.flatMap { case (name, value) =>
      OptionName.afterPrefix(name, prefix).map(_ -> Written(name, value))
    }
    after(OptionName.Kafka).foreach { case (property, w) =>
      table.checkProperty(property, w.name)
      table.unsupported.checkShared(property, w.name, w.value)
    }
    val ofClusters = after(OptionName.Cluster).flatMap { case (key, w) => checkClusterKey(key, w, table) }

    val formats = all.flatMap { case (name, value) =>
      FormatKey.of(name, table.formats).map(_ -> Written(name, value))
    }
    val ofFormats = formats.map(_._2.name).toSet

    val declared = all
      .filterNot { case (name, _) =>
        ofFormats(name) || table.hasPrefix(name) ||
        OptionName.Prefixes.exists(OptionName.afterPrefix(name, _).isDefined)
      }
      .map { case (name, value) => specOf(name, value, table) -> Written(name, value) }

    new RawOptions(single(declared), ofClusters, formats, SortedMap.from(all))
  }

  /** Checks also what the options require of each other. */
  def checked(options: CaseInsensitiveStringMap, table: OptionTable): RawOptions = {
    val raw = RawOptions(options, table)
    for (
      spec <- table.all;
      w <- raw.written(spec);
      reason <- spec.requires(raw) if spec.parse(w.value, w.name) != false
    )
      throw Errors.invalidOption(w.name, spec.shown(w.value), reason)
    raw
  }

  private def specOf(name: String, value: String, table: OptionTable): OptionSpec[_] =
    table.find(name).getOrElse {
      table.unsupported.checkForeign(name, value)
      throw Errors.unknownOption(name, Suggestions.forOption(name, table))
    }

  /**
   * Checks a key as far as possible without knowing the cluster ids. The rest is checked when they are known.
   *
   * @return the option, if it is declared, with a value that is checked
   */
  private def checkClusterKey(key: String, w: Written, table: OptionTable): Option[OfCluster] = {
    def refuse(reason: String) = throw Errors.invalidOption(w.name, placeholder(w.value), reason)
    if (!key.drop(1).dropRight(1).contains('.'))
      refuse("the name does not have the form 'cluster.<id>.kafka.<property>' or 'cluster.<id>.<option>'.")
    val id = ClusterKeys.probableId(key, table)
    if (id.nonEmpty && !ClusterKeys.isClusterId(id))
      refuse(s"'$id' is not a valid cluster id: ${ClusterKeys.Rule}.")
    table.unsupported.checkPerCluster(key, w.name, w.value)
    ClusterKeys.endsWithOption(key, table).map { case (id, spec) =>
      if (!spec.perCluster)
        refuse(
          s"'${spec.name}' applies to the whole query: a stream whose clusters need another value is two streams, each with a query of its " +
            s"own. Options of one cluster: ${table.perCluster.map(_.name).mkString(", ")}."
        )
      OfCluster(id, w.name, spec.parse(w.value, w.name))
    }
  }

  /** Accepts an option in two spellings if both have the same value. */
  private def single(declared: Seq[(OptionSpec[_], Written)]): Map[String, Written] =
    declared.groupMap(_._1)(_._2).map { case (spec, written) =>
      written.find(_.value != written.head.value).foreach { other =>
        throw Errors.invalidOption(
          other.name,
          spec.shown(other.value),
          s"the same option is also set as '${written.head.name}', to '${spec.shown(written.head.value)}'."
        )
      }
      spec.key -> written.head
    }

  /** The value of an unknown key may be a secret. */
  private def placeholder(value: String): String = if (value.isEmpty) value else Redaction.Redacted
}
