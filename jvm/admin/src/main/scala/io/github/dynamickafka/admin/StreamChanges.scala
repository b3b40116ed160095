package io.github.dynamickafka.admin

import io.github.dynamickafka.base.Redaction
import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaStream}

/**
 * One change of the metadata that queries notice. Secret values of properties are redacted.
 *
 * @param what the kind of thing: `cluster`, `property`, `stream`, `cluster of stream`, `topic`, `partitions`, `pattern`, `state`,
 *             `write` or `offsets`
 * @param how `enters`, `leaves`, `changes`, and others of a state and of writes
 * @param name of the topic or the property, or the key of the offsets or the pattern
 */
private[admin] final case class StreamChange(
    what: String,
    how: String,
    stream: Option[String],
    cluster: Option[String],
    name: Option[String] = None,
    old: Option[String] = None,
    now: Option[String] = None
) {
  import StreamChange._

  def fields: Seq[(String, Option[String])] = Seq(
    "what" -> Some(what),
    "how" -> Some(how),
    "stream" -> stream,
    "cluster" -> cluster,
    "name" -> name,
    "old" -> old,
    "new" -> now
  )

  def text: String = {
    val place = stream.map(s => s"stream $s") ++ cluster.map(c => s"cluster $c") ++
      name.map(n => if (Keys(what)) n else s"$what $n")
    val sign = Map(Enters -> "+", Leaves -> "-").getOrElse(how, "~")
    val line = s"$sign ${place.mkString(", ")} $how"
    if (!Keys(what) && what != "property" && what != "partitions") line
    else if (how == Changes) s"$line: ${old.getOrElse("none")} -> ${now.getOrElse("none")}"
    else s"$line: ${(old ++ now).mkString}"
  }
}

private[admin] object StreamChange {
  val Columns = "what STRING, how STRING, stream STRING, cluster STRING, name STRING, old STRING, new STRING"

  private type Streams = Map[String, KafkaStream]
  private val Enters = "enters"
  private val Leaves = "leaves"
  private val Changes = "changes"
  private val Keys = Set("offsets", "pattern")
  private val States = Map(
    ClusterMetadata.Draining -> "drains",
    ClusterMetadata.Removed -> "is removed",
    ClusterMetadata.Active -> "is active again"
  )

  /** Changes of clusters, then of streams, sorted by id. Clusters without a stream do not count. */
  def all(old: Seq[KafkaStream], now: Seq[KafkaStream]): Seq[StreamChange] = {
    def byId(streams: Seq[KafkaStream]): Streams = streams.map(s => s.streamId -> s).toMap
    clusters(properties(old), properties(now)) ++ streams(byId(old), byId(now))
  }

  /** The properties by cluster, of the first stream that names the cluster. */
  private def properties(streams: Seq[KafkaStream]): Map[String, Map[String, String]] =
    streams.sortBy(_.streamId).reverse.flatMap(_.entries).map { case (id, entry) =>
      id -> entry.properties
    }.toMap

  /** What enters or leaves, and what both have, by names in order. */
  private def compare[A](
      old: Map[String, A],
      now: Map[String, A]
  )(moved: (String, String) => Seq[StreamChange])(
      both: (String, A, A) => Seq[StreamChange]
  ): Seq[StreamChange] = (old.keySet ++ now.keySet).toSeq.sorted.flatMap { name =>
    (old.get(name), now.get(name)) match {
      case (Some(before), Some(after)) => both(name, before, after)
      case (before, _) => moved(name, if (before.isEmpty) Enters else Leaves)
    }
  }

  private def clusters(
      old: Map[String, Map[String, String]],
      now: Map[String, Map[String, String]]
  ): Seq[StreamChange] =
    compare(old, now)((id, how) => Seq(StreamChange("cluster", how, None, Some(id)))) { (id, before, after) =>
      def property(name: String, how: String) = {
        val Seq(was, is) = Seq(before, after).map(_.get(name).map(shown(name, _)))
        Seq(StreamChange("property", how, None, Some(id), Some(name), was, is))
      }
      compare(before, after)(property)((name, was, is) => if (was == is) Nil else property(name, Changes))
    }

  /** The value of a property, if it may be printed. */
  def shown(name: String, value: String): String =
    if (Redaction.isSafe(name, value)) value else Redaction.Redacted

  private def streams(old: Streams, now: Streams): Seq[StreamChange] =
    (old.keySet ++ now.keySet).toSeq.sorted.flatMap { id =>
      val moved =
        if (old.contains(id) && now.contains(id)) Nil
        else Seq(StreamChange("stream", if (now.contains(id)) Enters else Leaves, Some(id), None))
      def of(streams: Streams) = streams.get(id).fold(Map.empty[String, ClusterMetadata])(_.entries.toMap)
      moved ++ compare(of(old), of(now))((cluster, how) =>
        Seq(StreamChange("cluster of stream", how, Some(id), Some(cluster)))
      )(entry(id, _, _, _))
    }

  private def entry(
      stream: String,
      cluster: String,
      old: ClusterMetadata,
      now: ClusterMetadata
  ): Seq[StreamChange] = {
    def change(what: String, how: String, name: Option[String], was: Option[String], is: Option[String]) =
      StreamChange(what, how, Some(stream), Some(cluster), name, was, is)
    def ifOther(what: String, how: String, name: Option[String])(value: ClusterMetadata => String) =
      Option.unless(value(old) == value(now))(
        change(what, how, name, Option(value(old)), Option(value(now)))
      ).toSeq
    ifOther("state", States(now.state), None)(_.state) ++
      ifOther("write", if (now.write) "takes writes again" else "takes no writes", None)(_.write.toString) ++
      compare(topics(old), topics(now))((topic, how) => Seq(change("topic", how, Some(topic), None, None)))(
        (topic, was, is) =>
          if (was == is) Nil else Seq(change("partitions", Changes, Some(topic), Some(was), Some(is)))
      ) ++
      ifOther("pattern", Changes, Some("topic_pattern"))(_.topicPattern) ++
      ifOther("offsets", Changes, Some("starting_offsets"))(_.startingOffsets) ++
      ifOther("offsets", Changes, Some("stopping_offsets"))(_.stoppingOffsets)
  }

  private def topics(entry: ClusterMetadata): Map[String, String] =
    entry.topics.map(_ -> "all").toMap ++
      entry.partitions.map { case (topic, numbers) => topic -> numbers.mkString(", ") }
}
