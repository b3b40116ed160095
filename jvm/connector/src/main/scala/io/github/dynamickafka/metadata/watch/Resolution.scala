package io.github.dynamickafka.metadata.watch

import java.util.Locale

import scala.collection.immutable.{SortedMap, SortedSet, TreeMap}
import scala.jdk.CollectionConverters._

import io.github.dynamickafka.config.{OffsetsParser, Subscription}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.kafka.KafkaProperties
import io.github.dynamickafka.metadata._
import io.github.dynamickafka.metadata.document.{DocumentFormat, DocumentParts, Names}
import io.github.dynamickafka.option.{ClusterKeys, Suggestions}

/**
 * Resolves a subscription and the answer of the metadata service to a topology. Pure, except for the calls of `active`.
 *
 * Validates the answer of any service, so that all other code can rely on a topology being valid.
 */
private[dynamickafka] object Resolution {

  /**
   * The topology of a query that reads.
   *
   * @param streams the answer of the service, by stream id; streams that are not subscribed are ignored
   * @param active called once for each cluster of the subscribed streams that is not removed; inactive clusters are
   *               treated as removed, so that a topology without clusters is possible
   * @param others ids of streams that the service has, called only if one is missing, to suggest another one
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException METADATA_INVALID
   */
  def resolve(
      subscription: Subscription,
      allowMissingStreams: Boolean,
      streams: Map[String, KafkaStream],
      active: String => Boolean,
      others: () => Iterable[String] = () => Nil
  ): Topology = {
    streams.toSeq.sortBy(_._1).collectFirst {
      case (id, stream) if stream != null && stream.invalid.isDefined && subscription.includes(id) =>
        throw stream.invalid.get
    }
    val unless = ", unless 'allowMissingStreams' is 'true'"
    val subscribed = select(subscription, allowMissingStreams, streams, others, unless)
    val entries = subscribed.flatMap(AnswerCheck.entries)
    val byCluster = entries.groupBy(_.cluster).to(TreeMap)
    val clusters = byCluster.map { case (id, ofCluster) =>
      val properties = AnswerCheck.sameProperties(ofCluster)
      val read = ofCluster.filterNot(_.removed)
      id -> TopologyCluster(
        id,
        topics(read),
        properties,
        read.flatMap(e => e.named.pattern.map(TopologyPattern(_, e.each.copy(matched = true)))),
        replaces = read.flatMap(_.replaces).headOption
      )
    }.filter { case (_, cluster) => cluster.topics.nonEmpty || cluster.patterns.nonEmpty }
    // Called only after the rest is validated, because it may be a remote call.
    val found = clusters.filter { case (id, _) => active(id) }
    Topology(
      found,
      byCluster.flatMap { case (id, removals) => removal(removals, all = !found.contains(id)).map(id -> _) },
      histories = TreeMap.from(subscribed.flatMap(s => AnswerCheck.history(s).map(s.streamId -> _)))
    )
  }

  /**
   * The topology of a query that writes, with the order of the metadata.
   *
   * @param active called once for each cluster; an inactive one takes no writes
   */
  def forWriting(
      subscription: Subscription,
      streams: Map[String, KafkaStream],
      active: String => Boolean,
      others: () => Iterable[String] = () => Nil
  ): Topology = {
    if (streams.isEmpty && subscription.isInstanceOf[Subscription.Pattern])
      throw Errors.metadataInvalid(
        "the return value of getAllStreams",
        "the service returned no stream"
      )
    val found = select(subscription, subscription.isInstanceOf[Subscription.Pattern], streams, others, "")
      .map(stream => stream.streamId -> AnswerCheck.entries(stream))
    val clusters = found.flatMap(_._2).groupBy(_.cluster).to(TreeMap).map { case (id, entries) =>
      id -> TopologyCluster(id, TreeMap.empty, AnswerCheck.sameProperties(entries))
    }
    val inactive = clusters.keySet.filterNot(active)
    Topology(
      clusters,
      streams = TreeMap.from(found.map { case (id, entries) =>
        id -> WriteStream(
          id,
          entries.map(_.named).map(e =>
            e.copy(closed = e.closed.orElse(Option.when(inactive(e.cluster))(Inactive)))
          )
        )
      })
    )
  }

  private val Inactive = "it is not active according to the metadata service"

  private def removal(entries: Seq[AnswerCheck.Entry], all: Boolean): Option[Removal] = {
    val removed = entries.filter(_.removed)
    if (all) Some(Removal.OfCluster)
    else Option.when(removed.nonEmpty)(
      Removal(SortedSet.from(removed.flatMap(_.named.topics.keys)), removed.flatMap(_.named.pattern).toSet)
    )
  }

  /**
   * The subscribed streams, sorted by id.
   *
   * @param unless when it is no failure of the service that one is missing, for errors
   */
  private def select(
      subscription: Subscription,
      allowMissingStreams: Boolean,
      streams: Map[String, KafkaStream],
      others: () => Iterable[String],
      unless: String
  ): Seq[KafkaStream] = {
    val wanted = subscription match {
      case Subscription.Ids(ids) => ids.distinct
      case pattern => streams.keys.filter(pattern.includes).toSeq
    }
    val found = wanted.sorted.flatMap(id => streams.get(id).map(AnswerCheck.stream(id, _)))
    val (filled, empty) = found.partition(!_.getClusterMetadataMap.isEmpty)
    def refuse(where: String, reason: String) = throw Errors.metadataInvalid(
      where,
      s"$reason This counts as a failure of the service, not as a removal$unless"
    )
    if (!allowMissingStreams) {
      wanted.sorted.find(!streams.contains(_)).foreach(id =>
        refuse(s"stream '$id'", s"the metadata do not have it.${suggestion(id, others())}")
      )
      empty.headOption.foreach(stream => refuse(s"stream '${stream.streamId}'", "it has no cluster."))
      if (found.isEmpty) refuse(
        subscription match {
          case Subscription.Ids(_) => "streamIds"
          case Subscription.Pattern(regex) => s"streamPattern '$regex'"
        },
        if (streams.isEmpty) "the service returned no stream." else "the pattern matches no whole stream id."
      )
    }
    filled
  }

  private def topics(entries: Seq[AnswerCheck.Entry]): SortedMap[String, TopologyTopic] = {
    val named =
      for (e <- entries; (name, some) <- e.named.topics)
        yield name -> e.each.copy(partitions = some.map(SortedSet.from(_)))
    TopologyTopic.byName(named)
  }

  /** A sentence with the closest id, else with the first ids that there are; empty if there is none. */
  private def suggestion(id: String, others: Iterable[String]): String = {
    val known = others.toSeq.filter(_ != id).distinct.sorted
    Suggestions.closest(id, known).map(Errors.meant).getOrElse {
      val shown = known.take(MostShown).map(other => s"'$other'").mkString(", ")
      val more = if (known.size > MostShown) s" and ${known.size - MostShown} others" else ""
      if (known.isEmpty) "" else s" The streams of the service are $shown$more."
    }
  }

  private val MostShown = 10
}

