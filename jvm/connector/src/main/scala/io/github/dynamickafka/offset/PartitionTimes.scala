package io.github.dynamickafka.offset

/** A partition of a topic of a cluster. */
private[dynamickafka] final case class LogKey(cluster: String, topic: String, partition: Int)

/**
 * Kafka's answer to the question for the first record of a time or later. A log is only appended to, so it stays true.
 *
 * @param asked the time in the question
 * @param offset the offset of the record; without a record, all records below it are older than `asked`
 * @param found the time of the record, if there is one
 * @param at when the answer came, in epoch milliseconds
 */
private[dynamickafka] final case class TimeAnswer(asked: Long, offset: Long, found: Option[Long], at: Long) {

  /** Whether both can be about the same log: neither question would have had the answer to the other one. */
  def agreesWith(that: TimeAnswer): Boolean =
    !precludes(that) && !that.precludes(this) && (!isOfSame(that) || found == that.found)

  private def precludes(that: TimeAnswer): Boolean = found.exists(_ >= that.asked) && offset < that.offset

  def isOfSame(that: TimeAnswer): Boolean = offset == that.offset && found.isDefined == that.found.isDefined
}

/**
 * The times of the records that tasks have read of a partition. Negative: there is none.
 *
 * @param offset the offset of the last record that was read
 * @param time its time
 * @param greatest the greatest time of the records that were read
 */
private[dynamickafka] final case class ReadTime(offset: Long, time: Long, greatest: Long) {

  /** The greatest time that is known not to be one of the future. */
  def until(now: Long): Option[Long] = Seq(greatest, time).find(found => 0L <= found && found <= now)
}

/**
 * What is known of the time of one partition at the position of the query. Immutable.
 *
 * The time of a position is the greatest time of the records up to the first unread one, inclusive: `offsetsForTimes` answers
 * questions about this time, and a partition that has the least one can always advance, also if its records are out of order.
 * Without unread records, it is the greatest time of the records that were read.
 *
 * @param at the position
 * @param end the latest offset that is known
 * @param before the position before the last batch
 * @param passed the greatest time of a record below the position that is known
 * @param answers answers about the records from the position on
 * @param read what tasks have reported
 */
private[dynamickafka] final case class PartitionTimes(
    at: Long,
    end: Long,
    before: Long,
    passed: Option[Long] = None,
    answers: Vector[TimeAnswer] = Vector.empty,
    read: Option[ReadTime] = None
) {
  import PartitionTimes._

  def isUnread: Boolean = at < end

  /** The answer about the first unread record: all before are older. Records without a time count as the next one with a time. */
  private lazy val first: Option[TimeAnswer] =
    answers.find(a => a.found.isDefined && (a.offset == at || a.asked == 0L))

  /** Whether no record up to the latest offset has a time. */
  def isTimeless: Boolean = answers.exists(a => a.found.isEmpty && a.asked == 0L && a.offset > at)

  /** A lower limit of the time of the position. */
  lazy val least: Option[Long] = first.filter(_ => isUnread).flatMap(_.found).orElse(passed)

  /** The time of the position is less than this. */
  lazy val below: Long =
    if (isUnread)
      first.flatMap(_.found).fold {
        answers.iterator.filter(_.offset > at).map(_.asked).minOption.getOrElse(Long.MaxValue)
      }(_ + 1)
    else if (read.exists(r => r.offset >= before && r.offset < at)) passed.fold(Long.MaxValue)(_ + 1)
    else answers.iterator.map(_.asked).minOption.getOrElse(Long.MaxValue)

  /**
   * Whether questions for times do not help, because a record up to the first unread one has a time of the future: they find
   * this record.
   */
  def isAhead(now: Long): Boolean =
    (if (isUnread && first.isDefined) first.flatMap(_.found) else passed).exists(_ > now)

  /** The least possible time of the position. One of the future counts as the time when it was found. */
  def time(now: Long): Option[Long] =
    if (!isAhead(now)) least
    else if (isUnread && first.isDefined) first.map(_.at)
    else read.flatMap(_.until(now))

  /**
   * The offset up to which the records are older than this time, at most the latest offset, if it is known.
   *
   * @param now epoch milliseconds
   */
  def endAt(bound: Long, now: Long): Option[Long] =
    if (isAhead(now)) Some(if (time(now).forall(_ < bound)) math.min(end, at + AheadStep) else at)
    else if (least.exists(_ >= bound)) Some(at)
    else
      answers.collectFirst {
        case TimeAnswer(asked, offset, Some(found), _) if asked <= bound && bound <= found =>
          math.min(end, offset)
      }.orElse(answers.collectFirst { case a if a.asked <= bound && a.offset >= end => end })

  /** At another position. What is known of the log before a position that goes back is not used. */
  def moved(to: Long, newEnd: Long): PartitionTimes =
    if (to < at) PartitionTimes(to, newEnd, to)
    else if (to == at) if (newEnd == end) this else copy(end = newEnd)
    else {
      val (behind, kept) = answers.partition(_.offset < to)
      val reported = read.filter(_.offset < to).map(_.greatest).filter(_ >= 0L)
      copy(
        at = to,
        end = newEnd,
        before = at,
        passed = (passed ++ behind.flatMap(_.found) ++ reported).maxOption,
        answers = kept
      )
    }

  /** A newer answer is the right one: the log may have been truncated. */
  def answered(answer: TimeAnswer): PartitionTimes = {
    val agreeing = answers.filter(_.agreesWith(answer))
    answer.found match {
      case Some(found) if answer.offset < at => copy(passed = later(found), answers = agreeing)
      case None if answer.offset < at => this
      case _ =>
        val same = agreeing.find(_.isOfSame(answer))
        val kept = same.fold(answer)(a => if (a.asked <= answer.asked) a else answer.copy(at = a.at))
        copy(answers = agreeing.filterNot(same.contains) :+ kept)
    }
  }

  def reported(found: ReadTime): PartitionTimes =
    if (read.contains(found)) this
    else if (found.offset >= at || found.greatest < 0L) copy(read = Some(found))
    else copy(read = Some(found), passed = later(found.greatest))

  private def later(time: Long): Option[Long] = Some(passed.fold(time)(math.max(_, time)))
}

private[dynamickafka] object PartitionTimes {

  /** The records that are read at once where times are not known, because a time of the future hides them. */
  val AheadStep = 1000L
}
