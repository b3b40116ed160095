package io.github.dynamickafka.metadata

import scala.jdk.CollectionConverters._

import io.github.dynamickafka.config.OffsetsParser
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.offset.OffsetsPolicy

/** Judges what a metadata service answered, whoever wrote it. Fails with METADATA_INVALID, naming stream and cluster. */
private[metadata] object AnswerCheck {

  /** What one stream has on one cluster, checked. */
  final case class Entry(
      stream: String,
      cluster: String,
      topics: Seq[String],
      properties: Map[String, String],
      draining: Boolean,
      starting: Option[OffsetsPolicy],
      stopping: Option[OffsetsPolicy]
  )

  /** The stream that the answer has under this id. */
  def stream(id: String, stream: KafkaStream): KafkaStream = {
    if (stream == null) fail(s"stream '$id'", "it is null")
    if (stream.streamId != id)
      fail(s"stream '$id'", s"the answer has stream '${stream.streamId}' in its place")
    stream
  }

  def entries(stream: KafkaStream): Seq[Entry] =
    stream.getClusterMetadataMap.asScala.toSeq.map { case (id, cluster) =>
      entry(stream.streamId, id, cluster)
    }

  /** The properties that all streams give this cluster. */
  def sameProperties(entries: Seq[Entry]): Map[String, String] = {
    val first = entries.head
    entries.find(_.properties != first.properties).foreach { other =>
      val keys = (first.properties.keySet ++ other.properties.keySet).toSeq.sorted
        .filter(k => first.properties.get(k) != other.properties.get(k))
      fail(
        s"cluster '${first.cluster}'",
        s"the streams '${first.stream}' and '${other.stream}' give it different properties: ${keys.mkString(", ")}"
      )
    }
    first.properties
  }

  private def entry(stream: String, id: String, cluster: ClusterMetadata): Entry = {
    val where = s"stream '$stream', cluster '$id'"
    if (!Names.isClusterId(id)) fail(where, s"a bad id: ${Names.ClusterIdRule}")
    if (cluster == null) fail(where, "it is null")
    val properties = cluster.getProperties.asScala.toMap
    if (properties.getOrElse(DocumentParts.Bootstrap, "").isBlank)
      fail(s"$where, key '${DocumentParts.Bootstrap}'", "it is missing or blank")
    val topics = cluster.getTopics.asScala.toSeq
    if (topics.isEmpty) fail(s"$where, key 'topics'", "it names no topic")
    topics.find(!Names.isTopic(_)).foreach { bad =>
      fail(s"$where, key 'topics'", s"'$bad' is a bad topic name: ${Names.TopicRule}")
    }
    Entry(
      stream,
      id,
      topics,
      properties,
      draining(where, cluster.state),
      offsets(where, "starting_offsets", cluster.startingOffsets, OffsetsParser.starting(_)),
      offsets(where, "stopping_offsets", cluster.stoppingOffsets, OffsetsParser.ending(_))
    )
  }

  private def draining(where: String, state: String): Boolean = state match {
    case ClusterMetadata.Active => false
    case ClusterMetadata.Draining => true
    case other => fail(s"$where, key 'state'", s"'$other' is no state, it is 'active' or 'draining'")
  }

  private def offsets(
      where: String,
      key: String,
      text: String,
      parse: String => OffsetsParser.Result
  ): Option[OffsetsPolicy] =
    Option(text).map(parse(_).fold(
      reason => fail(s"$where, key '$key'", Names.cannotBeUsed(text, reason)),
      identity
    ))

  private def fail(where: String, reason: String): Nothing = throw Errors.metadataInvalid(where, reason)
}
