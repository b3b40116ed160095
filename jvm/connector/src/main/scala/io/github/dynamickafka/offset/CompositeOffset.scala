package io.github.dynamickafka.offset

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import java.util.HexFormat

import scala.collection.immutable.SortedMap

import org.apache.spark.sql.connector.read.streaming.Offset

/**
 * The positions in all clusters, which Spark writes to its offset log. The start and end offsets of a batch contain
 * everything that is required to plan the batch again.
 *
 * A position is the next offset to read, which is 1 + the last offset that was read, as in Spark's Kafka source.
 *
 * @param clusters the current positions by cluster id
 * @param entered positions at which partitions enter in the batch that ends here (or return, or are reset after lost
 *                records). They take precedence over the start offset of the batch
 * @param retained positions of clusters and topics that have left the topology, and of partitions that Kafka no longer has
 * @param until up to where topics are read
 * @param identities what Kafka calls the clusters and the topics in `clusters`
 * @param earlier what entered in batches before, as far as Spark may not have logged them, oldest first
 * @param history the number of files of histories that are read, by stream; empty if there is no history, or once Kafka is read
 */
private[dynamickafka] final case class CompositeOffset(
    clusters: SortedMap[String, Positions],
    entered: SortedMap[String, Positions] = SortedMap.empty,
    retained: SortedMap[String, Retained] = SortedMap.empty,
    until: ReadUntil = ReadUntil.none,
    identities: SortedMap[String, ClusterIdentity] = SortedMap.empty,
    earlier: Vector[EarlierEntries] = Vector.empty,
    history: SortedMap[String, Long] = SortedMap.empty
) extends Offset {

  // Set before the offset is passed on, and never changed.
  private var logged: Option[String] = None

  /**
   * Canonical, so that equal offsets have equal text, because Spark compares offsets by their text. An offset that was
   * read keeps its text: the commands write some, and another JDK may pack others. Returned unchanged, it must not look like a new one.
   */
  override lazy val json: String = logged.getOrElse(CompositeOffsetJson.write(this))

  /** This offset, as it was read from a log. */
  private[offset] def withText(text: String): CompositeOffset = {
    val same = copy()
    same.logged = Some(text)
    same
  }

  /** The digest of the text, which is what Spark logs. */
  lazy val digest: String =
    HexFormat.of.formatHex(MessageDigest.getInstance("SHA-256").digest(json.getBytes(UTF_8)))

  def draining: SortedMap[String, Positions] = until.draining

  def ends: StoppingOffsets.ByCluster = until.ends

  def position(cluster: String): Positions = clusters.getOrElse(cluster, Positions.empty)

  def identity(cluster: String): ClusterIdentity = identities.getOrElse(cluster, ClusterIdentity.unknown)

  /** What enters in the batch that ends here. */
  def entries: Entries = Entries(
    entered,
    identities.collect { case (id, known) if known.entered.nonEmpty => id -> known.entered }
  )

  /** These positions, as those of a query before its first batch. */
  def withoutEntries: CompositeOffset = copy(
    entered = SortedMap.empty,
    identities = identities.map { case (id, known) => id -> known.copy(entered = Positions.empty) }
      .filterNot(_._2.isEmpty)
  )

  /** What enters in the batches from `start` to this offset. */
  def entriesSince(start: CompositeOffset): Entries =
    earlier.filterNot(start.follows).foldLeft(Entries.none)(_ ++ _.entries) ++ entries

  /**
   * Adds what entered up to `start`, the end of the batch before, so that the batches from `logged` to this offset can be read as one.
   *
   * @param logged an offset up to `start` that Spark has certainly logged
   */
  def carrying(start: CompositeOffset, logged: CompositeOffset): CompositeOffset = {
    val ended = Option.when(start.entered.nonEmpty)(EarlierEntries(start.digest, start.entries))
    def isRead(id: String, topic: String, p: Int) =
      position(id).get(topic, p).isDefined && entries.of(id).get(topic, p).isEmpty
    val before = (start.earlier ++ ended).filterNot(logged.follows)
    copy(earlier = before.map(e => e.copy(entries = e.entries.filter(isRead))).filterNot(_.entries.isEmpty))
  }

  /** Whether the positions here already follow from these entries. */
  private def follows(before: EarlierEntries): Boolean =
    earlier.exists(_.batch == before.batch) || digest == before.batch

  /**
   * Whether a batch of Kafka from `start` to this offset would read nothing and change no persistent state. That it ends a history is
   * no reason for a batch.
   */
  def sameAs(start: CompositeOffset): Boolean =
    entered.isEmpty && clusters == start.clusters && retained == start.retained &&
      until == start.until && hasNamesOf(start) && start.hasNamesOf(this)

  /** Compares ids, without leader epochs: an election changes no position, so it starts no batch. */
  private def hasNamesOf(other: CompositeOffset): Boolean =
    identities.forall { case (id, identity) => identity.hasNamesOf(other.identity(id)) }

  /** The offset with another Kafka cluster under this id. Of the former one, only the positions of what is read are kept. */
  def inKafka(cluster: String, kafkaId: String): CompositeOffset = copy(
    retained = retained - cluster,
    until = ReadUntil(draining - cluster, ends - cluster),
    identities = identities.updated(cluster, ClusterIdentity(Some(kafkaId)))
  )

  /** When a cluster was last read; the greatest number if it is read now, the least if it is not known. */
  def lastRead(cluster: String): Long =
    if (position(cluster).nonEmpty) Long.MaxValue
    else retained.get(cluster).flatMap(_.topics.values.map(_.since).maxOption).getOrElse(Long.MinValue)

  def endsOf(cluster: String): StoppingOffsets.ByTopic =
    ends.getOrElse(cluster, SortedMap.empty[String, TopicEnds])

  // Spark's class compares the text.
  override def equals(other: Any): Boolean = other match {
    case that: CompositeOffset => (this eq that) || parts == that.parts
    case _ => false
  }

  override def hashCode: Int = parts.hashCode

  private def parts = (clusters, entered, retained, until, identities, earlier, history)
}

