package io.github.dynamickafka.metadata.topic

import io.github.dynamickafka.error.{DynamicKafkaIllegalArgumentException, Errors}
import io.github.dynamickafka.metadata.KafkaStream
import io.github.dynamickafka.metadata.document.{DocumentRecords, DocumentTree, JsonText, MetadataDocument}

/**
 * The newest record of each stream in a compacted topic. Immutable. Pure.
 *
 * @param topic for texts: the topic, and where it is
 */
private[topic] final case class TopicRecords(
    topic: String,
    entries: Map[String, TopicRecords.Entry] = Map.empty
) {
  import TopicRecords._

  /** @param value null removes the stream */
  def add(streamId: String, value: String, offset: Long): TopicRecords =
    if (value == null) copy(entries = entries - streamId)
    else copy(entries = entries.updated(streamId, entry(streamId, value, offset)))

  private lazy val checked = MetadataDocument.check(joined(_ => true))

  /** The streams that can be used, as one document. */
  def document: DocumentTree = joined(!invalid.contains(_))

  /** Where records differ about a cluster, the newest one holds. */
  private def joined(include: String => Boolean): DocumentTree =
    DocumentRecords.joined(
      entries.toSeq.collect { case (id, e: Good) if include(id) => e }.sortBy(_.offset).map(_.document)
    )

  /** The streams whose newest record is valid, and also together with the clusters of the other ones. */
  lazy val streams: Map[String, KafkaStream] = checked.streams -- invalid.keys

  /** The streams whose newest record cannot be used, with the reason. */
  lazy val invalid: Map[String, DynamicKafkaIllegalArgumentException] = {
    val together = for (problem <- checked.errors; stream <- problem.place.stream)
      yield stream -> Errors.metadataInvalid(
        s"$topic, ${problem.place.names.mkString(", ")}",
        s"${problem.reason}. Each record is valid, but not together with the clusters of the other ones"
      )
    entries.collect { case (id, Bad(reason)) => id -> reason } ++ together
  }

  private def entry(streamId: String, value: String, offset: Long): Entry = {
    val where = s"the record at offset $offset of $topic, stream '$streamId'"
    def fail(reason: String) = throw Errors.metadataInvalid(where, reason)
    try {
      val document = JsonText.read(value).getOrElse(fail("it is not JSON in the format of the metadata file"))
      if (!document.isInstanceOf[DocumentTree.Mapping]) fail("it is not a JSON object")
      val found = MetadataDocument.accepted(MetadataDocument.check(document), where)
      if (found.keys.toSeq != Seq(streamId)) fail("it must contain exactly the stream of its key")
      val clusters = found(streamId).getClusterMetadataMap
      DocumentRecords.clusters(document).find(!clusters.containsKey(_))
        .foreach(id => fail(s"the stream does not have its cluster '$id'"))
      Good(document, offset)
    } catch { case e: DynamicKafkaIllegalArgumentException => Bad(e) }
  }
}

private[topic] object TopicRecords {
  sealed trait Entry
  final case class Good(document: DocumentTree, offset: Long) extends Entry
  final case class Bad(reason: DynamicKafkaIllegalArgumentException) extends Entry
}
