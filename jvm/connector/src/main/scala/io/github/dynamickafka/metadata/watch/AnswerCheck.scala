package io.github.dynamickafka.metadata.watch

import java.util.Locale

import scala.collection.immutable.SortedSet
import scala.jdk.CollectionConverters._

import io.github.dynamickafka.config.OffsetsParser
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.kafka.KafkaProperties
import io.github.dynamickafka.metadata.document.{DocumentFormat, DocumentParts, Names}
import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaStream, StreamHistory}
import io.github.dynamickafka.topology.{OffsetsPolicy, TopologyHistory}

/**
 * Validates the answer of any metadata service. Fails with METADATA_INVALID, which names the stream and the cluster.
 */
private[metadata] object AnswerCheck {

  /**
   * The validated metadata of one stream on one cluster.
   *
   * @param topics the topics, with the partitions of the stream; None: all partitions
   * @param write whether the stream is written to this cluster; not part of [[Topology]], because reading does not
   *              depend on it
   */
  final case class Entry(
      stream: String,
      cluster: String,
      topics: Map[String, Option[SortedSet[Int]]],
      pattern: Option[String],
      properties: Map[String, String],
      state: String,
      starting: Option[OffsetsPolicy],
      stopping: Option[OffsetsPolicy],
      write: Boolean,
      registry: Map[String, String],
      replaces: Option[String]
  ) {
    def draining: Boolean = state == ClusterMetadata.Draining
    def removed: Boolean = state == ClusterMetadata.Removed
  }

  /** Checks the stream that the answer contains under this id. */
  def stream(id: String, stream: KafkaStream): KafkaStream = {
    if (stream == null) fail(s"stream '$id'", "it is null")
    if (stream.streamId != id)
      fail(s"stream '$id'", s"the answer contains stream '${stream.streamId}' under this id")
    stream
  }

  def entries(stream: KafkaStream): Seq[Entry] = {
    val all = stream.getClusterMetadataMap.asScala.toSeq.map { case (id, cluster) =>
      if (cluster == null) fail(s"stream '${stream.streamId}', cluster '$id'", "it is null")
      entry(stream.streamId, id, cluster, registry(stream, id, cluster))
    }
    for (entry <- all.filterNot(_.removed); former <- entry.replaces)
      if (all.exists(other => other.cluster == former && other.state == ClusterMetadata.Active))
        fail(
          s"stream '${entry.stream}', cluster '${entry.cluster}', key 'replaces'",
          Names.replacesActive(former)
        )
    all
  }

  /** What the metadata says about the registry of a cluster: that of the stream, unless the cluster has one of its own. */
  def registry(stream: KafkaStream, id: String, cluster: ClusterMetadata): Map[String, String] = {
    val own = cluster.getFormatOptions.asScala.toMap
    own.keys.find(!DocumentFormat.isRegistry(_)).foreach(name =>
      fail(s"stream '${stream.streamId}', cluster '$id', format option '$name'", DocumentFormat.OneFormat)
    )
    if (own.nonEmpty) own
    else stream.getFormatOptions.asScala.toMap.filter { case (name, _) => DocumentFormat.isRegistry(name) }
  }

  /** The history of a stream, if it has one. */
  def history(stream: KafkaStream): Option[TopologyHistory] = Option(stream.history).map { history =>
    val where = s"stream '${stream.streamId}', key 'history'"
    Seq("format" -> history.format, "path" -> history.path).foreach { case (key, value) =>
      if (value == null || value.isBlank) fail(s"$where, key '$key'", "it is missing or blank")
    }
    historySecret(history).foreach { case (key, what) =>
      fail(
        s"$where, key '$key'",
        s"$what is or may be a secret, and the checkpoint would contain it: $HadoopRemedy"
      )
    }
    Option(history.cluster).filterNot(Names.isClusterId).foreach(_ =>
      fail(s"$where, key 'cluster'", s"the cluster id is invalid: ${Names.ClusterIdRule}")
    )
    val only =
      Option.when(stream.getClusterMetadataMap.size == 1)(stream.getClusterMetadataMap.keySet.asScala.head)
    TopologyHistory(
      history.format,
      history.path,
      history.getOptions.asScala.toMap,
      Option(history.cluster).orElse(only)
    )
  }

  private val HadoopRemedy = "set it in the Hadoop configuration of the query, 'spark.hadoop.fs.*'"

  /** The key and the name of what may be a secret; never its value. */
  private def historySecret(history: StreamHistory): Option[(String, String)] =
    Option.when(history.path.matches("[^:]+://[^/]*:[^/]*@.*"))("path" -> "the part before '@'").orElse(
      history.getOptions.keySet.asScala.find(_.toLowerCase(Locale.ROOT).matches(SecretOption))
        .map(name => "options" -> s"'$name'")
    )

  private val SecretOption = "fs\\..*|.*(secret|password|passphrase|credential|token|key).*"

  /** The properties of this cluster, which must be the same for all streams. */
  def sameProperties(entries: Seq[Entry]): Map[String, String] = {
    val first = entries.head
    entries.find(_.properties != first.properties).foreach { other =>
      fail(
        s"cluster '${first.cluster}'",
        s"the streams '${first.stream}' and '${other.stream}' specify different properties for it: " +
          Names.differing(first.properties, other.properties).mkString(", ")
      )
    }
    first.properties
  }

  private def entry(
      stream: String,
      id: String,
      cluster: ClusterMetadata,
      registry: Map[String, String]
  ): Entry = {
    val where = s"stream '$stream', cluster '$id'"
    if (!Names.isClusterId(id)) fail(where, s"the cluster id is invalid: ${Names.ClusterIdRule}")
    val properties = cluster.getProperties.asScala.toMap
    if (properties.getOrElse(DocumentParts.Bootstrap, "").isBlank)
      fail(s"$where, key '${DocumentParts.Bootstrap}'", "it is missing or blank")
    KafkaProperties.problems(properties).headOption.foreach { case (name, reason) =>
      fail(s"$where, property '$name'", reason)
    }
    Entry(
      stream,
      id,
      topics(where, cluster),
      Option(cluster.topicPattern),
      properties,
      state(where, cluster.state),
      offsets(where, "starting_offsets", cluster.startingOffsets, OffsetsParser.starting(_)),
      offsets(where, "stopping_offsets", cluster.stoppingOffsets, OffsetsParser.ending(_)),
      cluster.write,
      registry,
      Option(cluster.replaces).map { former =>
        if (!Names.isClusterId(former))
          fail(s"$where, key 'replaces'", s"the cluster id is invalid: ${Names.ClusterIdRule}")
        former
      }
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
    val rule = "exactly one of 'topics', 'topic_pattern' and 'partitions' is required"
    if (ways.isEmpty) fail(s"$where, key 'topics'", s"it contains no topic; $rule")
    if (ways.size > 1)
      fail(s"$where, key '${ways(1)}'", s"it is specified together with '${ways.head}'; $rule")
    (all ++ some.map(_._1)).find(!Names.isTopic(_)).foreach { bad =>
      fail(s"$where, key '${ways.head}'", s"'$bad' is not a valid topic name: ${Names.TopicRule}")
    }
    some.find { case (_, numbers) => numbers.isEmpty || numbers.head < 0 }.foreach { case (topic, numbers) =>
      fail(
        s"$where, key 'partitions'",
        s"topic '$topic' must have partition numbers of at least 0, but has ${numbers.mkString("[", ", ", "]")}"
      )
    }
    Option(cluster.topicPattern).flatMap(Names.badPattern).foreach(fail(s"$where, key 'topic_pattern'", _))
    (all.map(_ -> None) ++ some.map { case (topic, numbers) => topic -> Some(numbers) }).toMap
  }

  private def state(where: String, state: String): String = {
    Names.badState(state).foreach(fail(s"$where, key 'state'", _))
    state
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
