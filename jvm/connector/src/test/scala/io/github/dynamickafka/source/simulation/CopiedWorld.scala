package io.github.dynamickafka.source.simulation

import scala.collection.immutable.SortedMap
import scala.util.Random

import io.github.dynamickafka.metadata.{Removal, Topology, TopologyCluster, TopologyTopic}
import io.github.dynamickafka.offset.replacement.MirrorCheckpoint
import io.github.dynamickafka.offset.{CompositeOffset, OffsetRange, Positions}

/**
 * A Kafka cluster that is written to, and a copy of it, which takes its place: under the same cluster id, or under another one with
 * `replaces`. The copy has the same offsets or others, gets records and topics later, and is perhaps the former Kafka cluster of an
 * earlier failover. A record is the same number in all copies.
 *
 * @param world what the query sees
 * @param exact whether copies have the same offsets
 * @param retentionMs nothing is absent from the metadata for longer; -1: there is no such limit
 * @param sameId whether a copy gets the cluster id of the one that it replaces
 * @param mirrors whether the query continues by the checkpoints of MirrorMaker
 * @param syncs whether MirrorMaker also writes to a copy what groups have committed, which the copies of the copy translate
 */
private[simulation] final class CopiedWorld(
    val world: World,
    random: Random,
    exact: Boolean,
    sameId: Boolean,
    retentionMs: Long,
    mirrors: Boolean,
    syncs: Boolean
) {
  import CopiedWorld._

  private var count = 0
  private var active = {
    count += 1
    ModelCluster(
      "kafka-1",
      Names.map(name => name -> ModelTopic(s"$name-1", Vector.fill(1 + random.nextInt(2))(ModelLog()))).toMap
    )
  }

  /** What is written to the copy only, once it has taken over, is read from it. */
  private var standby = active
  private var former = active

  /** Up to which offset of the active cluster each log is copied, by topic and partition. */
  private var copiedTo = Map.empty[(String, Int), Long]

  /** Topics that the active cluster does not have yet, although the former one has them. */
  private var late = Set.empty[String]
  private var id = "a"
  private var other = Option.empty[Boolean]
  private var hidden = Set.empty[String]
  private var isAway = false
  private var awaySince = Option.empty[Long]

  /** The checkpoints of MirrorMaker in the active cluster, with the cluster id of the one whose offsets they have. */
  var checkpoints = Vector.empty[(String, MirrorCheckpoint)]
  private var pending = Vector.empty[(String, MirrorCheckpoint)]

  /** The clusters that were active, by Kafka's id. */
  private var seen = Map.empty[String, Was]

  /** Topics that have another log with the same topic id in a cluster that was active. */
  var rewritten = Set.empty[String]

  /** Records of a former cluster that its copy has not got. */
  var orphans = Set.empty[Long]

  /** Whether the query has read something of the cluster that was active before. */
  var isKnown = true

  /** How often the active cluster has changed. */
  var failovers = 0

  /** Topics of the standby with other records than those of the active cluster, which are not copied there. */
  private var foreign = Set.empty[String]

  /** Whether everything was copied, and nothing can be a reason not to continue. */
  var isComplete = true

  world.isSettled = true
  newStandby()
  show()

  private def chance(percent: Int) = random.nextInt(100) < percent

  /** @param hasSeen whether a trigger has used the address that the metadata have of a cluster */
  def change(reached: CompositeOffset, hasSeen: String => Boolean): Unit = {
    // A query that is refused for longer than the retention starts again in a cluster that it has drained.
    val isDrained = reached.retained.exists { case (id, kept) =>
      world.topology.clusters.get(id).exists(_.topics.keysIterator.exists(kept.drained))
    }
    // What a copy has still to continue is retained as long as its metadata are there.
    val isOwing = reached.retained.values.exists(_.topics.valuesIterator.exists(_.former.isDefined))
    // What has returned is seen before it expires, also by a query that has crashed.
    val isReturning = reached.retained.get(id).exists(_.topics.nonEmpty)
    // A failover that the query has not seen makes what it has left no older.
    val isBehind = !reached.identity(id).kafkaId.contains(active.id) && reached.retained.nonEmpty
    val isWaiting = retentionMs > 0 && isBehind
    // A query that waits for its cluster has not seen what has returned.
    val isUnseen = retentionMs > 0 && awaySince.isEmpty && isReturning
    world.now += (if (isDrained || isWaiting || isUnseen) 1L else random.nextInt(1000).toLong)
    random.nextInt(16) match {
      case 0 | 1 | 2 | 3 => produce(random.nextInt(4))
      case 4 | 5 | 6 => copy(random.nextInt(6), reached)
      case 7
          if (awaySince.isEmpty && !isDrained && !isOwing && !isReturning && !isWaiting) || retentionMs < 0 =>
        world.now += random.nextInt(9000)
      case 8 =>
        world.down = Set("a", "a-b").filter(_ => chance(40))
        world.tell(s"down ${world.down}")
      case 9 | 10 => world.down = Set.empty
      // A query that has not seen an address of a cluster does not read there what is absent from the metadata.
      case 11 | 12 if !hasSeen(id) => produce(1)
      case 11 if retentionMs < 0 || (retentionMs > 0 && (awaySince.isDefined || !isReturning)) =>
        hidden = Names.filter(_ => chance(30)).toSet
        world.tell(s"hidden $hidden")
      // What has just returned is seen before it leaves again, a topic and a cluster.
      case 12
          if retentionMs < 0 ||
            (retentionMs > 0 && reached.position(id).nonEmpty && (awaySince.isDefined || !isReturning)) =>
        isAway = chance(50)
        world.tell(s"away $isAway")
      case 13 if other.isDefined =>
        other = None
        world.tell("the former cluster has left")
      case 14 => arrive(reached)
      case _ if chance(60) && (knows(reached) || isUnread(reached)) => failOver(reached)
      case _ => produce(1)
    }
    awaySince = Option.when(isAway || hidden.nonEmpty)(awaySince.getOrElse(world.now))
    if (retentionMs > 0 && awaySince.exists(world.now - _ > retentionMs / 2)) {
      isAway = false
      hidden = Set.empty
      awaySince = None
    }
    show()
  }

  /** Everything responds, is in the metadata, and exists. */
  def settle(reached: CompositeOffset): Unit = {
    world.down = Set.empty
    hidden = Set.empty
    isAway = false
    other = None
    while (late.nonEmpty) arrive(reached)
    show()
    world.tell("settle")
  }

  def produce(least: Int): Unit = {
    active = active.copy(topics = active.topics.map { case (name, topic) =>
      name -> topic.copy(logs =
        topic.logs.map(log => log.append(Seq.fill(least + random.nextInt(2))(world.newRecord("a"))))
      )
    })
    show()
  }

  /** The records of the active cluster. */
  def records: Set[Long] = logs.flatMap(_.records).toSet -- orphans

  /** The records of a range in a cluster that was active. */
  def readOf(kafkaId: String, range: OffsetRange): Seq[Long] = for {
    was <- seen.get(kafkaId).toSeq
    log <- was.cluster.topics.get(range.topic).flatMap(_.logs.lift(range.partition)).toSeq
    record <- log.read(range.from, range.until)
  } yield record

  def topics: Map[String, ModelTopic] = active.topics

  def logs: Seq[ModelLog] = active.topics.values.toSeq.flatMap(_.logs)

  /** MirrorMaker, or whatever copies. */
  private def copy(most: Int, reached: CompositeOffset): Unit = {
    for (
      (name, topic) <- active.topics -- foreign; there <- standby.topics.get(name);
      (log, p) <- topic.logs.zipWithIndex
    ) {
      val from = copiedTo((name, p))
      val more = log.read(from, from + most)
      copiedTo += (name, p) -> math.max(from, math.min(from + most, log.end))
      val now = there.logs(p).append(more)
      standby = standby.copy(topics =
        standby.topics.updated(
          name,
          standby.topics(name).copy(logs = standby.topics(name).logs.updated(p, now))
        )
      )
    }
    checkpoint(reached)
  }

  private def checkpoint(reached: CompositeOffset): Unit =
    if (reached.identity(id).kafkaId.contains(active.id)) {
      // A group has its offsets still when the topic is not read any more.
      val kept = reached.retained.get(id).fold(Positions.empty)(_.positions)
      for {
        (name, p, at) <- (kept ++ reached.position(id)).iterator
        topic <- active.topics.get(name)
        if idsOf(reached, id, name).contains(topic.id)
      } translated(name, p, at)
    } else if (syncs) checkpoints.foreach { case (_, of) =>
      translated(of.topic, of.partition, of.downstream)
    }

  /** A checkpoint in the copy, of an offset that a group has committed. */
  private def translated(name: String, p: Int, at: Long): Unit =
    for ((topic, there) <- active.topics.get(name).zip(standby.topics.get(name).map(_.logs(p)))) {
      val read = topic.logs(p).read(0L, at).toSet
      val last = there.records.lastIndexWhere(read)
      if (last >= 0) pending :+= id -> MirrorCheckpoint(name, p, at, there.first + last + 1)
    }

  private def idsOf(reached: CompositeOffset, id: String, topic: String): Option[String] =
    reached.identity(id).topics.get(topic)
      .orElse(reached.retained.get(id).flatMap(_.topics.get(topic)).flatMap(_.id))

  /** The id of the cluster in which the position was reached that a cluster has of a topic. */
  private def aliasOf(reached: CompositeOffset, id: String, topic: String): String =
    reached.retained.get(id).flatMap(_.topics.get(topic)).flatMap(_.former).fold(id)(_.id)

  private def knows(reached: CompositeOffset) =
    reached.identity(id).kafkaId.contains(active.id) && reached.position(id).nonEmpty &&
      !topics.keys.exists(isLastReadInStandby(reached, _))

  /**
   * The query has read nothing of a copy, and continues in a copy of it: one that it has not read either, under the cluster id that it knows,
   * when it is started again. Without a retention, nothing is known of what has left. By its checkpoints, MirrorMaker's copy of a copy has
   * the offsets of the one between, which nothing but the cluster id tells from others (docs/limits.md).
   */
  private def isUnread(reached: CompositeOffset) =
    lastRead(reached).exists(of => of != active.id && seen.contains(of)) && !seen.contains(standby.id) &&
      (retentionMs != 0 || reached.retained.isEmpty) &&
      (!mirrors || (!sameId && lastRead(reached).contains(former.id)))

  /** Kafka's id of the cluster that was read last. */
  private def lastRead(reached: CompositeOffset): Option[String] = {
    val read = world.ids.filter(reached.position(_).nonEmpty)
    val left = for {
      id <- world.ids
      of <- reached.retained.get(id).toSeq.flatMap(_.topics.values)
    } yield of.since -> of.former.fold(reached.identity(id).kafkaId)(_.kafkaId)
    read.headOption.fold(left.maxByOption(_._1).flatMap(_._2))(reached.identity(_).kafkaId)
  }

  /** A log that has other records now, with the same topic id, is none in which a query may continue. */
  private def isLastReadInStandby(reached: CompositeOffset, topic: String) = {
    val left = for {
      (id, all) <- reached.retained.toSeq
      of <- all.topics.get(topic)
    } yield of.since -> of.former.fold(reached.identity(id).kafkaId)(_.kafkaId)
    rewritten(topic) && !reached.clusters.valuesIterator.exists(_.topics(topic)) &&
    left.maxByOption(_._1).exists(_._2.contains(standby.id))
  }

  private def failOver(reached: CompositeOffset): Unit = {
    isKnown = knows(reached)
    val all = retentionMs == 0 || chance(50)
    if (all) copy(1000, reached)
    // What is still retained of an earlier cluster may be in none of the copies.
    val isOwing = reached.retained.valuesIterator.flatMap(_.topics.valuesIterator).exists(_.former.isDefined)
    // A topic that has not arrived is perhaps another one in the standby.
    foreign ++= late.filter(standby.topics.contains)
    isComplete = all && !isOwing && foreign.isEmpty && (isComplete || isKnown)
    late = active.topics.keySet -- standby.topics.keySet
    val from = active
    former = from
    seen += from.id -> Was(id, from, checkpoints, orphans)
    active = standby
    val there = logs.flatMap(_.records).toSet
    orphans ++= from.topics.filterNot(t => late(t._1)).values.flatMap(
      _.logs
    ).flatMap(_.records).toSet -- there
    checkpoints = pending
    if (sameId) world.down -= id
    else {
      id = if (id == "a") "a-b" else "a"
      // A query that does not know a cluster that drains reads it to its end, as any other one.
      other = Option.when(chance(60))(chance(70)).filterNot(_ && !isKnown)
    }
    failovers += 1
    newStandby()
    world.tell(
      s"failover to ${active.id} as $id, complete $isComplete, without $late, former $other: $active"
    )
    show()
  }

  /** The failover did not succeed: what was written to the cluster that was read last is all that there is. */
  def failBack(reached: CompositeOffset): Unit = {
    val read = seen.view.mapValues(_.cluster).toMap + (active.id -> active)
    lastRead(reached).filterNot(_ == active.id).flatMap(seen.get).foreach(back)
    translate(reached, read)
  }

  /** MirrorMaker writes checkpoints of topics that the query has read in other clusters last. */
  private def translate(reached: CompositeOffset, read: Map[String, ModelCluster]): Unit = for {
    (of, retained) <- reached.retained.toSeq
    (name, kept) <- retained.topics
    cluster <- kept.former.fold(reached.identity(of).kafkaId)(_.kafkaId).flatMap(read.get)
    if cluster.id != active.id
    (p, at) <- kept.offsets
    (from, there) <- cluster.topics.get(name).zip(active.topics.get(name))
  } {
    val records = from.logs(p).read(0L, at).toSet
    val log = there.logs(p)
    checkpoints :+= aliasOf(reached, of, name) ->
      MirrorCheckpoint(name, p, at, log.first + log.records.lastIndexWhere(records) + 1)
  }

  private def back(to: Was): Unit = {
    active = to.cluster
    former = active
    late = Set.empty
    // By its entry in the metadata.
    isAway = false
    hidden = Set.empty
    orphans = to.orphans
    id = to.id
    other = None
    checkpoints = to.checkpoints
    world.tell(s"back to ${active.id} as $id: $active")
    failovers += 1
    newStandby()
    show()
  }

  /** A topic is copied that the former cluster had. */
  private def arrive(reached: CompositeOffset): Unit = late.headOption.foreach { name =>
    late -= name
    val from = former.topics(name)
    count += 1
    val topic = ModelTopic(s"$name-$count", from.logs.map(log => if (exact) log else shifted(log.records)))
    active = active.copy(topics = active.topics.updated(name, topic))
    if (standby.topics.get(name).exists(_.logs.map(_.records) != topic.logs.map(_.records))) foreign += name
    for (log <- standby.topics.get(name); p <- log.logs.indices)
      copiedTo += (name, p) -> topic.logs(p).end
    for {
      id <- world.ids if idsOf(reached, id, name).contains(from.id)
      kept = reached.retained.get(id).fold(Positions.empty)(_.positions)
      (p, at) <- (kept ++ reached.position(id)).of(name)
    } checkpoints :+= aliasOf(reached, id, name) ->
      MirrorCheckpoint(name, p, at, topic.logs(p).first + from.logs(p).read(0L, at).size)
    world.tell(s"arrives $name: $topic")
    show()
  }

  private def shifted(records: Vector[Long]) = ModelLog(random.nextInt(6).toLong, records)

  /** A new copy, or the Kafka cluster that was active before. */
  private def newStandby(): Unit = {
    foreign = Set.empty
    pending = Vector.empty
    count += 1
    if ((former ne active) && chance(50)) {
      // Everything that it has and the other one has not is gone, or stays in between.
      if (exact) rewritten ++= former.topics.keySet
      standby = former.copy(topics = former.topics.map { case (name, topic) =>
        val now = active.topics.get(name)
        name -> (if (exact && now.isDefined)
                   topic.copy(logs = now.get.logs.map(log => log.copy(epochs = topic.logs.head.epochs)))
                 else topic)
      })
      copiedTo = ends
    } else {
      val missing = Names.filter(_ => chance(15)).toSet
      // MirrorMaker does not copy a topic into another one, whose records no checkpoint tells from copies.
      standby = ModelCluster(
        s"kafka-$count",
        (active.topics -- missing).map { case (name, topic) =>
          name -> ModelTopic(
            s"$name-$count",
            topic.logs.map(_ => if (exact) ModelLog() else shifted(Vector.empty))
          )
        } ++ Option.when(!active.topics.contains(Added) && (exact || !late(Added)) && chance(20))(
          Added -> ModelTopic(
            s"$Added-$count",
            Vector(ModelLog().append(Seq.fill(random.nextInt(3))(world.newRecord("a"))))
          )
        )
      )
      copiedTo = ends.map { case (key, _) => key -> 0L }
    }
    copiedTo = copiedTo.withDefaultValue(0L)
  }

  private def ends: Map[(String, Int), Long] =
    (for ((name, topic) <- active.topics; (log, p) <- topic.logs.zipWithIndex)
      yield (name, p) -> log.end).toMap

  private def show(): Unit = {
    val away = if (id == "a") "a-b" else "a"
    val isNamed = !isAway && hidden != Names.toSet
    // An id leads to another Kafka cluster as soon as the metadata say so.
    world.clusters = world.clusters.map { case (of, before) =>
      val now = if (of == id) active else former
      of -> (if (isNamed || before.id == now.id) now else before)
    }
    def cluster(of: String, draining: Boolean, replaces: Option[String]) = of -> TopologyCluster(
      of,
      SortedMap.from((Names :+ Added).filterNot(hidden).map(_ -> TopologyTopic("s", draining = draining))),
      Map("bootstrap.servers" -> world.clusters(of).id),
      replaces = replaces
    )
    val here = Option.when(isNamed)(
      cluster(id, draining = false, Option.when(!sameId && failovers > 0)(away))
    )
    val before = other.filter(identity).filterNot(_ => hidden == Names.toSet).map(_ =>
      cluster(away, draining = true, None)
    )
    val removed = if (!sameId && other.contains(false)) SortedMap(away -> Removal.OfCluster)
    else SortedMap.empty[String, Removal]
    val next = Topology(SortedMap.from(here ++ before), removed)
    if (next != world.topology) world.topology = next
  }
}

private[simulation] object CopiedWorld {
  val Names: Seq[String] = Seq("t", "b-t")

  /**
   * A cluster that was active, as it was then.
   *
   * @param id its cluster id
   * @param checkpoints of MirrorMaker, which it has still when it takes over again
   * @param orphans records of former clusters that it has not got
   */
  private final case class Was(
      id: String,
      cluster: ModelCluster,
      checkpoints: Vector[(String, MirrorCheckpoint)],
      orphans: Set[Long]
  )

  /** A topic that only a copy has. */
  val Added = "n"
}
