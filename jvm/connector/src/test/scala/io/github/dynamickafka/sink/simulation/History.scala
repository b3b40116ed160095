package io.github.dynamickafka.sink.simulation

import java.util.concurrent.atomic.AtomicLong

import scala.util.Random

import io.github.dynamickafka.storage.SimulatedFileManager

/**
 * A random history of a query that writes exactly once, which its seed determines: drivers die and are paused at each of their
 * requests, two runs are alive, attempts of tasks are stalled, clusters do not respond or are replaced, transactions and their
 * ids expire, checkpoints are restored and copied. Afterwards all clusters respond, and the query is started until it continues or
 * fails with a condition that names why it cannot.
 */
private[simulation] final class History(seed: Long, defect: Defect, isRecording: Boolean) {
  import History._

  private val random = new Random(seed)
  // Not drawn, so that the other histories stay as they are.
  private val splits = if (seed % 3 == 0) 300 else 0
  private val refusals = if (seed % 7 == 1) 30 else 0
  private val marksLate = seed % 5 == 2
  private val handMade = seed % 11 == 4
  private val drawn = Profile.of(random)
  private val profile = defect.favours(drawn.copy(
    splits = splits,
    refusals = refusals,
    marksLate = marksLate,
    handMade = handMade,
    // A journal that is restored lacks decisions about batches of the commit log.
    restores = if (handMade) 0 else drawn.restores
  ))
  private val choices = new RandomChoices(random, profile)
  private val world =
    new World(s"w${numbers.incrementAndGet()}", choices, profile.isExclusive, defect, isRecording)
  private val damage = new Damage(world, random, profile)
  private var copies = 0
  choices.world = world

  /** What is wrong, or how the query has ended. */
  def run(): Either[Seq[String], String] = SimulatedFileManager.using(world.name, world) {
    world.leads = Map("a" -> world.newKafka(60000L, random.nextBoolean()))
    world.leads += "b" ->
      (if (profile.isAlias) world.leads("a") else world.newKafka(300000L, random.nextBoolean()))
    world.faults = profile.faults
    world.splits = profile.splits
    world.refusals = profile.refusals
    world.marksLate = profile.marksLate
    while (world.steps < Steps && world.violations.isEmpty) turn()
    val end = settled()
    // Their producers are closed in real time.
    world.advanceMs(ModelKafka.ExpirationMs)
    if (world.violations.nonEmpty) Left(world.violations) else Right(end)
  }

  def steps: Seq[String] = world.history

  private def alive: Seq[Driver] = choices.drivers.filter(_.coroutine.isAlive)

  private def turn(): Unit = {
    val mains = alive.filter(_.checkpoint == Main)
    if (mains.isEmpty) damage.between()
    if (mains.isEmpty || (mains.size < profile.mostAlive && random.nextInt(3) == 0)) start(Main)
    else if (alive.size == mains.size && random.nextInt(1000) < profile.copies) {
      copies += 1
      damage.copy(Main, s"copy$copies")
      start(s"copy$copies")
    }
    val now = alive
    if (now.nonEmpty) world.resume(now(random.nextInt(now.size)))
  }

  private def start(checkpoint: String): Driver = {
    val driver = new Driver(
      choices.drivers.size,
      checkpoint,
      world,
      profile.tasks,
      profile.replayLost,
      most = 1 + random.nextInt(6)
    )
    choices.drivers :+= driver
    world.tell(s"start of ${driver.run} with $checkpoint")
    driver
  }

  private def settled(): String = {
    choices.isQuiet = true
    world.tell("everything responds from now on")
    alive.foreach(world.kill)
    world.down = Set.empty
    world.faults = 0
    world.refusals = 0
    val ends = Iterator.continually {
      world.advanceMs(1000L)
      val last = start(Main)
      world.resume(last)
      last.ended.getOrElse("died")
    }.take(MostStarts).toSeq
    // A start before it may have stopped ahead of the batch that cannot be written.
    val end = ends.last
    if (world.violations.isEmpty) {
      if (end == Driver.Stopped) damage.missing().foreach(what => world.wrong(s"lost: $what"))
      else if (!damage.mayEndWith(end)) world.wrong(s"the query cannot continue: $end")
    }
    end
  }
}

private[simulation] object History {
  val Main = "main"
  private val Steps = 400
  private val MostStarts = 3
  private val numbers = new AtomicLong

  /** What is wrong in a history, with its seed and its steps. */
  def failure(seed: Long): Option[String] =
    // The steps are recorded the second time only.
    wrong(seed, Defect.None).map { first =>
      val again = new History(seed, Defect.None, isRecording = true)
      val what = again.run().fold(_.mkString("; "), end => s"$first, but then: $end")
      s"DYNAMIC_KAFKA_SEED=$seed: $what\n${again.steps.mkString("\n")}"
    }

  /** What is wrong in a history of a query with this defect. */
  def wrong(seed: Long, defect: Defect): Option[String] =
    end(seed, defect).left.toOption.map(_.mkString("; "))

  /** What is wrong, or how the query has ended. */
  def end(seed: Long, defect: Defect): Either[Seq[String], String] =
    new History(seed, defect, isRecording = false).run()
}
