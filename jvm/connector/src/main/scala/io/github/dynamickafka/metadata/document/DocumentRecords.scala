package io.github.dynamickafka.metadata.document

import scala.collection.immutable.VectorMap

import io.github.dynamickafka.metadata.document.DocumentTree._

/**
 * A document of version 1 as one document in JSON for each stream, with exactly this stream and its clusters, and back: the records
 * of a topic. Values stay as they are written. Pure.
 */
private[metadata] object DocumentRecords {

  /**
   * The documents by stream id, in the order of the document.
   *
   * @param text of a valid document
   * @throws EditRefused for Flink's list of streams
   */
  def split(text: String): VectorMap[String, String] = {
    val all = DocumentText.tree(text)
    if (!all.isInstanceOf[Mapping]) throw new EditRefused(
      "a file in the format of Flink cannot be published: write 'version: 1', clusters and streams"
    )
    val clusters = children(all, Clusters)
    children(all, Streams).map { case (id, stream) =>
      val own = children(stream, Clusters).keySet
      id -> JsonText.write(document(clusters.filter(c => own(c._1)), VectorMap(id -> stream)))
    }
  }

  /** One document with all streams. Where documents differ about a cluster, the last one holds. */
  def joined(documents: Seq[DocumentTree]): DocumentTree =
    document(merged(documents, Clusters), merged(documents, Streams))

  /** The ids of the clusters that a document declares. */
  def clusters(document: DocumentTree): Iterable[String] = children(document, Clusters).keys

  private def merged(documents: Seq[DocumentTree], key: String) =
    documents.foldLeft(VectorMap.empty[String, DocumentTree])(_ ++ children(_, key))

  private def document(clusters: Map[String, DocumentTree], streams: Map[String, DocumentTree]) = mapping(Seq(
    "version" -> Scalar(1, Number, "1"),
    Clusters -> mapping(clusters),
    Streams -> mapping(streams)
  ))

  private def mapping(fields: Iterable[(String, DocumentTree)]): DocumentTree =
    Mapping(1, fields.map { case (name, value) => Scalar(1, Text, name) -> value }.toSeq)

  private def children(tree: DocumentTree, key: String): VectorMap[String, DocumentTree] = tree match {
    case Mapping(_, all) => all.collectFirst { case (name, Mapping(_, pairs)) if name.value == key => pairs }
        .getOrElse(Nil).map { case (name, value) => name.value -> value }.to(VectorMap)
    case _ => VectorMap.empty
  }

  private val Clusters = "clusters"
  private val Streams = "streams"
}
