package io.github.dynamickafka.source.simulation

import scala.util.Random
import scala.util.control.NonFatal

import org.apache.spark.sql.connector.read.streaming.ReadLimit

import io.github.dynamickafka.metadata.{OffsetsPolicy, ReplacedClusterPolicy}
import io.github.dynamickafka.offset.Alignment

/**
 * A random history of a query, which its seed determines: clusters are replaced and unreachable; topics are created, deleted,
 * recreated and cut, and grow past the positions again; leaders are elected, and partitions have none for a time; the metadata changes, also while a trigger runs; the driver is killed at each
 * step of a trigger; batches of unreachable clusters are deferred, or not logged. Afterwards everything is made available, and the delivered
 * records are compared with what Kafka has.
 */
private object History {
  private val Steps = 25
  // More triggers than any history needs to come to rest.
  private val MostTriggers = 400

  /** What is wrong in a history, with its seed and its steps. */
  def failure(seed: Long): Option[String] =
    // The steps are recorded the second time only.
    wrong(seed, Defect.None).flatMap(_ => run(seed, Defect.None, recording = true)).map {
      case (what, steps) =>
        s"DYNAMIC_KAFKA_SEED=$seed: $what\n${steps.mkString("\n")}"
    }

  /** What is wrong in a history of a query with this defect. */
  def wrong(seed: Long, defect: Defect): Option[String] = run(seed, defect, recording = false).map(_._1)

  private def run(seed: Long, defect: Defect, recording: Boolean): Option[(String, Seq[String])] = {
    val random = new Random(seed)
    val world = new World(random, recording)
    // Chosen without the generator of the history, so that a history without stopping offsets is the same as before there were any.
    val stop = Option.when(seed % 5 == 4)(world.now - 20000L + new Random(~seed).nextInt(24000))
    val logsSome = random.nextInt(3) == 0
    // A start position that is not logged is resolved again after a restart, perhaps to another one.
    def latest = random.nextInt(4) == 0 && !logsSome
    val query = new SimulatedQuery(
      world,
      drainRemoved = random.nextBoolean(),
      if (latest) ReplacedClusterPolicy.Latest else ReplacedClusterPolicy.Earliest,
      if (latest) OffsetsPolicy.Latest else OffsetsPolicy.Earliest,
      ownStart = Option.when(random.nextInt(4) == 0)(OffsetsPolicy.Earliest),
      limit = Option.when(random.nextInt(8) == 0)(2L),
      stop,
      logsSome,
      // The sinks for which Spark logs only some batches do not know which ones they have.
      Deferring(random.nextInt(if (logsSome) Deferring.WithOwnSink.id else Deferring.maxId)),
      aligned = Option.when(random.nextInt(3) == 0)(
        Alignment.Rules(driftMs = 500L + random.nextInt(10000), idleMs = random.nextInt(3) * 1000L)
      ),
      defect
    )
    // Of its own, so that limits in bytes leave the rest of a history as it is without them.
    val bytes = new Random(seed)
    val wrong =
      try {
        (1 to Steps).foreach { _ =>
          if (world.chance(60)) world.change()
          val rows =
            if (world.chance(50)) ReadLimit.maxRows(random.nextInt(12).toLong) else ReadLimit.allAvailable()
          val limit =
            if (bytes.nextInt(4) > 0) rows
            else ReadLimit.compositeLimit(Array(rows, ReadLimit.maxBytes(1L + bytes.nextInt(30000))))
          val crash = if (world.chance(80)) Crash.Never else Crash(random.nextInt(Crash.maxId))
          query.trigger(limit, crash)
        }
        settled(world, query, stop)
      } catch { case NonFatal(e) => Seq(e.toString) }
    wrong.headOption.map(_ => (wrong.mkString("; "), world.history))
  }

  private def settled(world: World, query: SimulatedQuery, stop: Option[Long]): Seq[String] = {
    query.respondInTime()
    world.settle(draining = false)
    val restsFirst = comesToRest(world, query)
    world.produceEverywhere()
    val serves = servesAll(world, query)
    val rests = restsFirst && comesToRest(world, query)
    val records = query.delivered
    val there = world.logs.flatMap(_._5.records).toSet
    // The record that stops a log may have expired, and a log that was cut is not compared once it is read to its stop.
    val (damaged, intact) =
      if (stop.isEmpty) (Nil, Nil) else world.logs.partition(log => world.isDamaged(log._4.topicId))
    val beyond = for {
      (id, name, p, _, log) <- intact
      at <- stop.flatMap(world.stopOf(log, _)).toSeq
      record <- log.read(at, log.end)
    } yield record -> s"$id $name-$p at $at"
    val lost = there -- records -- query.truth.excused -- damaged.flatMap(_._5.records) -- beyond.map(_._1)
    val tooMuch = beyond.collect { case (record, where) if records.contains(record) => where }
    val twice = records.diff(records.distinct).filterNot(query.repeated)
    world.settle(draining = true)
    val drains = comesToRest(world, query) && query.reached.draining.isEmpty && query.reached.clusters.isEmpty
    Seq(
      Option.when(!rests)("the query does not come to rest"),
      Option.when(restsFirst && !serves)("limits starve a partition"),
      Option.when(lost.nonEmpty)(s"lost: ${lost.toSeq.sorted.take(10)}"),
      Option.when(tooMuch.nonEmpty)(s"read beyond its stopping offset: ${tooMuch.distinct.take(5)}"),
      Option.when(twice.nonEmpty)(s"duplicate: ${twice.take(10)}"),
      query.truth.falseLosses.headOption.map(first => s"not true: $first"),
      query.excessive.headOption.map(first => s"above the limit: $first"),
      query.tooLarge.headOption.map(first => s"above the limit: $first"),
      query.tooNew.headOption.map(first => s"not aligned: $first"),
      Option.when(rests && !drains)(s"does not drain: ${query.reached.json}")
    ).flatten
  }

  /** Whether each partition is served in turn if there are always more records than the limits let through. */
  private def servesAll(world: World, query: SimulatedQuery): Boolean =
    !query.isLimited || query.isAligned || query.isStopped || {
      val before = query.reached
      val partitions = before.clusters.valuesIterator.map(_.size).sum
      (0 to partitions + 1).foreach { _ =>
        world.produceEverywhere()
        query.trigger(ReadLimit.maxRows(2), Crash.Never)
      }
      before.clusters.forall { case (id, positions) =>
        positions.iterator.forall { case (topic, p, at) =>
          query.reached.position(id).get(topic, p).exists(_ > at)
        }
      }
    }

  /** Clusters that are aligned may wait for an idle one: a query is at rest if it has had nothing to do for longer. */
  private def comesToRest(world: World, query: SimulatedQuery): Boolean = {
    val enough = if (query.isAligned) 6 else 2
    Iterator.iterate(0) { idle =>
      if (query.isAligned) world.passes(1000)
      if (query.trigger(ReadLimit.allAvailable(), Crash.Never)) 0 else idle + 1
    }.take(MostTriggers).exists(_ == enough)
  }
}
