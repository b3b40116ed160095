package io.github.dynamickafka.sink

import scala.collection.mutable

import io.github.dynamickafka.config.{ClusterRouting, ClusterScope, SinkOptions}
import io.github.dynamickafka.format.FormatOptions
import io.github.dynamickafka.format.options.WriteOptionsParser
import io.github.dynamickafka.schemaregistry.{Frame, Registries, SchemaRegistrar}
import io.github.dynamickafka.sink.row.InputColumns
import io.github.dynamickafka.topology.{WriteEntry, WriteTopology}

/**
 * The formats and registries of the clusters that a query writes to, which the metadata may change. Used by the thread of the query.
 *
 * @param base the columns in the format of the stream
 * @param ofFormat the columns in another format
 */
private[sink] final class ClusterWriteFormats(
    options: SinkOptions,
    base: InputColumns,
    ofFormat: FormatOptions => InputColumns,
    registrar: SchemaRegistrar = SchemaRegistrar.shared
) {
  private val made =
    mutable.Map.empty[(String, Map[String, String], Map[String, String]), Option[ClusterColumns]]

  /** By cluster id, where records differ from those of the stream. */
  def of(topology: WriteTopology): Map[String, ClusterColumns] = {
    val scope = new ClusterScope(options.clusters, topology.clusters.keySet.toSet)
    val entries = options.streamId.flatMap(topology.streams.get).toSeq.flatMap(_.clusters)
    topology.clusters.keys.toSeq.flatMap { id =>
      val entry = entries.find(_.cluster == id)
      val metadata = entry.fold(Map.empty[String, String])(_.formatOptions)
      val own = scope.formats(id)
      made.getOrElseUpdate((id, own, metadata), columns(own, metadata, entry)).map(id -> _)
    }.toMap
  }

  private def columns(
      ofOptions: Map[String, String],
      metadata: Map[String, String],
      entry: Option[WriteEntry]
  ): Option[ClusterColumns] =
    options.clusterFormats.of(ofOptions, metadata, WriteOptionsParser.parse(_)).map { parsed =>
      val own = if (parsed.schemaFromRegistry) withSchema(parsed, entry) else parsed
      if (bytes(own) == bytes(options.format)) ClusterColumns(base.in(own), encodes = false)
      else ClusterColumns(ofFormat(own), encodes = true)
    }

  /** If the stream has `schema=registry`, all clusters get the schema that was found when the query started. */
  private def withSchema(own: FormatOptions, entry: Option[WriteEntry]): FormatOptions =
    options.format.schema.filter(_.registered.isDefined).map(TargetSchemas.resolved(own, _))
      .orElse(entry.map(TargetSchemas.ofCluster(own, _)))
      .getOrElse(own.copy(schema = options.format.schema, schemaFromRegistry = false))

  /** What determines the bytes after the ids of schemas. */
  private def bytes(of: FormatOptions): FormatOptions = of.copy(
    value = of.value.copy(registries = Registries()),
    key = of.key.map(_.copy(registries = Registries()))
  )

  /**
   * The ids of the schemas of all records whose cluster and topic do not depend on their rows, so that a schema that is missing or
   * refused is found before anything is written. For all others, tasks ask at their first record: a schema is not registered for a
   * topic that gets none.
   *
   * @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException see [[SchemaRegistrar.id]]
   */
  def ids(topology: WriteTopology, ofClusters: Map[String, ClusterColumns]): Map[Frame.Place, Int] =
    (for {
      entry <- targets(topology)
      topic <- entry.only.toSeq
      frame <- ofClusters.get(entry.cluster).fold(base)(_.columns).frames
    } yield Frame.Place(entry.cluster, topic, frame.ofKeys) -> frame.id(
      entry.cluster,
      topic,
      registrar
    )).toMap

  private def targets(topology: WriteTopology): Seq[WriteEntry] =
    if (base.hasStream || base.hasCluster) Nil
    else options.streamId.flatMap(topology.streams.get).toSeq.flatMap { stream =>
      options.routing match {
        case ClusterRouting.First => stream.first.toSeq
        case ClusterRouting.Key | ClusterRouting.All => stream.writable
      }
    }
}
