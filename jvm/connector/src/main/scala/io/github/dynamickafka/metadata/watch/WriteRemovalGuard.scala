package io.github.dynamickafka.metadata.watch

import org.slf4j.LoggerFactory

import io.github.dynamickafka.topology.{WriteCluster, WriteEntry, WriteStream, WriteTopology}

/**
 * Guards a query that writes against incomplete answers, as [[RemovalGuard]] guards one that reads: what an answer lacks takes
 * writes until the next answers lack it too. Otherwise a cluster could lack the records of a batch for good. What is listed and
 * takes no writes is left out at once.
 *
 * @param name the name of the service, for logs
 * @param confirmations the number of consecutive answers that have to lack something
 * @param earlier the clusters that an earlier run wrote to
 */
private[dynamickafka] final class WriteRemovalGuard(
    name: String,
    confirmations: Int,
    earlier: Set[String] = Set.empty
) extends Guard[WriteTopology] {
  import WriteRemovalGuard._

  private val log = LoggerFactory.getLogger(classOf[WriteRemovalGuard])
  private var used: Option[WriteTopology] = None

  /** In how many consecutive answers each of them was missing. */
  private var missing = Map.empty[Missing, Int]
  private var expected = earlier

  override def begin(before: WriteTopology): Unit = used = Some(before)

  override def apply(answer: WriteTopology): Guarded[WriteTopology] = {
    val before = used.getOrElse(answer)
    val counted = lacks(before, answer).map(what => what -> (missing.getOrElse(what, 0) + 1))
    val open = counted.filter { case (_, times) => times < confirmations }
    open.foreach { case (what, times) =>
      if (!missing.contains(what)) log.warn(
        s"The answer of metadata service '$name' lacks $what, which takes writes until the next " +
          s"${confirmations - times} answers lack it too"
      )
    }
    missing = open.toMap
    if (open.isEmpty) expected = Set.empty
    val topology = open.foldLeft(answer) { case (all, (what, _)) => what.keep(before, all) }
    used = Some(topology)
    Guarded(topology, open.nonEmpty)
  }

  private def lacks(before: WriteTopology, answer: WriteTopology): Seq[Missing] = {
    val ofEarlier = (expected -- before.clusters.keySet -- answer.clusters.keySet).toSeq.sorted
    before.streams.values.toSeq.flatMap { old =>
      answer.streams.get(old.id).fold[Seq[Missing]](Seq(OfStream(old.id)))(inStream(before, old, answer, _))
    } ++ ofEarlier.map(OfEarlier(_))
  }
}

private[dynamickafka] object WriteRemovalGuard {

  /** What an answer lacks that the query writes to. */
  private sealed trait Missing extends Product with Serializable {

    /** The topology with it, as it was before. */
    def keep(before: WriteTopology, answer: WriteTopology): WriteTopology
  }

  private final case class OfStream(id: String) extends Missing {
    override def keep(before: WriteTopology, answer: WriteTopology): WriteTopology = {
      val stream = before.streams(id)
      answer.copy(
        streams = answer.streams + (id -> stream),
        clusters = stream.clusters.foldLeft(answer.clusters)((all, e) => withCluster(all, before, e.cluster))
      )
    }
    override def toString: String = s"stream '$id'"
  }

  private final case class OfCluster(stream: String, cluster: String) extends Missing {
    override def keep(before: WriteTopology, answer: WriteTopology): WriteTopology = {
      val old = before.streams(stream).clusters
      val at = old.indexWhere(_.cluster == cluster)
      val now = answer.streams(stream)
      // The first cluster stays the first one.
      val (left, right) = now.clusters.splitAt(at)
      answer.copy(
        streams = answer.streams + (stream -> now.copy(clusters = left ++ (old(at) +: right))),
        clusters = withCluster(answer.clusters, before, cluster)
      )
    }
    override def toString: String = s"cluster '$cluster' of stream '$stream'"
  }

  private final case class OfTopics(stream: String, cluster: String) extends Missing {
    override def keep(before: WriteTopology, answer: WriteTopology): WriteTopology = {
      val old = before.streams(stream).entry(cluster).get
      val now = answer.streams(stream)
      val clusters = now.clusters.map(e =>
        if (e.cluster == cluster) e.copy(topics = old.topics ++ e.topics, pattern = old.pattern) else e
      )
      answer.copy(streams = answer.streams + (stream -> now.copy(clusters = clusters)))
    }
    override def toString: String = s"topics of cluster '$cluster' of stream '$stream'"
  }

  /** Of which nothing else is known. */
  private final case class OfEarlier(cluster: String) extends Missing {
    override def keep(before: WriteTopology, answer: WriteTopology): WriteTopology = answer
    override def toString: String = s"cluster '$cluster', which an earlier run has written to"
  }

  private def inStream(
      before: WriteTopology,
      old: WriteStream,
      answer: WriteTopology,
      now: WriteStream
  ): Seq[Missing] = {
    val added = now.clusters.map(_.cluster).filter(old.entry(_).isEmpty).flatMap(answer.clusters.get)
    old.clusters.flatMap { entry =>
      now.entry(entry.cluster) match {
        case Some(of) => Option.when(isPart(entry, of))(OfTopics(old.id, entry.cluster))
        // With two ids, the same Kafka cluster could get records twice.
        case None =>
          Option.unless(added.exists(isSame(before.clusters(entry.cluster), _)))(OfCluster(
            old.id,
            entry.cluster
          ))
      }
    }
  }

  /** Whether topics are missing and no others are there instead. */
  private def isPart(old: WriteEntry, now: WriteEntry): Boolean =
    (now.topics.keySet.subsetOf(old.topics.keySet) && (now.pattern == old.pattern || now.pattern.isEmpty)) &&
      (now.topics.size < old.topics.size || now.pattern != old.pattern)

  /** Whether the id was renamed. */
  private def isSame(old: WriteCluster, now: WriteCluster): Boolean =
    (servers(old) & servers(now)).nonEmpty

  private def servers(of: WriteCluster): Set[String] =
    of.properties.getOrElse("bootstrap.servers", "").split(',').map(_.trim).filter(_.nonEmpty).toSet

  private def withCluster(
      all: scala.collection.immutable.SortedMap[String, WriteCluster],
      before: WriteTopology,
      id: String
  ) = if (all.contains(id)) all else all + (id -> before.clusters(id))
}