/**
 * Validates the answer of any metadata service. Fails with METADATA_INVALID, which names the stream and the cluster.
 */
private[dynamickafka] object AnswerCheck {

  /**
   * The validated metadata of one stream on one cluster.
   *
   * @param named the topics, and whether they take writes
   * @param each what it says about each of the topics
   */
  final case class Entry(
      named: WriteEntry,
      each: TopologyTopic,
      properties: Map[String, String],
      removed: Boolean,
      replaces: Option[String]
  ) {
    def stream: String = each.stream
    def cluster: String = named.cluster
  }

  /** Checks the stream that the answer contains under this id. */
  def stream(id: String, stream: KafkaStream): KafkaStream = {
    if (stream == null) fail(s"stream '$id'", "it is null")
    if (stream.streamId != id)
      fail(s"stream '$id'", s"the answer contains stream '${stream.streamId}' under this id")
    stream
  }

  def entries(stream: KafkaStream): Seq[Entry] = {
    val all = stream.entries.map { case (id, cluster) =>
      if (cluster == null) fail(s"stream '${stream.streamId}', cluster '$id'", "it is null")
      entry(stream.streamId, id, cluster, registry(stream, id, cluster))
    }
    for (entry <- all.filterNot(_.removed); former <- entry.replaces)
      if (all.exists(other => other.cluster == former && !other.removed && !other.each.draining))
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
    Option(history.cluster).foreach(clusterId(s"$where, key 'cluster'", _))
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
    clusterId(where, id)
    val properties = cluster.properties
    if (properties.getOrElse(DocumentParts.Bootstrap, "").isBlank)
      fail(s"$where, key '${DocumentParts.Bootstrap}'", "it is missing or blank")
    KafkaProperties.problems(properties).headOption.foreach { case (name, reason) =>
      fail(s"$where, property '$name'", reason)
    }
    val named = topics(where, cluster)
    Names.badState(cluster.state).foreach(fail(s"$where, key 'state'", _))
    val closed =
      if (cluster.write) Closed.get(cluster.state) else Some("'write' is false in the metadata")
    Entry(
      WriteEntry(id, named, Option(cluster.topicPattern), closed, registry),
      TopologyTopic(
        stream,
        cluster.state == ClusterMetadata.Draining,
        offsets(where, "starting_offsets", cluster.startingOffsets, OffsetsParser.starting(_)),
        offsets(where, "stopping_offsets", cluster.stoppingOffsets, OffsetsParser.ending(_)),
        registry = registry
      ),
      properties,
      cluster.state == ClusterMetadata.Removed,
      Option(cluster.replaces).map(clusterId(s"$where, key 'replaces'", _))
    )
  }

  /** Why there are no writes, by state. */
  private val Closed = Map(
    ClusterMetadata.Draining -> "it is draining",
    ClusterMetadata.Removed -> "its state in the metadata is 'removed'"
  )

  private def clusterId(where: String, id: String): String =
    if (ClusterKeys.isClusterId(id)) id else fail(where, s"the cluster id is invalid: ${ClusterKeys.Rule}")

  private def topics(where: String, cluster: ClusterMetadata): SortedMap[String, Option[IndexedSeq[Int]]] = {
    val (all, some) = (cluster.topics, cluster.partitions)
    val ways = Seq(
      "topics" -> all.nonEmpty,
      "topic_pattern" -> (cluster.topicPattern != null),
      "partitions" -> some.nonEmpty
    ).collect { case (name, true) => name }
    val rule = "exactly one of 'topics', 'topic_pattern' and 'partitions' is required"
    if (ways.isEmpty) fail(s"$where, key 'topics'", s"it contains no topic; $rule")
    if (ways.size > 1)
      fail(s"$where, key '${ways(1)}'", s"it is specified together with '${ways.head}'; $rule")
    cluster.named.flatMap(Names.badTopic).headOption.foreach(fail(s"$where, key '${ways.head}'", _))
    some.find { case (_, numbers) => numbers.isEmpty || numbers.head < 0 }.foreach { case (topic, numbers) =>
      fail(
        s"$where, key 'partitions'",
        s"topic '$topic' must have partition numbers of at least 0, but has ${numbers.mkString("[", ", ", "]")}"
      )
    }
    Option(cluster.topicPattern).flatMap(Names.badPattern).foreach(fail(s"$where, key 'topic_pattern'", _))
    SortedMap.from(all.map(_ -> None) ++ some.map { case (topic, numbers) => topic -> Some(numbers) })
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
