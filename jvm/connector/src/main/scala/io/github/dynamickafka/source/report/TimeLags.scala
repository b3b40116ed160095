package io.github.dynamickafka.source.report

import java.util.concurrent.CompletableFuture

import scala.collection.immutable.SortedMap

import org.apache.kafka.common.TopicPartition

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.offset.{ClusterFiles, CompositeOffset, LogKey, Positions, Span}
import io.github.dynamickafka.source.cluster.{AheadRequests, ClusterStream, ClusterStreams}
import io.github.dynamickafka.source.read.{LogTimes, RecordTimes, ReportedTimes}

/**
 * The record times of the clusters of a query at its position. Tasks report most of them. If no task has seen the first unread record of
 * a partition, and the position stays, its cluster is asked: without waiting, in one request per second at most for all partitions of the
 * cluster. Nothing is computed while nothing changes. Used by the thread of the query only.
 *
 * @param records what the tasks report
 * @param files the rows of each cluster in files of histories: those read between two offsets, and those not read at the second one
 * @param ask requests the first record of each partition that has this time or a later one; None: it cannot be asked now
 */
private[source] final class TimeLags(
    records: RecordTimes,
    ask: (String, Map[TopicPartition, Long]) => Option[TimeLags.Response],
    clock: Clock,
    files: TimeLags.Files = TimeLags.noFiles
) {
  import TimeLags._

  private var last = Seen(CompositeOffset.empty, SortedMap.empty, LogTimes.none, Map.empty)
  private var found = Map.empty[String, ClusterTimes]
  // The first position of this run within a history, and what its files are since then.
  private var historyFrom: Option[CompositeOffset] = None
  private var ofFiles = Map.empty[String, ClusterFiles]
  // Partitions with unread records.
  private var unread = Map.empty[LogKey, Unread]
  private val requests = new AheadRequests[Map[TopicPartition, Question], ClusterStream.Times](clock)
  private var sentAt = Map.empty[String, Long]
  // Whether a question waits until it may be sent, and when this was last tried.
  private var isOpen = false
  private var triedAt = Long.MinValue

  /** The times of the clusters that are read; the same object as long as nothing has changed. */
  def clusters: Map[String, ClusterTimes] = found

  /**
   * @param reached the position of the query
   * @param ends up to where each partition can be read
   * @param answeredAt when the responses with these ends were requested, by cluster, in monotonic milliseconds
   */
  def update(
      reached: CompositeOffset,
      ends: SortedMap[String, Positions],
      answeredAt: Map[String, Long]
  ): Unit = {
    val arrived = collect()
    val now = Seen(reached, ends, records.found, answeredAt)
    if (arrived || !now.isSame(last)) {
      unread = (for {
        (id, positions) <- reached.clusters.iterator
        (topic, p, at) <- positions.iterator
        if ends.get(id).flatMap(_.get(topic, p)).exists(_ > at)
      } yield {
        val key = LogKey(id, topic, p)
        val before = unread.get(key)
        key -> before.filter(_.position == at)
          // A position that goes back is one of another log.
          .getOrElse(Unread(at, levelAt(key, at), before.filter(_.position < at).flatMap(_.answer)))
      }).toMap
      if (reached ne last.reached) ofFiles = filesAt(reached)
      found = timesOf(now)
      send(reached)
    } else if (isOpen && clock.monotonicMs() - triedAt >= RetryMs) send(reached)
    last = now
  }

  /** A batch begins at this position: the files of the first one of a run, and later ones, count as read. */
  def reads(from: CompositeOffset): Unit =
    if (from.history.nonEmpty && historyFrom.isEmpty) historyFrom = Some(from)

  /** Called when no task runs: forgets what is about other logs. */
  def retain(reached: CompositeOffset): Unit =
    if (last.reached ne reached) records.retain(reached)

  /** When the partition was last read to its end at this position, in milliseconds since the epoch. */
  private def levelAt(key: LogKey, position: Long): Option[Long] = {
    def offset(all: SortedMap[String, Positions]) =
      all.get(key.cluster).flatMap(_.get(key.topic, key.partition))
    val wasLevel =
      offset(last.reached.clusters).contains(position) && offset(last.ends).exists(_ <= position)
    last.answeredAt.get(key.cluster).filter(_ => wasLevel)
      .map(at => clock.currentTimeMillis() - (clock.monotonicMs() - at))
  }

  private def timesOf(now: Seen): Map[String, ClusterTimes] = {
    val firsts = unread.groupMap(_._1.cluster) { case (key, u) => first(now.reached, key, u) }
    val lastRead = TimeLags.lastRead(now.read)
    (now.reached.clusters.keySet ++ ofFiles.keySet).iterator.map { id =>
      val ofCluster = firsts.getOrElse(id, Nil)
      val rows = ofFiles.getOrElse(id, ClusterFiles.none)
      val hasResponded =
        if (now.reached.clusters.contains(id)) now.ends.contains(id) else now.answeredAt.contains(id)
      id -> ClusterTimes(
        (lastRead.get(id) ++ rows.read).maxOption,
        isLevel = ofCluster.isEmpty && rows.areRead && hasResponded,
        (ofCluster.flatten.map(_.time) ++ rows.unread).minOption,
        (ofCluster.flatten.filter(_.isCertain).map(_.time) ++ rows.unread).minOption
      )
    }.toMap
  }

  private def filesAt(reached: CompositeOffset): Map[String, ClusterFiles] = {
    reads(reached)
    // Kafka has begun: all files are read, and stay so.
    val isOver = reached.history.isEmpty && last.reached.history.isEmpty
    historyFrom.filterNot(_ => isOver).fold(ofFiles)(files(_, reached))
  }

  private def first(reached: CompositeOffset, key: LogKey, u: Unread): Option[FirstUnread] =
    FirstUnread(u.position, records.found.in(reached.identities, key), u.answer, u.levelAt)

  private def send(reached: CompositeOffset): Unit = {
    val (now, time) = (clock.monotonicMs(), clock.currentTimeMillis())
    sentAt = sentAt.filter { case (_, at) => now - at < PauseMs }
    val open = unread.flatMap { case (key, u) =>
      val from = FirstUnread.asked(u.position, records.found.in(reached.identities, key))
      val isAnswered = u.answer.exists(a => a.position == u.position && a.from == from)
      Option.when(!isAnswered && !first(reached, key, u).exists(_.isCertain))(key -> Question(
        u.position,
        from
      ))
    }
    // Usually the next batch reads it; until then it is known well enough.
    def isNew(key: LogKey) = unread(key).levelAt.exists(time - _ < PauseMs)
    isOpen = open.nonEmpty
    triedAt = now
    def isAsked(id: String) = requests.isPending(id) || sentAt.contains(id)
    val due = open.filterNot { case (key, _) => isAsked(key.cluster) || isNew(key) }
    due.groupBy(_._1.cluster).foreach { case (id, questions) =>
      val byPartition = questions.map { case (key, q) => new TopicPartition(key.topic, key.partition) -> q }
      ask(id, byPartition.map { case (tp, q) => tp -> q.from }).foreach { response =>
        requests.send(id, byPartition)(response)
        sentAt += id -> now
      }
    }
  }

  /** Takes responses that have arrived. */
  private def collect(): Boolean = {
    val done = requests.take()
    for {
      (id, (sent, response)) <- done
      answers <- response
      (tp, question) <- sent.question
      answer <- answers.get(tp)
    } {
      val found = answer.timestamp.filter(_ => answer.offset >= 0).map(answer.offset -> _)
      unread = unread.updatedWith(LogKey(id, tp.topic, tp.partition))(
        _.map(_.copy(answer = Some(TimeResponse(question.position, question.from, found))))
      )
    }
    done.nonEmpty
  }
}

