package io.github.dynamickafka.metadata.watch

import scala.collection.immutable.{SortedMap, SortedSet, TreeMap}

import io.github.dynamickafka.config.Subscription
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.KafkaStream
import io.github.dynamickafka.option.Suggestions
import io.github.dynamickafka.topology.{
  Removal,
  Topology,
  TopologyCluster,
  TopologyPattern,
  TopologyTopic,
  WriteEntry,
  WriteStream
}

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
    val subscribed = select(subscription, allowMissingStreams, streams, others, MayBeMissing)
    val entries = subscribed.flatMap(AnswerCheck.entries)
    val byCluster = entries.groupBy(_.cluster).to(TreeMap)
    val clusters = byCluster.map { case (id, ofCluster) =>
      val properties = AnswerCheck.sameProperties(ofCluster)
      val read = ofCluster.filterNot(_.removed)
      id -> TopologyCluster(
        id,
        topics(read),
        properties,
        read.flatMap(e => e.pattern.map(TopologyPattern(_, topic(e, None).copy(matched = true)))),
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
        id -> WriteStream(id, entries.map(written(_, inactive)))
      })
    )
  }

  private def written(e: AnswerCheck.Entry, inactive: String => Boolean) = WriteEntry(
    e.cluster,
    SortedMap.from(e.topics.map { case (topic, some) => topic -> some.map(_.toIndexedSeq) }),
    e.pattern,
    if (!e.write) Some("'write' is false in the metadata")
    else if (e.draining) Some("it is draining")
    else if (e.removed) Some("its state in the metadata is 'removed'")
    else Option.when(inactive(e.cluster))("it is not active according to the metadata service"),
    e.registry
  )

  private def removal(entries: Seq[AnswerCheck.Entry], all: Boolean): Option[Removal] = {
    val removed = entries.filter(_.removed)
    if (all) Some(Removal.OfCluster)
    else Option.when(removed.nonEmpty)(
      Removal(SortedSet.from(removed.flatMap(_.topics.keys)), removed.flatMap(_.pattern).toSet)
    )
  }

  private val MayBeMissing = ", unless 'allowMissingStreams' is 'true'"

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
      case Subscription.Pattern(regex) => streams.keys.filter(regex.matches).toSeq
    }
    val found = wanted.sorted.flatMap(id => streams.get(id).map(AnswerCheck.stream(id, _)))
    val (filled, empty) = found.partition(!_.getClusterMetadataMap.isEmpty)
    if (!allowMissingStreams) {
      wanted.sorted.find(!streams.contains(_)).foreach(id =>
        throw missing(id, s"the answer does not contain it.${StreamNames.suggestion(id, others())}", unless)
      )
      empty.headOption.foreach(stream => throw missing(stream.streamId, "it has no cluster.", unless))
      if (found.isEmpty) throw nothing(subscription, streams.isEmpty, unless)
    }
    filled
  }

  private def topics(entries: Seq[AnswerCheck.Entry]): SortedMap[String, TopologyTopic] = {
    val named = for (e <- entries; (name, partitions) <- e.topics) yield name -> topic(e, partitions)
    named.groupMap(_._1)(_._2).map { case (name, naming) => name -> TopologyTopic.merge(naming) }.to(TreeMap)
  }

  private def topic(entry: AnswerCheck.Entry, partitions: Option[SortedSet[Int]]) =
    TopologyTopic(
      entry.stream,
      entry.draining,
      entry.starting,
      entry.stopping,
      partitions,
      registry = entry.registry
    )

  private def missing(stream: String, reason: String, unless: String) =
    Errors.metadataInvalid(
      s"stream '$stream'",
      s"$reason This counts as a failure of the service, not as a removal$unless"
    )

  private def nothing(subscription: Subscription, emptyAnswer: Boolean, unless: String) = {
    val where = subscription match {
      case Subscription.Ids(_) => "streamIds"
      case Subscription.Pattern(regex) => s"streamPattern '${regex.regex}'"
    }
    val reason =
      if (emptyAnswer) "the service returned no stream" else "the pattern matches no whole stream id"
    Errors.metadataInvalid(
      where,
      s"$reason. This counts as a failure of the service, not as a removal$unless"
    )
  }
}

/** What a text says about the id of a stream that the metadata does not have. */
private[watch] object StreamNames {

  /** A sentence with the closest id, else with the first ids that there are; empty if there is none. */
  def suggestion(id: String, others: Iterable[String]): String = {
    val known = others.toSeq.filter(_ != id).distinct.sorted
    Suggestions.closest(id, known).map(other => s" Did you mean '$other'?").getOrElse {
      val shown = known.take(Shown).map(other => s"'$other'").mkString(", ")
      val more = if (known.size > Shown) s" and ${known.size - Shown} others" else ""
      if (known.isEmpty) "" else s" The streams of the service are $shown$more."
    }
  }

  private val Shown = 10
}
