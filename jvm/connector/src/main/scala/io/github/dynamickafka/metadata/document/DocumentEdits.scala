package io.github.dynamickafka.metadata.document

import scala.jdk.CollectionConverters._

import io.github.dynamickafka.metadata.document.DocumentTree.Mapping
import io.github.dynamickafka.metadata.document.WrittenDocument.{Pair, Replacement}
import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaStream}
import io.github.dynamickafka.option.Suggestions

/** An edit is refused, and nothing is changed. The message has no value of a property. */
private[dynamickafka] final class EditRefused(reason: String) extends RuntimeException(reason)

/**
 * Changes of a document that leave all other lines, comments among them, as they are. The whole document is validated before and
 * after. Pure. The cases are in `tests/conformance/edits`.
 */
private[dynamickafka] object DocumentEdits {
  private type Streams = Map[String, KafkaStream]

  // What an entry for another cluster takes over; a registry, positions and `write` belong to the cluster.
  private val TakenOver = Set("topics", "topic_pattern", "partitions")
  private val ByHand = "change it by hand"

  // An anchor that others use may take several steps.
  private val MostSteps = 4

  /**
   * Sets the state of a cluster in one stream, or in every stream that it has.
   *
   * @throws EditRefused if an id is unknown, or the document cannot be changed in this way
   */
  def withState(text: String, cluster: String, state: String, stream: Option[String]): String = {
    val streams = version1(text)
    stream.foreach { id =>
      checkStream(streams, id)
      checkCluster(streams(id), cluster)
    }
    val chosen =
      stream.map(Seq(_)).getOrElse(streams.keys.filter(id => entries(streams(id)).contains(cluster)).toSeq)
    if (chosen.isEmpty) {
      val known = clusters(text)
      throw new EditRefused(
        if (known.contains(cluster)) s"no stream is on cluster '$cluster'"
        else s"'clusters' has no cluster '$cluster'.${suggestion(cluster, known)}"
      )
    }
    edited(text, chosen.foldLeft(streams)(withState(_, _, cluster, state)))
  }

  /**
   * Drains a cluster of a stream, and adds another one with the same topics.
   *
   * @throws EditRefused if an id is unknown, the other cluster has other topics of the stream, or the document cannot be
   *                     changed in this way
   */
  def moved(text: String, stream: String, old: String, added: String): String = {
    val streams = version1(text)
    checkStream(streams, stream)
    checkCluster(streams(stream), old)
    val known = clusters(text)
    if (!known.contains(added)) throw new EditRefused(
      s"'clusters' has no cluster '$added': first add it there, with its properties.${suggestion(added, known)}"
    )
    if (added == old) throw new EditRefused(s"stream '$stream' cannot move from cluster '$old' to itself")
    val wanted = withState(streams, stream, old, ClusterMetadata.Draining)
    entries(streams(stream)).get(added) match {
      case None =>
        val more = withEntry(text, stream, old, added)
        // What the new entry says is what the document says; that nothing else changes is checked.
        val entry = entries(parse(more)(stream))(added)
        edited(more, wanted.updated(stream, withEntry(wanted(stream), added, entry)))
      case Some(there)
          if subscription(there) != subscription(entries(streams(stream))(old)) ||
            there.state != ClusterMetadata.Active =>
        val (key, topics) = subscription(there)
        throw new EditRefused(
          s"stream '$stream' has cluster '$added' already, with state '${there.state}' and $key $topics: $ByHand"
        )
      case _ => edited(text, wanted)
    }
  }

  /** Changes states until the document has these streams. */
  private def edited(text: String, wanted: Streams): String = {
    @annotation.tailrec
    def step(text: String, left: Int): String = {
      val now = parse(text)
      lazy val found = changes(text, now, wanted)
      if (now == wanted) text
      else if (left == 0 || found.isEmpty) {
        val different = wanted.collectFirst { case (id, stream) if !now.get(id).contains(stream) => id }
        throw new EditRefused(
          s"stream '${different.mkString}' shares this part of the document with others, by an anchor or a merge key: $ByHand"
        )
      } else step(replaced(text, found), left - 1)
    }
    step(text, MostSteps)
  }

  /** Entries that are written out come first: an alias of one may then have the right state. */
  private def changes(text: String, now: Streams, wanted: Streams): Seq[Replacement] = {
    val written = new WrittenDocument(text)
    val there: Seq[(Pair, String)] = for {
      (id, stream) <- wanted.toSeq
      (cluster, entry) <- entries(stream).toSeq
      if !now.get(id).flatMap(entries(_).get(cluster)).exists(_.state == entry.state)
      found <- written.entries(id).get(cluster)
    } yield found -> entry.state
    val own = there.filter(_._1.alias.isEmpty)
    (if (own.nonEmpty) own else there).map { case (entry, state) => written.withState(entry, state) }.distinct
  }

  private def replaced(text: String, all: Seq[Replacement]): String =
    all.sortBy(-_.start).foldLeft(text)((t, r) => t.substring(0, r.start) + r.text + t.substring(r.end))

  private def withEntry(text: String, stream: String, old: String, added: String): String = {
    val written = new WrittenDocument(text)
    if (!written.entries(stream).contains(old)) throw new EditRefused(
      s"the clusters of stream '$stream' are those of an anchor or a merge key: $ByHand"
    )
    replaced(text, Seq(written.withEntry(stream, old, added, tree(text), TakenOver)))
  }

  private def withState(streams: Streams, stream: String, cluster: String, state: String): Streams =
    streams.updated(
      stream,
      withEntry(streams(stream), cluster, entries(streams(stream))(cluster).withState(state))
    )

  private def withEntry(stream: KafkaStream, cluster: String, entry: ClusterMetadata) = new KafkaStream(
    stream.streamId,
    entries(stream).updated(cluster, entry).asJava,
    stream.getFormatOptions,
    stream.getHistory
  )

  private def entries(stream: KafkaStream): Map[String, ClusterMetadata] =
    stream.getClusterMetadataMap.asScala.toMap

  private def subscription(entry: ClusterMetadata): (String, String) =
    if (entry.topicPattern != null) ("topic_pattern", entry.topicPattern)
    else if (!entry.getPartitions.isEmpty) ("partitions", entry.getPartitions.asScala.keys.mkString(", "))
    else ("topics", entry.getTopics.asScala.mkString(", "))

  /** @throws EditRefused if the document is not valid */
  private def parse(text: String): Streams = {
    val found = MetadataDocument.check(text)
    found.errors.headOption.foreach(e =>
      throw new EditRefused(s"the document would not be valid (${e.text}): $ByHand")
    )
    found.streams
  }

  private def version1(text: String): Streams = {
    val streams = MetadataDocument.parse(text, "the document").streams
    if (!tree(text).isInstanceOf[Mapping])
      throw new EditRefused("Flink's list of streams has no states: use a document of version 1")
    streams
  }

  private def clusters(text: String): Seq[String] = tree(text) match {
    case Mapping(_, all) =>
      all.collect { case (key, of: Mapping) if key.value == "clusters" => of.pairs.map(_._1.value) }
        .flatten
    case _ => Nil
  }

  private def tree(text: String): DocumentTree = DocumentText.tree(text)

  private def checkStream(streams: Streams, id: String): Unit =
    if (!streams.contains(id))
      throw new EditRefused(s"there is no stream '$id'.${suggestion(id, streams.keys)}")

  private def checkCluster(stream: KafkaStream, cluster: String): Unit =
    if (!entries(stream).contains(cluster)) throw new EditRefused(
      s"stream '${stream.streamId}' is not on cluster '$cluster'.${suggestion(cluster, entries(stream).keys)}"
    )

  private def suggestion(name: String, known: Iterable[String]) =
    Suggestions.closest(name, known).fold("")(s => s" Did you mean '$s'?")
}
