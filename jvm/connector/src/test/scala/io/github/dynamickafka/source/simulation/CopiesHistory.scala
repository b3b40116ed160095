package io.github.dynamickafka.source.simulation

import scala.util.Random
import scala.util.control.NonFatal

import org.apache.spark.sql.connector.read.streaming.ReadLimit

import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.metadata.{MirroredTopics, OffsetsPolicy, ReplacedClusterPolicy}
import io.github.dynamickafka.offset.Alignment

/**
 * A random history of a query whose Kafka cluster is replaced by copies, there and back, which its seed determines. What an idempotent
 * sink has is compared with what `replacedClusterPolicy` promises.
 */
private object CopiesHistory {
  private val Steps = 40
  private val MostTriggers = 200
  private val Policies = Seq(
    ReplacedClusterPolicy.Fail,
    ReplacedClusterPolicy.Earliest,
    ReplacedClusterPolicy.Latest,
    ReplacedClusterPolicy.SameOffsets,
    ReplacedClusterPolicy.MirrorMaker(ModelReplacements.Group, None, MirroredTopics.Standard(identity = true))
  )

  def failure(seed: Long): Option[String] =
    run(seed, Defect.None, recording = false)
      .flatMap(_ => run(seed, Defect.None, recording = true)).map {
        case (what, steps) => s"DYNAMIC_KAFKA_SEED=$seed: $what\n${steps.mkString("\n")}"
      }

  def wrong(seed: Long, defect: Defect): Option[String] =
    run(seed, defect, recording = false).map(_._1)

  private def run(
      seed: Long,
      defect: Defect,
      recording: Boolean
  ): Option[(String, Seq[String])] = {
    val random = new Random(seed)
    val world = new World(random, recording)
    val policy = Policies((seed % 5).toInt)
    val mirrors = policy.isInstanceOf[ReplacedClusterPolicy.MirrorMaker]
    val exact = policy == ReplacedClusterPolicy.SameOffsets || (!mirrors && random.nextBoolean())
    val sameId = random.nextBoolean()
    val retentionMs = {
      // Without a retention, what is refused and goes back starts again.
      val isNeverRefused = policy == ReplacedClusterPolicy.Earliest || policy == ReplacedClusterPolicy.Latest
      if (isNeverRefused) Seq(0L, 8000L, -1L)(random.nextInt(3)) else -1L
    }
    val copied =
      new CopiedWorld(world, random, exact, sameId, retentionMs, mirrors, syncs = seed / 5 % 2 == 0)
    val entry = if (random.nextInt(4) == 0) OffsetsPolicy.Latest else OffsetsPolicy.Earliest
    val replacements = new ModelReplacements(copied, policy, entry)
    val drains = random.nextBoolean()
    val stop = Option.when(random.nextInt(6) == 0)(world.now - 20000L + random.nextInt(24000))
    val deferring = Deferring(random.nextInt(Deferring.maxId))
    // A second generator, so that the first one draws the same as without these dimensions.
    val more = new Random(~seed)
    val availableNow = more.nextInt(3) == 0
    val history = Option.when(more.nextInt(4) == 0) {
      copied.produce(2)
      new ModelHistory(world, "a", copied.topics)
    }
    val aligned = Option.when(more.nextInt(4) == 0)(
      Alignment.Rules(500L + more.nextInt(10000), more.nextInt(3) * 1000L, waits = !availableNow)
    )
    world.tell(
      s"$policy, exact $exact, same id $sameId, entry $entry, drains $drains, retention $retentionMs, stop $stop, $deferring, " +
        s"AvailableNow $availableNow, $aligned, history ${history.map(_.plan)}"
    )
    val query = new SimulatedQuery(
      world,
      drains,
      policy,
      entry,
      ownStart = None,
      limit = Option.when(random.nextInt(8) == 0)(2L),
      stop,
      logsSome = false,
      deferring,
      aligned,
      defect,
      Some(replacements),
      retentionMs,
      availableNow,
      history
    )
    history.foreach(_ => replacements.started(query.reached.position("a")))
    val outcome =
      new CopiesRun(copied, replacements, query, policy, stop, endsRuns = availableNow && retentionMs == 0)
    val wrong =
      try {
        (1 to Steps).foreach { _ =>
          if (world.chance(60)) outcome.change()
          val limit =
            if (world.chance(50)) ReadLimit.maxRows(random.nextInt(12).toLong) else ReadLimit.allAvailable()
          val _ =
            outcome.trigger(limit, if (world.chance(80)) Crash.Never else Crash(random.nextInt(Crash.maxId)))
        }
        outcome.settled(MostTriggers)
      } catch { case NonFatal(e) => Seq(e.toString + e.getStackTrace.take(6).mkString(" ")) }
    wrong.headOption.map(_ => (wrong.mkString("; "), world.history))
  }
}