private[source] object TimeLags {
  type Response = CompletableFuture[ClusterStream.Times]

  type Files = (CompositeOffset, CompositeOffset) => Map[String, ClusterFiles]
  val noFiles: Files = (_, _) => Map.empty

  def apply(
      records: RecordTimes,
      streams: ClusterStreams,
      clock: Clock,
      files: Files = noFiles
  ): TimeLags = new TimeLags(
    records,
    (id, times) =>
      Option.when(streams.ids(id) && !streams.unreachable(id))(streams.timesAhead(id, times)),
    clock,
    files
  )

  /** Between two requests to a cluster. */
  private val PauseMs = 1000L
  private val RetryMs = 250L

  /** Up to where each partition can be read: to its latest offset, or up to where it stops or drains. */
  def ends(latest: SortedMap[String, Positions], spans: Seq[Span]): SortedMap[String, Positions] =
    spans.foldLeft(latest) { (all, s) =>
      all.get(s.cluster).filter(_.get(s.topic, s.partition).exists(_ > s.end)).fold(all)(positions =>
        all.updated(s.cluster, positions.updated(s.topic, s.partition, s.end))
      )
    }

  private def lastRead(read: LogTimes): Map[String, Long] =
    read.logs.iterator.filter(_._2.last.time >= 0).foldLeft(Map.empty[String, Long]) {
      case (all, ((key, _), times)) =>
        all.updated(key.cluster, math.max(times.last.time, all.getOrElse(key.cluster, 0L)))
    }

  private final case class Seen(
      reached: CompositeOffset,
      ends: SortedMap[String, Positions],
      read: LogTimes,
      answeredAt: Map[String, Long]
  ) {

    /** Whether these are the same objects, as in most triggers of an idle query. */
    def isSame(other: Seen): Boolean =
      (reached eq other.reached) && (ends eq other.ends) && (read eq other.read)
  }

  /** @param levelAt when the partition was last read to its end at this position, in milliseconds since the epoch */
  private final case class Unread(position: Long, levelAt: Option[Long], answer: Option[TimeResponse])

  private final case class Question(position: Long, from: Long)
}

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
   * The first unread record of a partition that has unread records. Pure.
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
    read.filter(_.last.offset < position).fold(0L)(r => math.min(r.greatest, Long.MaxValue - 1) + 1)
}
