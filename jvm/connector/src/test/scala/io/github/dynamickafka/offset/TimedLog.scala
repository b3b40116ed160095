package io.github.dynamickafka.offset

import scala.util.Random

/**
 * A log whose records have times.
 *
 * @param records offsets and times; a record without a time has -1
 * @param end the latest offset, perhaps beyond control records
 */
final case class TimedLog(records: Vector[(Long, Long)] = Vector.empty, end: Long = 0L) {

  def append(time: Long): TimedLog = TimedLog(records :+ (end -> time), end + 1)

  /** Without the records of some offsets, as after compaction. */
  def compacted(random: Random): TimedLog = copy(records = records.filter(_ => random.nextInt(5) > 0))

  def withControlRecord: TimedLog = copy(end = end + 1)

  /** Kafka's answer: the first record with this time or a later one. */
  def first(time: Long): Option[(Long, Long)] = records.find(_._2 >= time)

  def unread(at: Long): Option[(Long, Long)] = records.find(_._1 >= at)

  /** The greatest time up to the first unread record, inclusive; of the first record with a time if none has one so far. */
  def timeAt(at: Long): Option[Long] = {
    val until = unread(at).fold(Long.MaxValue)(_._1)
    records.iterator.takeWhile(_._1 <= until).map(_._2).filter(_ >= 0).maxOption
      .orElse(records.iterator.map(_._2).find(_ >= 0))
  }

  def between(from: Long, until: Long): Vector[(Long, Long)] =
    records.filter { case (o, _) => from <= o && o < until }

  def reported(until: Long): Option[ReadTime] = {
    val read = records.takeWhile(_._1 < until)
    read.lastOption.map { case (o, time) => ReadTime(o, time, read.map(_._2).max) }
  }

  def answer(asked: Long, now: Long, end: Long): TimeAnswer =
    first(asked).fold(TimeAnswer(asked, end, None, now)) { case (o, time) =>
      TimeAnswer(asked, o, Some(time), now)
    }
}

object TimedLog {

  /** Kafka takes any number as a time, also one of nanoseconds. */
  private def future(random: Random, now: Long): Long = random.nextInt(4) match {
    case 0 => Long.MaxValue - random.nextInt(2)
    case 1 => now * 1000000L
    case _ => now + 1 + random.nextInt(100000)
  }

  /** Times that mostly increase up to `now`, some of them out of order, equal, in the future, or missing. */
  def any(random: Random, now: Long, most: Int): TimedLog = {
    val spread = 1 + random.nextInt(100000)
    var time = now - spread
    val log = (0 until random.nextInt(most)).foldLeft(TimedLog()) { (log, _) =>
      time = math.min(now, time + random.nextInt(math.max(1, 3 * spread / most)))
      val next = random.nextInt(40) match {
        case 0 => -1L
        case 1 => future(random, now)
        case 2 | 3 => math.max(0L, time - random.nextInt(spread))
        case _ => time
      }
      log.append(next)
    }
    val left = if (random.nextInt(3) == 0) log.compacted(random) else log
    if (random.nextInt(3) == 0) left.withControlRecord else left
  }
}
