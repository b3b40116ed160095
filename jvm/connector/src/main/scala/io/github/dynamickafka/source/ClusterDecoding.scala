package io.github.dynamickafka.source

import io.github.dynamickafka.config.{ClusterScope, SourceOptions}
import io.github.dynamickafka.format.Layout
import io.github.dynamickafka.format.decode.{ClusterLayouts, Decoders}
import io.github.dynamickafka.format.options.FormatOptionsParser
import io.github.dynamickafka.source.read.Decoding
import io.github.dynamickafka.topology.Topology

/** Adds the formats of clusters, which topologies name, to the decoding of a query. Used by the thread of the query. */
private[source] final class ClusterDecoding(base: Decoding, options: SourceOptions) {
  private var known = Map.empty[(Map[String, String], Map[String, String]), Option[Layout]]

  /**
   * @param topologies those that a batch may read, the newest one last
   * @throws DynamicKafkaIllegalArgumentException for a format that cannot have the columns of the stream
   */
  def of(topologies: Seq[Topology]): Decoding = {
    val scope = new ClusterScope(options.clusters, topologies.flatMap(_.clusters.keys).toSet)
    val layouts = for {
      topology <- topologies
      (id, cluster) <- topology.clusters.toSeq
      topic <- cluster.topics.values.toSeq ++ cluster.patterns.map(_.topic)
    } yield (id, topic.stream) -> layout(scope.formats(id), topic.formatOptions)
    layouts.collect { case ((id, _), None) => id }.foreach(check)
    base.copy(ofClusters = layouts.toMap.collect { case (of, Some(layout)) => of -> layout })
  }

  /** Finds a cluster without a registry before a task does. */
  private def check(cluster: String): Unit = (base.layout.value +: base.layout.key.toSeq).foreach { side =>
    if (side.format.format.registry.exists(_.isRequired)) {
      val _ = side.format.registries.of(cluster)
    }
  }

  private def layout(ofOptions: Map[String, String], ofMetadata: Map[String, String]): Option[Layout] =
    known.getOrElse(
      (ofOptions, ofMetadata), {
        val made = options.clusterFormats.of(ofOptions, ofMetadata, FormatOptionsParser.parse(_)).map { own =>
          val layout = ClusterLayouts.of(base.layout, ProtobufFiles.loaded(own, isGiven = false))
          (layout.value +: layout.key.toSeq).foreach(Decoders.check)
          layout
        }
        known += (ofOptions, ofMetadata) -> made
        made
      }
    )
}
