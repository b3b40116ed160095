package io.github.dynamickafka.offset

import scala.util.Random

import org.scalatest.Assertions.assert

/**
 * A query that reads clusters of random logs, aligned, with random limits and clusters that fail, and a clock of its own. Some partitions
 * have a history in files.
 *
 * @param hasHistory whether some partitions have one
 */
final class AlignmentRun(
    random: Random,
    hasHistory: Boolean = false,
    defect: AlignmentRun.Defect = AlignmentRun.NoDefect
) {
  import AlignmentRun._

  private val driftMs = 1L + random.nextInt(20000)
  private val idleMs = random.nextInt(3) * 1000L
  private val waits = random.nextInt(4) > 0
  private val reports = random.nextBoolean()
  private val rules = Alignment.Rules(driftMs, idleMs, waits)
  private var now = 1000000L
  private var logs: Map[LogKey, TimedLog] = (for {
    c <- 0 to random.nextInt(4)
    p <- 0 to random.nextInt(3)
  } yield LogKey(s"c$c", "t", p) -> TimedLog.any(random, now, 40)).toMap
  private var at = logs.map { case (key, log) => key -> random.nextInt(log.end.toInt + 1).toLong }
  private var kept = Alignment.none
  private var ahead = Map.empty[LogKey, Long]
  private var unread = Map.empty[String, Long]
  private var answered = Map.empty[String, Long]
  private val ids = logs.keySet.map(_.cluster)
  private val history = AlignedFiles.any(random, if (hasHistory) logs.keys.toSeq else Nil, now)
  private var files = history.unread(1 + random.nextInt(4))

  def all(): Unit = {
    (0 until 25).foreach(_ => trigger(mayFail = waits))
    // Held for the time-out at most, each time a cluster becomes idle.
    Iterator.continually(trigger(mayFail = false)).take(2000).takeWhile(_ => isUnread).foreach(_ => ())
    assert(
      !isUnread,
      s"not read: ${history.left(files)}, ${logs.filter { case (key, log) => at(key) < log.end }} from $at"
    )
  }

  private def isUnread =
    logs.exists { case (key, log) => at(key) < log.end } || history.left(files).nonEmpty

  /** Whether files that are not read have earlier records of this partition. */
  private def follows(key: LogKey) = history.left(files).exists(history.rows(_).exists(_._1 == key))

  private def trigger(mayFail: Boolean): Unit = {
    now += random.nextInt(500)
    if (mayFail)
      logs = logs.map { case (key, log) =>
        key -> (if (random.nextInt(4) == 0) log.append(now - random.nextInt(3000)) else log)
      }
    val down = if (mayFail) ids.filter(_ => random.nextInt(6) == 0) else Set.empty[String]
    val here = logs.filterNot(of => down(of._1.cluster))
    val isWaiting = if (defect == KafkaDoesNotWait) Set.empty[LogKey] else here.keySet.filter(precede)
    val spans = here.filterNot(of => isWaiting(of._1)).toIndexedSeq.map { case (key, log) =>
      Span(key, at(key), log.end, enters = false)
    }
    val silent = if (mayFail) ids.filter(_ => random.nextInt(8) == 0) else Set.empty[String]
    val known = if (reports) kept.reported(key => logs(key).reported(at(key))) else kept
    val begun = known.begin(
      rules,
      spans,
      ids.map(id => id -> Alignment.Cluster(!down(id))).toMap,
      now,
      now,
      leastOf(files)
    )
    val started =
      if (random.nextBoolean()) begun
      else begun.answered(
        Map.empty,
        for ((key, time) <- ahead; known <- kept.times.get(key))
          yield key -> logs(key).answer(time, now, known.end)
      )
    val (decided, failed) = decide(started, silent, Set.empty)
    ids.foreach { id =>
      val isNew = !answered.contains(id)
      if (isNew || (!down(id) && !failed(id))) answered += id -> now
      if (isNew || decided.from.alignment.times.exists(p => p._1.cluster == id && p._2.isUnread))
        unread += id -> now
    }
    val left = defect match {
      case NoOldestFile => files.next(decided.bound, Long.MaxValue / 4)
      case NoBound => files.next(None, driftMs)
      case _ => files.next(decided.bound, driftMs)
    }
    val toRead = here.filter { case (key, log) => at(key) < log.end && !isWaiting(key) }
    check(decided, left, toRead, failed, down)
    val most = if (random.nextInt(3) == 0) 1 + random.nextInt(5) else Int.MaxValue
    val read =
      if (left.isDefined) Map.empty[LogKey, Long]
      else decided.ends.map { case (key, end) => key -> math.min(end, at(key) + most) }
    read.foreach { case (key, end) =>
      assert(end == at(key) || !follows(key), s"$key is read before its files")
    }
    at ++= read
    files = left.getOrElse(files)
    kept = decided.from.ended(read)
    ahead = decided.from.ahead(read, leastOf(files))
  }

  private def precede(key: LogKey) = files.precede(Seq(key.cluster), key.topic, key.partition)

  private def leastOf(files: UnreadFiles) = if (defect == FilesHoldNobody) None else files.least

  private def decide(
      trigger: AlignedTrigger,
      silent: Set[String],
      failed: Set[String],
      rounds: Int = 0
  ): (Alignment.Aligned, Set[String]) = trigger.next match {
    case decided: Alignment.Aligned => (decided, failed)
    case Alignment.Ask(questions, from) =>
      assert(rounds < 120 && questions.nonEmpty, s"too many rounds: $from")
      val answers = questions.filterNot(q => silent(q._1.cluster)).map { case (key, time) =>
        key -> logs(key).answer(time, now, from.endOf(key).get)
      }
      val more = questions.keySet.map(_.cluster).intersect(silent)
      decide(from.answered(questions, answers), silent, failed ++ more, rounds + 1)
  }

  private def check(
      decided: Alignment.Aligned,
      left: Option[UnreadFiles],
      here: Map[LogKey, TimedLog],
      failed: Set[String],
      down: Set[String]
  ): Unit = {
    val open = here.filterNot(of => failed(of._1.cluster))
    val oldestRecord = open.flatMap { case (key, log) => log.timeAt(at(key)).filter(_ <= now) }.minOption
    val oldestRow = history.times(files).filter(_ <= now).minOption
    val oldest = (oldestRecord ++ oldestRow).minOption
    left.foreach { more =>
      val before = history.left(files)
      val read = before.take(before.size - history.left(more).size)
      assert(read.nonEmpty && read.size <= files.most && read.toSet == before.toSet -- history.left(more))
      def isOld(file: String) = history.rows(file).forall { case (_, time) =>
        oldest.forall(o => time < o + driftMs || o + driftMs > now)
      }
      // Those up to the oldest row of all.
      val isNext = oldestRow.filter(row => oldestRecord.forall(row <= _)).fold(Set.empty[String]) { row =>
        before.take(1 + before.lastIndexWhere(history.rows(_).exists(_._2 == row))).toSet
      }
      val tooNew = read.filterNot(file => isOld(file) || isNext(file))
      assert(
        tooNew.isEmpty,
        s"$tooNew of $before is read while the oldest is $oldest, drift $driftMs: $decided"
      )
    }
    if (left.isEmpty) for ((key, log) <- open; oldest <- oldest if !log.timeAt(at(key)).exists(_ > now)) {
      val read = log.between(at(key), decided.ends(key))
      val tooNew = read.filter { case (_, time) => time >= oldest + driftMs && oldest + driftMs <= now }
      assert(tooNew.isEmpty, s"$tooNew of $key is read while the oldest is $oldest, drift $driftMs: $decided")
    }
    assert(here.keySet.subsetOf(decided.ends.keySet), s"not aligned: ${here.keySet -- decided.ends.keySet}")
    val isHeld = left.isEmpty && decided.ends.forall { case (key, end) => at(key) == end }
    if (isHeld && (open.nonEmpty || oldestRow.isDefined)) {
      val isWaiting = waits && ids.exists { id =>
        val isIdle = !open.exists(_._1.cluster == id)
        (isIdle && now - unread(id) < idleMs) || ((failed ++ down)(id) && now - answered(id) < idleMs)
      }
      assert(isWaiting, s"nothing advances: $decided")
    }
  }
}

object AlignmentRun {
  sealed trait Defect extends Product with Serializable
  case object NoDefect extends Defect
  case object FilesHoldNobody extends Defect
  case object NoOldestFile extends Defect
  case object NoBound extends Defect
  case object KafkaDoesNotWait extends Defect
}
