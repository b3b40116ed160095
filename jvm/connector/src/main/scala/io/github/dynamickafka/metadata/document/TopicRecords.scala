package io.github.dynamickafka.metadata.document

import scala.collection.immutable.VectorMap

import io.github.dynamickafka.error.{DynamicKafkaIllegalArgumentException, Errors}
import io.github.dynamickafka.metadata.KafkaStream
import io.github.dynamickafka.metadata.document.DocumentTree._

/**
 * The newest record of each stream in a compacted topic. Immutable. Pure.
 *
 * @param topic for texts: the topic, and where it is
 */
private[metadata] final case class TopicRecords(
    topic: String,
    entries: Map[String, TopicRecords.Entry] = Map.empty
) {
  import TopicRecords._

  /** The records from this offset on: the earlier ones have been deleted. */
  def from(offset: Long): TopicRecords = copy(entries = entries.filter(_._2.offset >= offset))

  /** @param value null removes the stream */
  def add(streamId: String, value: String, offset: Long): TopicRecords =
    if (value == null) copy(entries = entries - streamId)
    else copy(entries = entries.updated(streamId, entry(streamId, value, offset)))

  private lazy val checked = MetadataDocument.check(joined(entries))

  /** The streams whose newest record is valid, and also together with the clusters of the other ones. */
  lazy val streams: Map[String, KafkaStream] = checked.streams -- invalid.keys

  /** The streams whose newest record cannot be used, with the reason. */
  lazy val invalid: Map[String, DynamicKafkaIllegalArgumentException] = {
    val together = for (problem <- checked.errors; stream <- problem.place.stream)
      yield stream -> Errors.metadataInvalid(
        s"$topic, ${problem.place.shown.mkString}",
        s"${problem.reason}. Each record is valid, but not together with the clusters of the other ones"
      )
    entries.collect { case (id, Entry(_, Left(reason))) => id -> reason } ++ together
  }

  private def entry(streamId: String, value: String, offset: Long): Entry = {
    val where = s"the record at offset $offset of $topic, stream '$streamId'"
    def fail(reason: String) = throw Errors.metadataInvalid(where, reason)
    try {
      val document = JsonText.read(value).getOrElse(fail("it is not JSON in the format of the metadata file"))
      if (!document.isInstanceOf[Mapping]) fail("it is not a JSON object")
      val found = MetadataDocument.accepted(MetadataDocument.check(document), where)
      if (found.keys.toSeq != Seq(streamId)) fail("it must contain exactly the stream of its key")
      val clusters = found(streamId).getClusterMetadataMap
      document.fields(Clusters).keys.find(!clusters.containsKey(_))
        .foreach(id => fail(s"the stream does not have its cluster '$id'"))
      Entry(offset, Right(document))
    } catch { case e: DynamicKafkaIllegalArgumentException => Entry(offset, Left(e)) }
  }

  /**
   * The records that an edit of all streams that can be used changes, as one document.
   *
   * @throws EditRefused if the edit does
   */
  def edited(change: String => String): Values = {
    val text = JsonText.write(joined(entries -- invalid.keys))
    val result =
      try change(text)
      catch {
        case e: EditRefused if invalid.nonEmpty =>
          val unread = invalid.keys.toSeq.sorted.mkString("'", "', '", "'")
          throw new EditRefused(s"${e.getMessage} The newest records of these streams are not valid: $unread")
      }
    val known = split(text)
    split(result).collect {
      case (id, value) if !known.get(id).contains(value) => id -> Some(value)
    }
  }

  /**
   * What the topic says with these records.
   *
   * @throws EditRefused if a stream could not be read any more, on which its queries would stand still
   */
  def after(values: Values): TopicRecords = {
    val result = values.foldLeft(this) { case (records, (id, value)) =>
      records.add(id, value.orNull, Long.MaxValue)
    }
    val refused = result.invalid.keySet.filter(id => values.contains(id) || !invalid.contains(id))
    refused.toSeq.sorted.headOption.foreach { id =>
      val reason = result.invalid(id).getMessageParameters.get("reason")
      throw new EditRefused(s"queries that read stream '$id' would stand still: $reason")
    }
    result
  }
}

private[metadata] object TopicRecords {

  /** @param document of a record that cannot be used, the reason */
  final case class Entry(offset: Long, document: Either[DynamicKafkaIllegalArgumentException, DocumentTree])

  /** New records by stream id; None removes the stream. */
  type Values = Map[String, Option[String]]

  /**
   * The records of a valid file.
   *
   * @param only these streams; empty: all
   * @param removed streams of the topic that the file does not have
   * @throws EditRefused if a stream is unknown
   */
  def published(file: String, only: Seq[String], removed: Seq[String]): Values = {
    val found = split(file)
    only.find(!found.contains(_)).foreach(id =>
      throw new EditRefused(s"there is no stream '$id'; the streams are ${found.keys.mkString(", ")}")
    )
    removed.find(found.contains).foreach(id =>
      throw new EditRefused(s"stream '$id' is in the file: remove it there first")
    )
    found.filter(s => only.isEmpty || only.contains(s._1)).map { case (id, value) => id -> Some(value) } ++
      removed.map(_ -> None)
  }

  /**
   * One document in JSON for each stream, with exactly this stream and its clusters, in the order of the document. Values stay as they are
   * written.
   *
   * @param text of a valid document
   * @throws EditRefused for Flink's list of streams
   */
  private def split(text: String): VectorMap[String, String] = {
    val all = DocumentText.tree(text)
    if (!all.isInstanceOf[Mapping]) throw new EditRefused(
      "a file in the format of Flink cannot be published: write 'version: 1', clusters and streams"
    )
    val clusters = all.fields(Clusters)
    all.fields(Streams).map { case (id, stream) =>
      val own = stream.fields(Clusters).keySet
      id -> JsonText.write(document(clusters.filter(c => own(c._1)), VectorMap(id -> stream)))
    }
  }

  /** One document with all streams. Where records differ about a cluster, the newest one holds. */
  private def joined(of: Map[String, Entry]): DocumentTree = {
    val documents = of.values.toSeq.sortBy(_.offset).flatMap(_.document.toOption)
    def merged(key: String) = documents.foldLeft(VectorMap.empty[String, DocumentTree])(_ ++ _.fields(key))
    document(merged(Clusters), merged(Streams))
  }

  private def document(clusters: Map[String, DocumentTree], streams: Map[String, DocumentTree]) = mapping(Seq(
    "version" -> Scalar(1, Number, "1"),
    Clusters -> mapping(clusters),
    Streams -> mapping(streams)
  ))

  private def mapping(fields: Iterable[(String, DocumentTree)]): DocumentTree =
    Mapping(1, fields.map { case (name, value) => Scalar(1, Text, name) -> value }.toSeq)

  private val Clusters = "clusters"
  private val Streams = "streams"
}
