package io.github.dynamickafka.metadata.resolve

import scala.collection.immutable.SortedSet
import scala.jdk.CollectionConverters._

import io.github.dynamickafka.config.option.OffsetsParser
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.document.{DocumentParts, Names}
import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaStream}
import io.github.dynamickafka.topology.OffsetsPolicy

/** Judges what a metadata service answered, whoever wrote it. Fails with METADATA_INVALID, naming stream and cluster. */
private[metadata] object AnswerCheck {

  /**
   * What one stream has on one cluster, checked.
   *
   * @param topics with the partitions that are to be read of each; None: all of them
   * @param write whether the stream is written to this cluster; a topology does not hold it, since reading does
   *              not depend on it
   */
  final case class Entry(
      stream: String,
      cluster: String,
      topics: Map[String, Option[SortedSet[Int]]],
      pattern: Option[String],
      properties: Map[String, String],
      draining: Boolean,
      starting: Option[OffsetsPolicy],
      stopping: Option[OffsetsPolicy],
      write: Boolean
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
    Entry(
      stream,
      id,
      topics(where, cluster),
      Option(cluster.topicPattern),
      properties,
      draining(where, cluster.state),
      offsets(where, "starting_offsets", cluster.startingOffsets, OffsetsParser.starting(_)),
      offsets(where, "stopping_offsets", cluster.stoppingOffsets, OffsetsParser.ending(_)),
      cluster.write
    )
  }

  private def topics(where: String, cluster: ClusterMetadata): Map[String, Option[SortedSet[Int]]] = {
    val all = cluster.getTopics.asScala.toSeq
    val some = cluster.getPartitions.asScala.toSeq.map { case (topic, numbers) =>
      topic -> SortedSet.from(numbers.asScala.map(_.intValue))
    }
    val ways = Seq(
      "topics" -> all.nonEmpty,
      "topic_pattern" -> (cluster.topicPattern != null),
      "partitions" -> some.nonEmpty
    ).collect { case (name, true) => name }
    val rule = "there is one of 'topics', 'topic_pattern' and 'partitions'"
    if (ways.isEmpty) fail(s"$where, key 'topics'", s"it names no topic; $rule")
    if (ways.size > 1) fail(s"$where, key '${ways(1)}'", s"it is given beside '${ways.head}', and $rule")
    (all ++ some.map(_._1)).find(!Names.isTopic(_)).foreach { bad =>
      fail(s"$where, key '${ways.head}'", s"'$bad' is a bad topic name: ${Names.TopicRule}")
    }
    some.find { case (_, numbers) => numbers.isEmpty || numbers.head < 0 }.foreach { case (topic, numbers) =>
      fail(
        s"$where, key 'partitions'",
        s"topic '$topic' has to name partitions, from 0 on, and has ${numbers.mkString("[", ", ", "]")}"
      )
    }
    Option(cluster.topicPattern).flatMap(Names.badPattern).foreach(fail(s"$where, key 'topic_pattern'", _))
    (all.map(_ -> None) ++ some.map { case (topic, numbers) => topic -> Some(numbers) }).toMap
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