private[dynamickafka] object CompositeOffset {
  val Version = 2
  val empty: CompositeOffset = CompositeOffset(SortedMap.empty[String, Positions])
}

/**
 * Offsets up to which topics are read, by cluster.
 *
 * @param draining drain targets: those of draining topics
 * @param ends stopping offsets by cluster and topic
 */
private[dynamickafka] final case class ReadUntil(
    draining: SortedMap[String, Positions] = SortedMap.empty,
    ends: StoppingOffsets.ByCluster = StoppingOffsets.none
)

private[dynamickafka] object ReadUntil {
  val none: ReadUntil = ReadUntil()
}

/**
 * What Kafka calls a cluster and its topics. Whatever is not known is absent, and is not compared.
 *
 * @param kafkaId the `cluster.id` of Kafka (KIP-78)
 * @param topics the topic ids (KIP-516) of topics that are read, by name
 * @param epochs the leader epochs of the positions in `clusters`. Such an epoch is one of the leader that had all records
 *               below the position: none of them has a higher one. If another leader has records of a higher epoch below the
 *               position, the log was truncated there (KIP-320)
 * @param entered the leader epochs of the positions in `entered`
 */
private[dynamickafka] final case class ClusterIdentity(
    kafkaId: Option[String] = None,
    topics: SortedMap[String, String] = SortedMap.empty,
    epochs: Positions = Positions.empty,
    entered: Positions = Positions.empty
) {
  def isEmpty: Boolean = kafkaId.isEmpty && topics.isEmpty && epochs.isEmpty && entered.isEmpty

  /** Whether the ids are the same, whatever the leader epochs are. */
  def hasNamesOf(that: ClusterIdentity): Boolean = kafkaId == that.kafkaId && topics == that.topics

  /** Whether a topic is the same in both, as far as it is known. */
  def isOf(that: ClusterIdentity)(topic: String): Boolean =
    !ClusterIdentity.differ(kafkaId, that.kafkaId) &&
      !ClusterIdentity.differ(topics.get(topic), that.topics.get(topic))
}

private[dynamickafka] object ClusterIdentity {
  val unknown: ClusterIdentity = ClusterIdentity()

  /** Whether both are known and differ. */
  def differ(one: Option[String], other: Option[String]): Boolean =
    one.exists(id => other.exists(_ != id))
}

/**
 * The positions of topics of one cluster that have left the topology.
 *
 * @param drained topics that left because they reached their drain target, or whose place another cluster has taken. They are not read
 *                again until they are active, as long as a topic of the cluster is retained, or the metadata list them as draining
 * @param past topics that were read, and whose positions have been dropped, as far as their start position was one for the first
 *             start of the query
 */