/**
 * A query in a world of copies, and what is wrong with what it delivers.
 *
 * @param endsRuns whether each run ends before a failover: without a retention, what a run with `AvailableNow` drains by the metadata of
 *                 its start would enter again as something new
 */
private final class CopiesRun(
    copied: CopiedWorld,
    replacements: ModelReplacements,
    query: SimulatedQuery,
    policy: ReplacedClusterPolicy,
    stop: Option[Long],
    endsRuns: Boolean
) {
  import copied.world
  private var refusals = 0

  /** Without a batch in between, also where another cluster is active. */
  private var refusalsInARow = 0
  private var falseRefusals = Vector.empty[String]

  def change(): Unit = {
    val before = copied.failovers
    moving(copied.change(query.reached, query.hasSeen))
    if (copied.failovers > before) {
      failedOver()
      if (!copied.isKnown || endsRuns) query.restart()
    }
  }

  private def moving(change: => Unit): Unit = {
    val before = world.clusters
    change
    if (world.clusters.exists { case (id, now) => now.id != before(id).id && !query.follows(id) })
      query.restart()
  }

  private def failedOver(): Unit = {
    refusals = 0
    query.moved()
  }

  def trigger(limit: ReadLimit, crash: Crash.Value): Boolean =
    try {
      val found = query.trigger(limit, crash)
      refusals = 0
      refusalsInARow = 0
      found
    } catch {
      case e: DynamicKafkaRuntimeException if e.getCondition.endsWith("CLUSTER_REPLACED") =>
        if (policy == ReplacedClusterPolicy.SameOffsets && copied.isComplete) falseRefusals :+= e.getMessage
        refused(e.getMessage)
      case e: ModelReplacements.Refused => refused(e.getMessage)
    }

  /** A topic is refused for a reason in a copy of which other topics are read, so that there is no way back. */
  private def isRefusedForGood =
    policy == ReplacedClusterPolicy.SameOffsets && !copied.isComplete && refusalsInARow > 4

  private def refused(why: String): Boolean = {
    world.tell(s"refused: ${why.linesIterator.next()}")
    query.restart()
    refusals += 1
    refusalsInARow += 1
    if (refusals == 2) {
      copied.failBack(query.reached)
      failedOver()
    }
    true
  }

  def settled(most: Int): Seq[String] = {
    query.respondInTime()
    moving(copied.settle(query.reached))
    val restsFirst = comesToRest(most)
    moving(copied.settle(query.reached))
    copied.produce(1)
    val rests = restsFirst && comesToRest(most)
    val all = query.delivered
    val beyond = (for {
      log <- copied.logs
      at <- stop.flatMap(world.stopOf(log, _)).toSeq
      record <- log.read(at, log.end)
    } yield record).toSet
    val lost = copied.records -- all -- replacements.excused -- beyond
    val bounds = -1 +: replacements.eras :+ Int.MaxValue
    val inEra = bounds.zip(bounds.tail).flatMap { case (from, to) =>
      // Files have nothing to do with a Kafka cluster, and aligned ones are perhaps read after a failover.
      Seq(true, false).flatMap { ofFiles =>
        val records = query.deliveredIn(n => from < n && n <= to && query.ofFiles(n) == ofFiles)
        records.diff(records.distinct)
      }
    }
    val twice = policy match {
      case ReplacedClusterPolicy.Earliest | _: ReplacedClusterPolicy.MirrorMaker => inEra
      case _ => all.diff(all.distinct)
    }
    Seq(
      Option.when(!rests && !isRefusedForGood)("the query does not come to rest"),
      Option.when(lost.nonEmpty && !isRefusedForGood)(s"lost: ${lost.toSeq.sorted.take(10)}"),
      Option.when(twice.filterNot(query.repeated).nonEmpty)(s"duplicate: ${twice.distinct.take(10)}"),
      query.losses.find(loss => !copied.rewritten(loss.topic)).map(loss => s"not true: $loss"),
      query.tooNew.headOption.map(first => s"not aligned: $first"),
      query.beforeFiles.headOption.map(first => s"before files with older records: $first"),
      replacements.wrongStarts.headOption,
      falseRefusals.headOption.map(why => s"refused without a reason: $why")
    ).flatten
  }

  /** Clusters that are aligned may wait for an idle one. */
  private def comesToRest(most: Int): Boolean = {
    val (pauseMs, enough) = if (query.isAligned) (1000L, 6) else (500L, 3)
    Iterator.iterate(0) { idle =>
      world.passes(pauseMs)
      if (trigger(ReadLimit.allAvailable(), Crash.Never)) 0 else idle + 1
    }.take(most).exists(_ == enough)
  }
}
