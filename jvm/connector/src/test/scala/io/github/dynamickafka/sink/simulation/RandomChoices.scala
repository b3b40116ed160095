package io.github.dynamickafka.sink.simulation

import scala.util.Random

/**
 * Drivers die, stop for a while and continue, at random, and the world changes around them.
 *
 * @param profile how often
 */
private[simulation] final class RandomChoices(random: Random, profile: Profile) extends Choices {
  var world: World = _
  var drivers: Seq[Driver] = Nil

  /** From now on, nothing happens to drivers. */
  var isQuiet = false

  override def chance(perMille: Int): Boolean = !isQuiet && random.nextInt(1000) < perMille
  override def number(below: Int): Int = random.nextInt(below)

  override def at(driver: Driver, what: String): Unit = {
    if (driver.isDead) throw new Died
    if (chance(profile.crashes)) {
      world.tell(s"${driver.run} dies before $what")
      driver.isDead = true
      throw new Died
    }
    if (chance(profile.changes)) world.inside(change())
    // Alone, it would only be resumed at once.
    if ((others || drivers.count(_.coroutine.isAlive) > 1) && chance(profile.pauses)) {
      driver.coroutine.pause()
      if (driver.isDead) throw new Died
    }
  }

  private def others = profile.mostAlive > 1 || profile.copies > 0

  private def change(): Unit = number(15) match {
    case 0 | 1 | 2 => setDown(Driver.Ids.filter(_ => chance(400)).toSet)
    case 3 | 4 | 5 => setDown(Set.empty)
    case 6 | 7 => pass(1000L * (1 + number(20)))
    case 8 => pass(1000L * (30 + number(60)))
    case 9 => pass(1000L * 400L)
    case 10 if chance(profile.rare) => pass(ModelKafka.ExpirationMs + 1000L * 3600L)
    case 11 if chance(profile.rare) => lead()
    case 12 => world.recreateTopic(world.kafkas(number(world.kafkas.size)))
    case _ => wake()
  }

  private def setDown(ids: Set[String]): Unit = {
    world.down = ids
    world.tell(s"down: $ids")
  }

  private def pass(ms: Long): Unit = {
    world.advanceMs(ms)
    world.tell(s"$ms ms pass")
  }

  /** An id of the metadata leads to another Kafka cluster, which may be a former one again. */
  private def lead(): Unit = {
    val id = Driver.Ids(number(Driver.Ids.size))
    val to =
      if (chance(500)) world.newKafka(60000L, bumps = chance(500))
      else world.kafkas(number(world.kafkas.size))
    world.leads += id -> to
    world.tell(s"$id leads to ${to.id}")
  }

  /** An attempt that Spark has given up continues. */
  private def wake(): Unit = {
    val all = drivers.flatMap(d => d.zombies.map(d -> _))
    if (all.nonEmpty) {
      val (driver, zombie) = all(number(all.size))
      driver.zombies = driver.zombies.filterNot(_ eq zombie)
      world.tell(s"a stalled attempt of ${driver.run} continues")
      zombie.goOn()
    }
  }
}

/** How often what happens in a history, out of a thousand steps. */
private[simulation] final case class Profile(
    crashes: Int,
    pauses: Int,
    changes: Int,
    rare: Int,
    faults: Int,
    tasks: Tasks,
    isAlias: Boolean,
    isExclusive: Boolean,
    mostAlive: Int,
    copies: Int,
    restores: Int,
    replayLost: Boolean,
    splits: Int,
    refusals: Int,
    marksLate: Boolean,
    handMade: Boolean
)

private[simulation] object Profile {
  def of(random: Random): Profile = {
    def any(some: Int*): Int = some(random.nextInt(some.size))
    val isExclusive = random.nextInt(4) > 0
    Profile(
      crashes = any(0, 3, 10, 30),
      pauses = any(0, 10, 100, 300),
      changes = any(0, 10, 50),
      rare = any(0, 0, 100, 500),
      faults = any(0, 0, 5, 20),
      Tasks(
        1 + random.nextInt(2),
        failing = any(0, 50),
        stalled = any(0, 0, 100),
        deferring = any(0, 0, 400),
        lacking = any(0, 100)
      ),
      isAlias = random.nextInt(6) == 0,
      isExclusive,
      mostAlive = if (isExclusive) 1 + random.nextInt(2) else 1,
      copies = any(0, 0, 200),
      restores = any(0, 0, 300),
      replayLost = random.nextInt(4) == 0,
      splits = 0,
      refusals = 0,
      marksLate = false,
      handMade = false
    )
  }
}
