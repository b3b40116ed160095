package io.github.dynamickafka.format.options

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.FormatOptions
import io.github.dynamickafka.option.{FormatKey, OptionName, OptionTable, RawOptions}
import io.github.dynamickafka.schemaregistry.RegistryOptionSpecs

/**
 * The formats of clusters where they differ from that of the query: `cluster.<id>.format` and the like, and what the metadata says
 * about a stream on a cluster.
 *
 * @param query the options of the query about formats, as they are written
 * @param ofMetadata whether the metadata counts: the options of a query take precedence over it, the settings of a catalog do not
 * @param table the options of the source or the sink
 * @param ofStatement names of options of one query of a table of a catalog, over which the metadata does not take precedence
 */
private[dynamickafka] final case class ClusterFormats(
    query: Map[String, String],
    ofMetadata: Boolean,
    table: OptionTable,
    ofStatement: Set[String] = Set.empty
) {
  import ClusterFormats._

  /**
   * @param options those of `cluster.<id>.`, without that prefix
   * @param metadata what the metadata says about the stream on this cluster
   * @param parse makes formats of options, as for the query
   * @return None: the format of the query
   */
  def of(
      options: Map[String, String],
      metadata: Map[String, String],
      parse: RawOptions => FormatOptions
  ): Option[FormatOptions] = {
    val own = options.filter { case (name, _) => isFormat(name, table) }
    val known =
      if (!ofMetadata) Map.empty[String, String]
      else usable(metadata, own).filterNot { case (name, _) => stated(key(name)) }
    val ofCluster = without(known, own) ++ own
    Option.when(ofCluster.nonEmpty) {
      val all = new CaseInsensitiveStringMap((inUse(ofCluster) ++ ofCluster).asJava)
      parse(RawOptions(all, table))
    }
  }

  private lazy val stated = ofStatement.map(key)

  /**
   * What applies of the metadata of a cluster.
   *
   * @param own the options of the cluster: with `format`, those of the metadata about its format do not apply
   */
  private def usable(metadata: Map[String, String], own: Map[String, String]): Map[String, String] = {
    val (registry, format) = metadata.partition { case (name, _) => isRegistry(name) }
    registry.keys.find(name => !RegistryOptionSpecs.all.exists(_.named(name))).foreach(name =>
      throw Errors.metadataInvalid("key 'registry'", s"'$name' is not an option of a registry")
    )
    val ofFormat =
      if (has(own, FormatOptionSpecs.ValueFormat.named)) Map.empty[String, String]
      else format.filter { case (name, _) => table.has(name) && !FormatOptionSpecs.KeyFields.named(name) }
    val set = without(ofFormat, own) ++ own
    // Of no effect if the format of the records has none.
    val isUsed = hasRegistry(without(query, set) ++ set)
    ofFormat ++ registry.filter { case (name, _) => table.has(name) && isUsed }
  }

  /** Without values: those of registries can be secrets. */
  override def toString: String = s"ClusterFormats(${query.keys.toSeq.sorted.mkString(", ")})"

  /** What remains of the query's options: a schema, and options of a format, belong to their format. */
  private def inUse(ofCluster: Map[String, String]): Map[String, String] = {
    val rest = without(query, ofCluster)
    def format(options: Map[String, String]) =
      options.collectFirst {
        case (name, value) if FormatOptionSpecs.ValueFormat.named(name) => normalized(value)
      }
    val changes = format(ofCluster).exists(!format(query).contains(_))
    val formats = (rest ++ ofCluster).collect {
      case (name, value)
          if FormatOptionSpecs.ValueFormat.named(name) || FormatOptionSpecs.KeyFormat.named(name) =>
        normalized(value)
    }.toSet ++ (FormatOptionSpecs.classes ++ WriteOptionSpecs.classes).map(_.name)
    val registry = hasRegistry(rest ++ ofCluster)
    // A token would take precedence.
    val isUser = has(ofCluster, RegistryOptionSpecs.UserInfo.named)
    rest.filterNot { case (name, _) =>
      (changes && FormatOptionSpecs.Schema.named(name)) || (!registry && isRegistry(name)) ||
      (isUser && RegistryOptionSpecs.Token.named(name)) ||
      FormatKey.of(name, table.formats).exists(k => !formats(k.format))
    }
  }

  private def without(all: Map[String, String], names: Map[String, String]) = {
    val keys = names.keySet.map(key)
    all.filterNot { case (name, _) => keys(key(name)) }
  }

  private def has(options: Map[String, String], named: String => Boolean) = options.keys.exists(named)
  private def key(name: String) = table.find(name).fold(name.toLowerCase(java.util.Locale.ROOT))(_.key)
}

private[dynamickafka] object ClusterFormats {

  def apply(
      raw: RawOptions,
      table: OptionTable,
      ofMetadata: Boolean,
      ofStatement: Set[String]
  ): ClusterFormats = ClusterFormats(
    raw.asWritten.filter { case (name, _) => isFormat(name, table) },
    ofMetadata,
    table,
    ofStatement.filter(isFormat(_, table))
  )

  /** Whether this is an option about formats. */
  def isFormat(name: String, table: OptionTable): Boolean =
    FormatKey.of(name, table.formats).isDefined ||
      table.find(name).exists(spec =>
        (FormatOptionSpecs.ofFormats ++ WriteOptionSpecs.classes ++ RegistryOptionSpecs.all)
          .exists(_.key == spec.key)
      )

  private def isRegistry(name: String) =
    OptionName.normalize(name).startsWith(RegistryOptionSpecs.Prefix)

  /** Whether one of the formats has a registry. */
  private def hasRegistry(options: Map[String, String]): Boolean = options.exists { case (name, value) =>
    Seq(FormatOptionSpecs.ValueFormat, FormatOptionSpecs.KeyFormat).exists(_.named(name)) &&
    Formats.registered.find(value).exists(_.hasRegistry)
  }

  private def normalized(value: String) = value.trim.toLowerCase(java.util.Locale.ROOT)
}
