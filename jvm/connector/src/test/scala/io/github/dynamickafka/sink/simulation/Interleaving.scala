package io.github.dynamickafka.sink.simulation

import io.github.dynamickafka.storage.SimulatedFileManager

/**
 * One of the interleavings of an [[Exploration]].
 *
 * @param name the same for all of them, because it is in the paths of files
 */
private[simulation] final class Interleaving(name: String, isDeferred: Boolean, defect: Defect)
    extends Choices {
  import History.Main
  import Interleaving._

  val world = new World(name, this, isExclusive = true, defect, isRecording = false)
  private val home = s"/$name/$Main"
  private val logged = Map(s"$home/metadata" -> "q", s"$home/offsets/0" -> "2;")
  private val constant =
    Seq("/metadata", "/offsets", "/dynamic-kafka-sink/run") ++ (if (isDeferred) Nil
                                                                else Seq("/sources", "/deferred"))
  private var ahead = 0
  private var chances = Map.empty[Int, Int].withDefaultValue(0)
  private lazy val drivers = Seq(driver(0, most = 1), driver(1, most = 1))

  private def driver(number: Int, most: Int) = {
    val deferring = if (isDeferred && number == 1) 1000 else 0
    new Driver(
      number,
      Main,
      world,
      Tasks(1, failing = 0, stalled = 0, deferring),
      replayLost = false,
      most
    )
  }

  def run[A](body: Interleaving => A): A = SimulatedFileManager.using(name, world) {
    world.files = logged
    // What a run can leave behind without its mark is more than with it.
    world.marksLate = true
    world.leads =
      Map("a" -> world.newKafka(60000L, bumps = true), "b" -> world.newKafka(300000L, bumps = true))
    // Up to the first step of each.
    drivers.foreach(world.resume)
    try body(this)
    finally {
      drivers.foreach(world.kill)
      // Their producers are closed in real time.
      world.advanceMs(ModelKafka.ExpirationMs)
    }
  }

  /** The runs that have not ended. */
  def alive: Seq[Int] = drivers.filter(_.coroutine.isAlive).map(_.number)

  /** A run does its next requests, and what follows up to the one after them. */
  def step(run: Int, times: Int = 1): Unit = {
    ahead = times - 1
    world.resume(drivers(run))
    if (world.nowMs != 0L || !logged.forall { case (path, text) => world.files.get(path).contains(text) })
      throw new IllegalStateException("states are not compared by what has changed")
  }

  def state: Any = (world.state, drivers.map(_.state))

  def wrong: Option[String] = world.violations.headOption

  /** Both runs have died, and the query is started again until it continues. */
  def after(how: Aftermath): Option[String] = world.undoing {
    how.happens(world, home)
    val end = started(2)
    wrong.orElse(missing(end)).orElse(
      Option.when(end != Driver.Stopped && !how.mayEndWith(
        end,
        isDeferred,
        world.visible.valuesIterator.exists(_ > 0)
      ))(
        s"the query cannot continue: $end"
      )
    ).map(what => s"$what (${how.name})")
  }

  @annotation.tailrec
  private def started(number: Int): String = {
    world.advanceMs(1000L)
    // Also the batch after it, which has the records that were deferred.
    val last = driver(number, most = 2)
    world.resume(last)
    val end = last.ended.getOrElse("died")
    if (end == Driver.Stopped || number == MostStarts + 1) end else started(number + 1)
  }

  private def missing(end: String): Option[String] = if (end != Driver.Stopped) None
  else {
    val plans = world.files.collect { case (path, text) if path.startsWith(s"$home/offsets/") => text }
    val until = plans.map(_.takeWhile(_ != ';').toLong).max
    val lost = (0L until until).filter(n => world.visible(World.record(Main, "q", n)) == 0)
    Option.when(lost.nonEmpty)(s"lost: ${lost.mkString(", ")}")
  }

  override def at(driver: Driver, what: String): Unit = {
    if (driver.isDead) throw new Died
    if (driver.number < 2 && !isConstant(what)) {
      if (ahead > 0) ahead -= 1
      else {
        driver.coroutine.pause()
        if (driver.isDead) throw new Died
      }
    }
  }

  /** Whether it reads what neither run changes: when it does so makes no difference. */
  private def isConstant(what: String): Boolean =
    Reads.exists(what.startsWith) && constant.exists(part => what.endsWith(part) || what.contains(s"$part/"))

  /** Every second one of those that are open. */
  override def chance(perMille: Int): Boolean = perMille >= 1000 || perMille == 500 && {
    val run = world.current.fold(-1)(_.number)
    chances += run -> (chances(run) + 1)
    chances(run) % 2 == 0
  }

  override def number(below: Int): Int = math.min(2, below - 1)
}

private[simulation] object Interleaving {
  private val MostStarts = 3
  private val Reads = Seq("get ", "head ", "list ", "read ", "last of ")
}

/** What happens before the query is started again. */
private[simulation] sealed abstract class Aftermath(val name: String) {
  def happens(world: World, home: String): Unit

  /** Whether the query may be stopped for good by this condition. */
  def mayEndWith(condition: String, isDeferred: Boolean, isVisible: Boolean): Boolean = condition match {
    case "JOURNAL_CONFLICT" => isDeferred
    // Nothing is lost by it then.
    case "TRANSACTION_UNKNOWN" => !isVisible
    case _ => false
  }
}

private[simulation] object Aftermath {
  private final class Later(when: String, ms: Long) extends Aftermath(when) {
    override def happens(world: World, home: String): Unit = world.advanceMs(ms)
    override def mayEndWith(condition: String, isDeferred: Boolean, isVisible: Boolean): Boolean =
      condition == "PARTIAL_COMMIT" || condition == "TRANSACTION_UNKNOWN" ||
        super.mayEndWith(condition, isDeferred, isVisible)
  }

  private object AtOnce extends Aftermath("started at once") {
    override def happens(world: World, home: String): Unit = ()
  }

  private object Replanned extends Aftermath("the last files of Spark are lost") {
    override def happens(world: World, home: String): Unit = {
      val last = world.namesIn(s"$home/offsets").toSeq.flatten.map(_.toLong).max
      world.files --= Seq(s"offsets/$last", s"commits/$last", s"sources/0/dynamic-kafka/deferred/$last.json")
        .map(file => s"$home/$file")
    }
    override def mayEndWith(condition: String, isDeferred: Boolean, isVisible: Boolean): Boolean =
      condition == "JOURNAL_CONFLICT" || super.mayEndWith(condition, isDeferred, isVisible)
  }

  val all: Seq[Aftermath] = Seq(
    AtOnce,
    new Later("when one cluster has aborted what was open", 100000L),
    new Later("when Kafka has forgotten all ids", ModelKafka.ExpirationMs + 3600000L),
    Replanned
  )
}
