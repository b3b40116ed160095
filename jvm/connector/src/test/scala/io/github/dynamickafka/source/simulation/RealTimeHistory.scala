package io.github.dynamickafka.source.simulation

import scala.util.Random
import scala.util.control.NonFatal

import io.github.dynamickafka.metadata.{OffsetsPolicy, ReplacedClusterPolicy}

/**
 * A random history, like [[History]], of a query in real-time mode: everything changes while batches run, the driver dies inside a
 * batch and between its logs, Spark logs only some of the batches, and the query is switched to micro-batches and back. Delivery
 * is at least once: only records of batches that were not logged may be duplicated, and only by a restart.
 */
private object RealTimeHistory {
  private val Steps = 15
  // More batches than any history needs to come to rest.
  private val MostBatches = 400

  /** What is wrong in a history, with its seed and its steps. */
  def failure(seed: Long): Option[String] =
    wrong(seed, RealTimeDefect.None).flatMap(_ => run(seed, RealTimeDefect.None, recording = true)).map {
      case (what, steps) => s"DYNAMIC_KAFKA_SEED=$seed: $what\n${steps.mkString("\n")}"
    }

  /** What is wrong in a history of a query with this defect. */
  def wrong(seed: Long, defect: RealTimeDefect): Option[String] =
    run(seed, defect, recording = false).map(_._1)

  private def run(seed: Long, defect: RealTimeDefect, recording: Boolean): Option[(String, Seq[String])] = {
    val random = new Random(seed)
    val world = new World(random, recording)
    val hasHoles = random.nextInt(3) == 0
    val switches = random.nextBoolean()
    // A start position of a micro-batch that is not logged is resolved again after a restart, perhaps to another one.
    val latest = random.nextInt(3) == 0 && !(hasHoles && switches)
    val query = new SimulatedRealTimeQuery(
      world,
      drainRemoved = random.nextBoolean(),
      if (latest) ReplacedClusterPolicy.Latest else ReplacedClusterPolicy.Earliest,
      if (latest) OffsetsPolicy.Latest else OffsetsPolicy.Earliest,
      hasHoles,
      defect
    )
    val wrong =
      try {
        (1 to Steps).foreach { _ =>
          if (world.chance(60)) world.change()
          val crash =
            if (world.chance(75)) RealTimeCrash.Never else RealTimeCrash(random.nextInt(RealTimeCrash.maxId))
          query.batch(crash)
          if (switches && world.chance(if (crash == RealTimeCrash.Never) 10 else 50)) query.switch()
        }
        settled(world, query)
      } catch { case NonFatal(e) => Seq(e.toString) }
    wrong.headOption.map(_ => (wrong.mkString("; "), world.history))
  }

  private def settled(world: World, query: SimulatedRealTimeQuery): Seq[String] = {
    query.respondInTime()
    world.settle(draining = false)
    val restsFirst = comesToRest(query)
    world.produceEverywhere()
    val rests = restsFirst && comesToRest(query)
    val records = query.delivered
    val lost = world.logs.flatMap(_._5.records).toSet -- records -- query.truth.excused
    val twice = records.diff(records.distinct).filterNot(query.repeated)
    world.settle(draining = true)
    val drains = comesToRest(query) && query.reached.draining.isEmpty && query.reached.clusters.isEmpty
    Seq(
      Option.when(!rests)("the query does not come to rest"),
      Option.when(lost.nonEmpty)(s"lost: ${lost.toSeq.sorted.take(10)}"),
      Option.when(twice.nonEmpty)(s"duplicate: ${twice.take(10)}"),
      query.truth.falseLosses.headOption.map(first => s"not true: $first"),
      Option.when(rests && !drains)(s"does not drain: ${query.reached.json}")
    ).flatten
  }

  private def comesToRest(query: SimulatedRealTimeQuery): Boolean =
    Iterator.iterate(0)(idle => if (query.batch(RealTimeCrash.Never)) 0 else idle + 1)
      .take(MostBatches).exists(_ == 3)
}
