package io.github.dynamickafka.source.simulation

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.metadata.{OffsetsPolicy, ReplacedClusterPolicy}
import io.github.dynamickafka.offset._
import io.github.dynamickafka.offset.replacement.SameOffsets.{Answer, Question}
import io.github.dynamickafka.offset.replacement._
import io.github.dynamickafka.source.cluster.{ClusterConfig, ClusterReads}
import io.github.dynamickafka.source.trigger.{DecidedReplacements, ReadBefore, ReplacedClusters, Replacements}

/**
 * Where a query continues in clusters that take the place of others, by the code of the product: only the reads of single records and of
 * checkpoints of MirrorMaker are those of the model.
 *
 * @param entry where topics enter that no cluster had before
 */
private[simulation] final class ModelReplacements(
    copied: CopiedWorld,
    policy: ReplacedClusterPolicy,
    entry: OffsetsPolicy
) {
  import copied.world
  private var read = RecordsRead.none
  private var lastLoggedMs = 0L
  private var entered = Set.empty[(String, Int)]

  /** Records that the query need not deliver, because it has entered behind them. */
  var excused = Set.empty[Long]
  var wrongStarts = Vector.empty[String]

  private val before = new ReadBefore {
    override def of(id: String, positions: Positions): Map[(String, Int), LastRecord] = read.of(id, positions)
    override def continued(former: String, id: String, positions: Positions): Unit = ()
    override def lastBatchMs: Long = lastLoggedMs
  }

  private val clusters = new ClusterReads {
    override def read[A](reads: Map[String, ClusterConfig => A]): Map[String, Option[(Set[String], A)]] =
      reads.map { case (id, read) =>
        id -> Option.unless(world.down(id)) {
          asked = id
          // The model needs no client.
          (Set(world.clusters(id).id), read(null))
        }
      }
  }
  private var asked = ""
  private var continuing = Seq.empty[(ReplacedCluster, Positions)]
  private var first = Option.empty[String]
  private var current = Option.empty[String]

  /** The batches after which another Kafka cluster is read. */
  var eras = Vector.empty[Int]

  private val clock = new Clock {
    override def currentTimeMillis(): Long = world.now
    // Failovers of a history follow each other too fast for one address.
    override def nanoTime(): Long = world.now * 1000000L * 1000L
    override def pauseMs(ms: Long): Unit = ()
  }

  private val replaced = new ReplacedClusters(
    policy,
    new Replacements(
      policy,
      (_, questions) => recordsAt(questions),
      (_, topic, question) => checkpoints(topic, question)
    ),
    before,
    clusters,
    clock
  )

  def decide(
      start: CompositeOffset,
      transition: Transition,
      views: Map[String, ClusterView],
      next: NextOffset
  ): Option[DecidedReplacements] = {
    continuing = next.replaced.map(c => c -> c.positions(start))
    replaced.decide(start, transition, views, next)
  }

  /** The clusters of a logged batch whose records are looked for in another Kafka cluster. */
  def elsewhere(end: CompositeOffset, ids: Iterable[String]): Set[String] = {
    val others = ids.filter(id =>
      !world.down(id) && ClusterIdentity.differ(end.identity(id).kafkaId, Some(world.clusters(id).id))
    ).toSet
    policy match {
      case ReplacedClusterPolicy.Fail if others.nonEmpty =>
        throw new ModelReplacements.Refused("a logged batch of the former cluster")
      case ReplacedClusterPolicy.Fail | ReplacedClusterPolicy.Earliest | ReplacedClusterPolicy.Latest =>
        Set.empty
      case _ => others
    }
  }

  /** A logged batch is completed without these records of the former cluster, which the query declares as lost. */
  def givenUp(logged: ClusterIdentity, range: OffsetRange): Unit =
    excused ++= logged.kafkaId.toSeq.flatMap(copied.readOf(_, range))

  private def hasRead(topic: String, partition: Int) =
    read.partitions.keysIterator.exists(key => key.topic == topic && key.partition == partition)

  /** The query starts at these positions. */
  def started(positions: Positions): Unit =
    entered ++= positions.iterator.map { case (name, p, _) => (name, p) }

  def planned(batch: Int, end: CompositeOffset): Unit = {
    val compared = continuing.map { case (c, positions) => c.cluster -> read.of(c.former, positions) }.toMap
    if (policy == ReplacedClusterPolicy.SameOffsets)
      for (
        (c, positions) <- continuing
        if c.former != c.cluster && end.identity(c.cluster).kafkaId.contains(c.found)
      )
        read = read.continued(c.former, c.cluster, positions)
    continuing = Nil
    val now = end.clusters.keys.flatMap(end.identity(_).kafkaId).headOption
    if (now.exists(id => !current.contains(id))) {
      eras :+= batch - 1
      current = now
    }
    lastLoggedMs = world.now
    val before = entered
    for (
      (id, positions) <- end.entered; (name, p, at) <- positions.iterator; topic <- world.topic(id, name)
    ) {
      val log = topic.logs(p)
      if (!before((name, p))) {
        entered += ((name, p))
        if (entry == OffsetsPolicy.Latest) {
          excused ++= log.read(0L, at)
          if (at < log.end) wrongStarts :+= s"$id $name-$p enters at $at instead of ${log.end}"
        } else if (at > log.first) wrongStarts :+= s"$id $name-$p enters at $at instead of ${log.first}"
      } else if (policy == ReplacedClusterPolicy.Latest) excused ++= log.read(0L, at)
      // Nothing tells the records behind the one that is compared from those of the former log (docs/limits.md).
      else if (policy == ReplacedClusterPolicy.SameOffsets) {
        val known = compared.get(id).flatMap(_.get((name, p)))
        if (compared.contains(id) || !hasRead(name, p)) excused ++= log.read(known.fold(0L)(_.offset + 1), at)
      }
    }
    if (policy == ReplacedClusterPolicy.Fail)
      end.identities.values.flatMap(_.kafkaId).foreach { id =>
        first = first.orElse(Some(id))
        if (!first.contains(id)) wrongStarts :+= s"reads Kafka $id, although it has replaced another one"
      }
  }

  def finished(reached: CompositeOffset): Unit = read = read.after(
    reached,
    key =>
      for {
        topic <- world.topic(key.cluster, key.topic)
        at <- reached.position(key.cluster).get(key.topic, key.partition)
        if reached.identity(key.cluster).topics.get(key.topic).contains(topic.id)
        record <- topic.logs(key.partition).read(at - 1, at).headOption if at > 0
        // As DynamicMicroBatchStream: nothing is recognized by a record without a time.
        time = world.timeOf(record) if time >= 0
      } yield LastRecord(at - 1, time)
  )

  private def recordsAt(questions: Map[(String, Int), Question]): Map[(String, Int), Answer] =
    questions.map { case (key @ (name, p), question) =>
      val log = world.topic(asked, name).get.logs(p)
      def from(offset: Long) = log.read(offset, log.end).headOption
        .map(record => LastRecord(math.max(offset, log.first), world.timeOf(record)))
      val first = from(question.record)
      val there = first.filter(_.offset == question.record)
      key -> Answer(there, if (there.isDefined) None else from(math.max(question.record, question.position)))
    }

  private def checkpoints(from: String, question: MirrorTranslation): Either[String, MirrorTranslation] = {
    val there =
      copied.checkpoints.collect { case (alias, of) if s"$alias.checkpoints.internal" == from => of }
    Right(there.foldLeft(question) { case (all, MirrorCheckpoint(topic, p, up, down)) =>
      val key = ByteBuffer.allocate(100)
      Seq(ModelReplacements.Group, topic).foreach(s => key.putShort(s.length.toShort).put(s.getBytes(UTF_8)))
      key.putInt(p)
      val value = ByteBuffer.allocate(18).putShort(0).putLong(up).putLong(down)
      all.add(key.array.take(key.position()), value.array)
    })
  }
}

private[simulation] object ModelReplacements {
  val Group = "g"

  /** The query fails with `CLUSTER_REPLACED`. */
  final class Refused(what: String) extends RuntimeException(what)
}