private[dynamickafka] final case class Retained(
    topics: SortedMap[String, RetainedTopic],
    drained: Set[String] = Set.empty,
    past: Set[String] = Set.empty
) {
  def positions: Positions = Positions(topics.map { case (topic, kept) => topic -> kept.offsets })

  /** The leader epochs of these positions. */
  def epochs: Positions = Positions(topics.map { case (topic, kept) => topic -> kept.epochs })

  def isEmpty: Boolean = topics.isEmpty && drained.isEmpty && past.isEmpty

  /** These positions as those of a cluster that was replaced, unless they are of an earlier one. */
  def of(cluster: FormerCluster): Retained =
    map((_, of) => of.copy(former = of.former.orElse(Some(cluster))))

  def map(f: (String, RetainedTopic) => RetainedTopic): Retained =
    copy(topics = topics.map { case (topic, kept) => topic -> f(topic, kept) }.filter(_._2.offsets.nonEmpty))

  /** Adds the positions of `that`, whose time and topic id apply where both have a topic. */
  def ++(that: Retained): Retained = Retained(
    that.topics.foldLeft(topics) { case (all, (topic, kept)) =>
      all.updated(topic, all.get(topic).fold(kept)(_ ++ kept))
    },
    drained ++ that.drained,
    past ++ that.past
  )
}

private[dynamickafka] object Retained {
  val empty: Retained = Retained(SortedMap.empty[String, RetainedTopic])

  /** Positions that all leave at the same time. */
  def at(
      since: Long,
      positions: Positions,
      drained: Set[String] = Set.empty,
      ids: String => Option[String] = _ => None,
      epochs: Positions = Positions.empty
  ): Retained =
    Retained(
      positions.byTopic.map { case (topic, offsets) =>
        topic -> RetainedTopic(since, offsets, ids(topic), epochs.at(positions).of(topic))
      },
      drained
    )
}

/**
 * @param since when the last of these partitions left, in epoch milliseconds; the retention time starts here
 * @param id the topic id of Kafka, if it is known
 * @param epochs the leader epochs of these positions, as in [[ClusterIdentity]]
 * @param former the cluster that the positions are of, if it was replaced by the one that retains them
 */
private[dynamickafka] final case class RetainedTopic(
    since: Long,
    offsets: SortedMap[Int, Long],
    id: Option[String] = None,
    epochs: SortedMap[Int, Long] = SortedMap.empty,
    former: Option[FormerCluster] = None
) {

  def only(keep: Int => Boolean): RetainedTopic =
    copy(offsets = offsets.filter(entry => keep(entry._1)), epochs = epochs.filter(entry => keep(entry._1)))

  /**
   * Adds later positions of the same name. Positions of another topic id are dropped: Kafka never uses the id of a
   * deleted topic again.
   */
  def ++(later: RetainedTopic): RetainedTopic =
    if (ClusterIdentity.differ(id, later.id) || former != later.former) later
    else
      RetainedTopic(
        math.max(since, later.since),
        offsets ++ later.offsets,
        later.id.orElse(id),
        (epochs -- later.offsets.keySet) ++ later.epochs,
        former
      )
}

/** A cluster that was replaced: its id, and its `cluster.id` if that is known. */
private[dynamickafka] final case class FormerCluster(id: String, kafkaId: Option[String]) {
  def isIn(view: ClusterView.Reachable): Boolean = kafkaId.isDefined && kafkaId == view.kafkaId
}

/**
 * Where partitions enter (or return, or are reset after lost records), by cluster.
 *
 * @param epochs the leader epochs of these positions, as far as they are known
 */
private[dynamickafka] final case class Entries(
    positions: SortedMap[String, Positions],
    epochs: SortedMap[String, Positions] = SortedMap.empty
) {
  def isEmpty: Boolean = positions.isEmpty
  def of(cluster: String): Positions = positions.getOrElse(cluster, Positions.empty)
  def epochsOf(cluster: String): Positions = epochs.getOrElse(cluster, Positions.empty)

  /** Adds later entries, which take precedence. */
  def ++(later: Entries): Entries = Entries(
    NextOffset.merge(positions, later.positions),
    NextOffset.merge(epochs.map { case (id, known) => id -> (known -- later.of(id)) }, later.epochs)
      .filter(_._2.nonEmpty)
  )

  /** @param keep by cluster, topic and partition */
  def filter(keep: (String, String, Int) => Boolean): Entries = {
    val kept = positions.map { case (id, ofCluster) => id -> ofCluster.filter(keep(id, _, _)) }
    Entries(
      kept.filter(_._2.nonEmpty),
      epochs.map { case (id, known) => id -> known.at(kept.getOrElse(id, Positions.empty)) }
        .filter(_._2.nonEmpty)
    )
  }
}

private[dynamickafka] object Entries {
  val none: Entries = Entries(SortedMap.empty[String, Positions])
}

/**
 * What entered in a batch before the one that ends at the offset that has this.
 *
 * Spark does not log every batch (asynchronous progress tracking): a restart then reads from the end of one logged batch to
 * the end of the next one, and what entered in between has its start position here only.
 *
 * @param batch the digest of the end offset of the batch
 */
private[dynamickafka] final case class EarlierEntries(batch: String, entries: Entries)
