package io.github.dynamickafka.source.simulation

import scala.util.Random
import scala.util.control.NonFatal

import org.apache.spark.sql.connector.read.streaming.ReadLimit
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.testkit.{NotInFast, TestAll, TimeLimit}
import io.github.dynamickafka.topology.{OffsetsPolicy, ReplacedClusterPolicy}

/**
 * Random histories of a query: clusters are replaced and unreachable; topics are created, deleted, recreated and cut, and
 * grow past the positions again; leaders are elected; the metadata changes; the driver is killed at each step of a trigger; batches of unreachable clusters are deferred. Afterwards
 * everything is made available, and the delivered records are compared with what Kafka has.
 */
class TriggerLoopSimulationSuite extends AnyFunSuite with TimeLimit {
  import TriggerLoopSimulationSuite._

  private def check(histories: Long): Unit = {
    val first = TestSeed()
    (0L until histories).foreach { i =>
      val seed = first + i
      failureOf(seed, Defect.None, recording = false).foreach { _ =>
        failureOf(seed, Defect.None, recording = true).foreach { case (what, history) =>
          fail(s"DYNAMIC_KAFKA_SEED=$seed: $what\n${history.mkString("\n")}")
        }
      }
    }
  }

  test(
    "20,000 histories: every record once, no loss that is not true, all replays alike, and no end to progress",
    NotInFast
  ) {
    check(20000)
  }

  test("1,000,000 histories", TestAll) {
    check(1000000)
  }

  for (defect <- Defect.all) test(s"it finds the defect: ${defect.name}") {
    val first = TestSeed()
    val found = Iterator.from(0).take(MostForADefect).map(i =>
      (i, failureOf(first + i, defect, recording = false))
    ).collectFirst {
      case (i, Some((what, _))) => (i, what)
    }
    found match {
      case Some((i, what)) => info(s"in history ${i + 1}: ${what.take(200)}")
      case None => fail(s"not found in $MostForADefect histories")
    }
  }
}

private object TriggerLoopSimulationSuite {
  private val Steps = 25
  private val MostForADefect = 100000
  // More triggers than any history needs to come to rest.
  private val MostTriggers = 400

  /** What is wrong in this history, and the history. */
  def failureOf(seed: Long, defect: Defect, recording: Boolean): Option[(String, Seq[String])] = {
    val random = new Random(seed)
    val world = new World(random, recording)
    val query = new SimulatedQuery(
      world,
      drainRemoved = random.nextBoolean(),
      if (random.nextInt(4) == 0) ReplacedClusterPolicy.Latest else ReplacedClusterPolicy.Earliest,
      if (random.nextInt(4) == 0) OffsetsPolicy.Latest else OffsetsPolicy.Earliest,
      ofCluster = Option.when(random.nextInt(8) == 0)(2L),
      Deferring(random.nextInt(Deferring.maxId)),
      defect
    )
    val wrong =
      try {
        (1 to Steps).foreach { _ =>
          if (world.chance(60)) world.change()
          val limit =
            if (world.chance(50)) ReadLimit.maxRows(random.nextInt(12).toLong) else ReadLimit.allAvailable()
          val crash = if (world.chance(80)) Crash.Never else Crash(random.nextInt(Crash.maxId))
          query.trigger(limit, crash)
        }
        settled(world, query)
      } catch { case NonFatal(e) => Seq(e.toString) }
    wrong.headOption.map(_ => (wrong.mkString("; "), world.history))
  }

  private def settled(world: World, query: SimulatedQuery): Seq[String] = {
    query.respondInTime()
    world.settle(draining = false)
    val restsFirst = comesToRest(query)
    world.produceEverywhere()
    val rests = restsFirst && comesToRest(query)
    val records = query.delivered
    val there = world.logs.flatMap(_._5.records).toSet
    val lost = there -- records -- query.excused
    val twice = records.diff(records.distinct).filterNot(query.repeated)
    world.settle(draining = true)
    val drains = comesToRest(query) && query.logged.draining.isEmpty && query.logged.clusters.isEmpty
    Seq(
      Option.when(!rests)("the query does not come to rest"),
      Option.when(lost.nonEmpty)(s"lost: ${lost.toSeq.sorted.take(10)}"),
      Option.when(twice.nonEmpty)(s"duplicate: ${twice.take(10)}"),
      query.falseLosses.headOption.map(first => s"not true: $first"),
      Option.when(rests && !drains)(s"does not drain: ${query.logged.json}")
    ).flatten
  }

  private def comesToRest(query: SimulatedQuery): Boolean =
    Iterator.iterate(0)(idle => if (query.trigger(ReadLimit.allAvailable(), Crash.Never)) 0 else idle + 1)
      .take(MostTriggers).exists(_ == 2)
}
