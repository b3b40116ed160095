package io.github.dynamickafka.source.simulation

import scala.collection.immutable.{SortedMap, SortedSet}
import scala.util.Random

import io.github.dynamickafka.metadata.{Topology, TopologyCluster, TopologyTopic}

/**
 * The clusters and the metadata of one history, which change at random.
 *
 * @param recording whether to keep a description of what happens
 */
private[simulation] final class World(random: Random, recording: Boolean) {
  val ids: Seq[String] = Seq("a", "a-b", "c")
  val names: Seq[String] = Seq("t", "b-t")

  private var numbers = 0L
  private val timeRandom = new Random(random.nextLong())
  private var times = Map.empty[Long, Long]

  /** How far the records of each cluster are behind. */
  private val lagMs = ids.map(id => id -> timeRandom.nextInt(4) * 7000L).toMap
  var isSettled = false
  var clusters: Map[String, ModelCluster] = ids.map(id => id -> newCluster()).toMap
  var topology: Topology = anyTopology()
  var down = Set.empty[String]

  /** (cluster id, topic, partition) of partitions that have no leader: they exist, but do not respond. */
  var leaderless = Set.empty[(String, String, Int)]
  var now = 1000000L

  /** See [[unknown]]; since when. */
  private var unknownSince = Map.empty[(String, String), Long]

  /** Called with the cluster id and the name of a topic that is being deleted. */
  var onDelete: (String, String, ModelTopic) => Unit = (_, _, _) => ()

  /** The ids of topics of which records were lost. */
  private var damaged = Set.empty[String]
  var history = Vector.empty[String]

  def number(): Long = {
    numbers += 1
    numbers
  }

  /** The time of a record, or -1 if it has none. */
  def timeOf(record: Long): Long = times(record)

  /** The offset of the first record of this time or a later one, as Kafka finds it. */
  def stopOf(log: ModelLog, ms: Long): Option[Long] =
    Some(log.records.indexWhere(timeOf(_) >= ms)).filter(_ >= 0).map(log.first + _)

  def newRecord(id: String): Long = {
    val record = number()
    val time = now - lagMs(id)
    times += record -> (timeRandom.nextInt(60) match {
      case 0 => -1L
      case 1 => now + timeRandom.nextInt(5000)
      case 2 | 3 => time - timeRandom.nextInt(5000)
      case _ => time - timeRandom.nextInt(200)
    })
    record
  }

  /** (cluster id, topic) of topics that exist, and that the broker that responds does not know until the next change. */
  def unknown: Set[(String, String)] = unknownSince.keySet

  def chance(percent: Int): Boolean = random.nextInt(100) < percent

  def upTo(most: Int): Int = random.nextInt(most + 1)

  def isDamaged(topicId: String): Boolean = damaged(topicId)

  def topic(id: String, name: String): Option[ModelTopic] = clusters(id).topics.get(name)

  def hasLeader(id: String, name: String, p: Int): Boolean = !leaderless((id, name, p))

  def logs: Seq[(String, String, Int, LogId, ModelLog)] =
    for {
      id <- ids
      (name, topic) <- clusters(id).topics.toSeq.sortBy(_._1)
      (log, p) <- topic.logs.zipWithIndex
    } yield (id, name, p, LogId(topic.id, p), log)

  def change(): Unit = {
    now += random.nextInt(1000)
    val before = unknownSince
    unknownSince = Map.empty
    random.nextInt(27) match {
      case 0 | 1 | 2 => changeTopology()
      case 3 | 11 =>
        down = ids.filter(_ => chance(25)).toSet
        tell(s"down $down")
      case 4 => at(random)(topic => topic.copy(logs = topic.logs :+ ModelLog()))
      case 5 => at(random)(damage(_, _.expire(1 + random.nextInt(4))))
      case 6 | 12 =>
        at(random)(damage(_, _.cut(1 + random.nextInt(4))))
        // Often grown past the positions again.
        if (chance(50)) (1 to 3).foreach(_ => produce())
      case 13 =>
        at(random)(topic => topic.copy(logs = topic.logs.map(log => if (chance(60)) log.elect else log)))
      case 14 | 15 =>
        leaderless = logs.collect { case (id, name, p, _, _) if chance(25) => (id, name, p) }.toSet
        tell(s"leaderless $leaderless")
      case 7 =>
        val (id, name) = any()
        deleting(id, name)
        clusters = clusters.updated(id, clusters(id).copy(topics = clusters(id).topics - name))
        tell(s"delete $id $name")
      case 16 =>
        val chosen = for { id <- ids; name <- names if chance(40) } yield (id, name)
        // Never for as long as a query takes to declare a topic as lost.
        unknownSince = chosen.map(topic => topic -> before.getOrElse(topic, now)).toMap
          .filter { case (_, since) => now - since < World.GraceMs }
        tell(s"unknown $unknown")
      case 8 | 9 =>
        val (id, name) = any()
        create(id, name)
        // Often grown past the positions in the former topic.
        if (chance(50)) (1 to 3).foreach(_ => produce())
      case 10 if chance(30) =>
        val id = ids(random.nextInt(ids.size))
        names.foreach(deleting(id, _))
        clusters = clusters.updated(id, newCluster())
        tell(s"replace $id")
      case _ => produce()
    }
  }

  def passes(ms: Long): Unit = now += ms

  /** The metadata service answers at any time, also while a trigger runs. */
  def changeInTrigger(): Unit = if (!isSettled && chance(10)) changeTopology()

  private def changeTopology(): Unit = {
    topology = anyTopology()
    tell(s"topology $topology")
  }

  /** A log that was cut is compared when there is something to read. */
  def produceEverywhere(): Unit = produce(least = 1)

  /** Everything exists, responds, and is in the metadata. */
  def settle(draining: Boolean): Unit = {
    isSettled = true
    down = Set.empty
    leaderless = Set.empty
    unknownSince = Map.empty
    for (id <- ids; name <- names if topic(id, name).isEmpty) create(id, name)
    topology = Topology(SortedMap.from(ids.map(id =>
      id -> TopologyCluster(
        id,
        SortedMap.from(names.map(_ -> TopologyTopic("s", draining = draining))),
        Map.empty
      )
    )))
    tell(s"settle, draining $draining")
  }

  private def produce(least: Int = 0): Unit =
    clusters = clusters.map { case (id, cluster) =>
      id -> cluster.copy(topics = cluster.topics.map { case (name, topic) =>
        name -> topic.copy(logs =
          topic.logs.map(_.append(Seq.fill(least + random.nextInt(4))(newRecord(id))))
        )
      })
    }

  private def deleting(id: String, name: String): Unit = topic(id, name).foreach(onDelete(id, name, _))

  private def create(id: String, name: String): Unit = {
    deleting(id, name)
    clusters = clusters.updated(id, clusters(id).copy(topics = clusters(id).topics.updated(name, newTopic())))
    tell(s"create $id $name")
  }

  private def damage(topic: ModelTopic, f: ModelLog => ModelLog): ModelTopic = {
    damaged += topic.id
    topic.copy(logs = topic.logs.map(log => if (chance(60)) f(log) else log))
  }

  private def at(random: Random)(f: ModelTopic => ModelTopic): Unit = {
    val (id, name) = (ids(random.nextInt(ids.size)), names(random.nextInt(names.size)))
    topic(id, name).foreach { topic =>
      val next = f(topic)
      clusters = clusters.updated(id, clusters(id).copy(topics = clusters(id).topics.updated(name, next)))
      tell(s"$id $name: $topic -> $next")
    }
  }

  private def any(): (String, String) = (ids(random.nextInt(ids.size)), names(random.nextInt(names.size)))

  private def newTopic() =
    ModelTopic(s"topic-${number()}", Vector.fill(1 + random.nextInt(3))(ModelLog()))

  private def newCluster() = ModelCluster(s"kafka-${number()}", names.map(_ -> newTopic()).toMap)

  private def anyTopology(): Topology = Topology(SortedMap.from(ids.filter(_ => chance(75)).map { id =>
    val topics = names.filter(_ => chance(70)).map { name =>
      val some = Option.when(chance(20))(SortedSet.from((0 to 2).filter(_ => chance(60)))).filter(_.nonEmpty)
      name -> TopologyTopic("s", draining = chance(20), partitions = some)
    }
    id -> TopologyCluster(id, SortedMap.from(topics), Map.empty)
  }.filter(_._2.topics.nonEmpty)))

  def tell(what: => String): Unit = if (recording) history :+= what
}

private[simulation] object World {

  /** How long a query waits for a topic that is missing. */
  val GraceMs = 1500L
}
