package io.github.dynamickafka.sink.simulation

import java.util.concurrent.atomic.AtomicLong

import scala.collection.mutable

/**
 * The interleavings of two runs of a query that run the same logged batch, with one task and two clusters: all in which runs take
 * turns at most as often as given. A step is a request of a run, about a file or to a cluster. In each state, both runs are also left
 * to die, and the query is started again in each of the ways of [[Aftermath]]: these are all points at which one run or both can
 * crash, because a run that crashes does nothing more.
 *
 * Runs cannot be copied: each interleaving is run from the beginning, up to a state that is known. Two states are the same if
 * files, transactions and what readers see are equal, and for each run the hash of all answers that it has had.
 *
 * Bounded besides: no request fails, no time passes while a run of the two is alive, and no task has a second attempt.
 *
 * @param switches how often a run is stopped that could do its next step, and the other one continues. After the end of one, the other
 *                 one continues in any case
 * @param isDeferred whether the second run defers a record of the batch, if it may
 */
private[simulation] final class Exploration(switches: Int, isDeferred: Boolean, defect: Defect) {
  import Exploration._

  private val name = s"e${numbers.incrementAndGet()}"
  private val states = mutable.HashSet.empty[Any]
  private val known = mutable.HashSet.empty[Any]
  private val left = mutable.HashSet.empty[Any]
  // Those with fewer switches first, so that a state is reached with the fewest.
  private val open = mutable.Queue(Vector(0) -> 0, Vector(1) -> 0)
  private var transitions, starts = 0L

  /** What is wrong in one of them, with its steps; if nothing is, how many there are. */
  def run(): Either[String, Counts] = {
    var wrong = Option.empty[String]
    while (wrong.isEmpty && open.nonEmpty) {
      val (schedule, used) = open.dequeue()
      wrong = follow(schedule, used)
    }
    wrong.toLeft(Counts(states.size, transitions, left.size, starts))
  }

  /** From the end of a schedule on, up to a state that is known. */
  private def follow(from: Vector[Int], used: Int): Option[String] =
    new Interleaving(name, isDeferred, defect).run { path =>
      turns(from).foreach { case (run, times) => path.step(run, times) }
      transitions += 1
      var schedule = from
      var wrong = Option.empty[String]
      var isNew = true
      while (isNew) {
        val state = path.state
        val alive = path.alive
        // The run that continues without another switch.
        val next = alive.find(_ == schedule.last).orElse(alive.headOption)
        states += state
        isNew = known.add((state, next))
        if (isNew) {
          wrong = path.wrong.orElse(startedAgain(path))
          isNew = wrong.isEmpty && next.isDefined
        }
        if (isNew) next.foreach { run =>
          if (used < switches)
            alive.filter(_ != run).foreach(other => open.enqueue((schedule :+ other) -> (used + 1)))
          transitions += 1
          path.step(run)
          schedule :+= run
        }
      }
      wrong.map(what =>
        s"$what, after ${turns(schedule).map { case (run, n) => s"$n of run $run" }.mkString(", ")}"
      )
    }

  private def startedAgain(path: Interleaving): Option[String] =
    // It depends only on what the runs have left.
    if (!left.add(path.world.state)) None
    else {
      starts += Aftermath.all.size.toLong
      Aftermath.all.iterator.flatMap(path.after(_)).nextOption()
    }
}

private[simulation] object Exploration {
  private val numbers = new AtomicLong

  /**
   * @param states of both runs
   * @param left what runs can leave behind when they die
   * @param starts that were tried with it
   */
  final case class Counts(states: Int, transitions: Long, left: Int, starts: Long)

  /** Each run with the number of its steps, in their order. */
  private def turns(schedule: Seq[Int]): Seq[(Int, Int)] = schedule.foldLeft(Vector.empty[(Int, Int)]) {
    case (done :+ ((last, n)), run) if last == run => done :+ (run -> (n + 1))
    case (done, run) => done :+ (run -> 1)
  }
}
