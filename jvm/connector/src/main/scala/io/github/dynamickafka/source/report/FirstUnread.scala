package io.github.dynamickafka.source.report

import io.github.dynamickafka.source.read.ReportedTimes

/**
 * What is known of the time of the first unread record of a partition, in milliseconds since the epoch.
 *
 * @param isCertain whether it is the time of this record, or this record is not younger
 */
private[report] final case class FirstUnread(time: Long, isCertain: Boolean)

/**
 * The response to a request for the first record with a time.
 *
 * @param position the position of the query when it was requested
 * @param from the time that was asked for
 * @param found offset and time of the record; None: there was none
 */
private[report] final case class TimeResponse(position: Long, from: Long, found: Option[(Long, Long)])

private[report] object FirstUnread {

  /**
   * Of a partition that has unread records. Pure.
   *
   * @param read what tasks have found out
   * @param answer the last response of the cluster
   * @param levelAt when the partition was last known to be read to its end at this position, if that was so
   */
  def apply(
      position: Long,
      read: Option[ReportedTimes],
      answer: Option[TimeResponse],
      levelAt: Option[Long]
  ): Option[FirstUnread] = {
    val tasks = read.filter(_.last.offset < position)
    val next = tasks.flatMap(_.next).filter(n => position <= n.offset && n.time >= 0)
    next.map(n => FirstUnread(n.time, isCertain = true))
      .orElse(answer.flatMap(ofAnswer(position, _)))
      .orElse((tasks.map(_.greatest).filter(_ >= 0) ++ levelAt).maxOption.map(FirstUnread(
        _,
        isCertain = false
      )))
  }

  private def ofAnswer(position: Long, answer: TimeResponse): Option[FirstUnread] = answer.found match {
    // The first record of the log.
    case Some((offset, time)) if offset == position || (answer.from == 0L && offset >= position) =>
      Some(FirstUnread(time, isCertain = true))
    // What is before it is older than the time that was asked for.
    case Some((offset, _)) if offset > position => older(answer)
    // Records that were added since may have later times.
    case None if answer.position == position => older(answer)
    case _ => None
  }

  private def older(answer: TimeResponse): Option[FirstUnread] =
    Option.when(answer.from > 0L)(FirstUnread(answer.from - 1, isCertain = true))

  /** The time to ask for. */
  def asked(position: Long, read: Option[ReportedTimes]): Long =
    read.filter(_.last.offset < position).fold(0L)(_.greatest + 1)
}
