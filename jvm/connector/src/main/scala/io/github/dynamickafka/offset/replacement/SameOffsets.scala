package io.github.dynamickafka.offset.replacement

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.offset.Continuation

/** `replacedClusterPolicy=same-offsets`: whether the new cluster has the records that were read. Pure. */
private[dynamickafka] object SameOffsets {

  /**
   * What is read of a partition of the new cluster.
   *
   * @param record the offset of the last record that was read
   * @param position the next offset to read
   */
  final case class Question(record: Long, position: Long)

  /**
   * @param record the record at the first offset of the question, if the log has it
   * @param next the first record from the position on, if the former is gone and there is one
   */
  final case class Answer(record: Option[LastRecord], next: Option[LastRecord] = None)

  /** Producers and the driver have clocks of their own. */
  private val ClockDifferenceMs = 60000L

  /** What has to be read, or why the positions cannot be those of the new cluster. */
  def questions(of: Replacement): Either[String, SortedMap[(String, Int), Question]] = {
    val all = for ((topic, _) <- of.continuing; (p, at) <- of.positions.of(topic)) yield {
      val (first, end) = (of.view.earliest.get(topic, p), of.view.ends.get(topic, p))
      val where = s"topic '$topic', partition $p: the next offset to read is $at"
      (first, end) match {
        case (_, None) => Left(s"topic '$topic' has no partition $p")
        case (Some(first), _) if at < first => Left(s"$where, but the earliest available offset is $first")
        case (_, Some(end)) if at > end => Left(s"$where, but the latest offset is $end")
        case _ =>
          val read = of.read.get((topic, p)).fold(at - 1)(_.offset)
          Right((topic, p) -> Question(read, at))
      }
    }
    all.collectFirst { case Left(reason) => reason }
      .toLeft(SortedMap.from(all.collect { case Right(question) => question }.filter(_._2.record >= 0)))
  }

  def continuation(
      of: Replacement,
      answers: Map[(String, Int), Answer]
  ): Either[String, Continuation] = {
    val wrong = answers.toSeq.sortBy(_._1).flatMap { case (key @ (topic, p), answer) =>
      reason(of.read.get(key), of.lastBatchMs, answer).map(why => s"topic '$topic', partition $p: $why")
    }
    wrong.headOption.toLeft {
      val topics = of.continuing.map(_._1).toSet
      Continuation(of.positions.filterTopics(topics))
    }
  }

  private def reason(known: Option[LastRecord], batchMs: Long, answer: Answer) = (known, answer) match {
    case (Some(last), Answer(Some(found), _)) =>
      Option.when(found.time != last.time)(
        s"the record at offset ${found.offset} has the time ${found.time}, but the one that was read there had the time ${last.time}"
      )
    case (Some(last), Answer(None, Some(next))) =>
      Option.when(next.time < last.time)(
        s"the record at offset ${last.offset}, which was read last, is gone, and the one at offset ${next.offset} is older " +
          s"than it was: its time is ${next.time} instead of ${last.time} or later"
      )
    case (None, Answer(Some(found), _)) =>
      Option.when(batchMs > 0 && found.time > batchMs + ClockDifferenceMs)(
        s"the record at offset ${found.offset} has the time ${found.time}, which is later than the last batch of the query, $batchMs"
      )
    case _ => None
  }
}
