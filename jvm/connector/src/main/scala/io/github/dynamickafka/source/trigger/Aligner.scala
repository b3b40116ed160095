package io.github.dynamickafka.source.trigger

import org.apache.kafka.common.TopicPartition
import org.apache.spark.sql.connector.read.streaming.{ReadAllAvailable, ReadLimit}

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.config.AlignmentOptions
import io.github.dynamickafka.kafka.ListedOffset
import io.github.dynamickafka.offset.{
  AlignedTrigger,
  Alignment,
  ClusterView,
  LogKey,
  NextOffset,
  ReadTime,
  Span,
  TimeAnswer,
  UnreadFiles
}
import io.github.dynamickafka.source.cluster.{AheadRequests, ClusterStream, ClusterStreams}

/**
 * Lowers the ends of what a trigger can read, so that clusters advance together in record time (`alignment=timestamp`), and
 * keeps what is known of record times. Used only by the thread of the query.
 *
 * Each cluster is asked ahead of the next trigger, with one request. A trigger waits for what is missing: for all clusters at
 * once, and not longer than for other requests.
 *
 * @param options None: clusters are not aligned, and nothing is asked
 * @param read what tasks have reported of the logs that a trigger reads
 */
private[source] final class Aligner(
    options: Option[AlignmentOptions],
    streams: ClusterStreams,
    read: NextOffset => LogKey => Option[ReadTime],
    clock: Clock
) {
  import Aligner._

  private var alignment = Alignment.none
  // None without alignment.
  private var current: Option[AlignedTrigger] = None
  private val pending = new AheadRequests[Questions, ClusterStream.Times](clock)

  /** `Trigger.Once` reads all in one batch, which has one watermark. */
  def isAligned(limit: ReadLimit): Boolean = options.isDefined && !limit.isInstanceOf[ReadAllAvailable]

  /** @param files the files of histories that are not read; None as well if clusters are not aligned */
  def align(
      snapshot: TriggerSnapshot,
      limit: ReadLimit,
      waits: Boolean,
      files: Option[UnreadFiles]
  ): Readable = options.fold(Readable(snapshot.next.spans, None)) { alignedBy =>
    val (waiting, spans) = snapshot.next.spans.partition(s =>
      files.exists(_.precede(snapshot.topology.withReplaced(s.cluster), s.topic, s.partition))
    )
    val drift = alignedBy.maxDriftMs
    val begun = alignment.reported(read(snapshot.next)).begin(
      Alignment.Rules(drift, alignedBy.idleTimeoutMs, waits),
      spans,
      clustersOf(snapshot),
      clock.currentTimeMillis(),
      clock.monotonicMs(),
      files.flatMap(_.least)
    )
    if (!isAligned(limit)) {
      current = Some(begun)
      Readable(spans, None)
    } else {
      // Answers about the log of a topic that enters may be those about a former one.
      pending.retain(id => !spans.exists(s => s.enters && s.cluster == id))
      val decided = decide(collected(begun))
      current = Some(decided.from)
      val ends = decided.ends ++ waiting.map(span => span.key -> span.from)
      Readable(
        snapshot.next.spans.map(s => ends.get(s.key).fold(s)(end => s.copy(end = end))),
        files.flatMap(_.next(decided.bound, drift))
      )
    }
  }

  /** The trigger has found the same as the one before, which was nothing to read. */
  def idle(): Unit = current.foreach { trigger =>
    alignment = trigger.copy(monotonicMs = clock.monotonicMs()).ended(Map.empty)
  }

  /**
   * The batch of the trigger reads these numbers of records of its spans.
   *
   * @param files the files that the batch leaves unread
   */
  def planned(spans: IndexedSeq[Span], granted: IndexedSeq[Long], files: Option[UnreadFiles]): Unit =
    current.foreach { trigger =>
      val positions = spans.iterator.zip(granted.iterator)
        .map { case (span, n) => span.key -> (span.from + n) }.toMap
      alignment = trigger.ended(positions)
      askAhead(trigger.ahead(positions, files.flatMap(_.least)))
    }

  @annotation.tailrec
  private def decide(trigger: AlignedTrigger, rounds: Int = 0): Alignment.Aligned = trigger.next match {
    case decided: Alignment.Aligned => decided
    // Logs that change while they are asked for could be asked without an end.
    case Alignment.Ask(questions, from) if rounds >= MostRounds =>
      decide(from.answered(questions, Map.empty), rounds)
    case Alignment.Ask(questions, from) =>
      if (pending.await(questions.keySet.map(_.cluster))) decide(collected(from), rounds + 1)
      else {
        val answers = streams.timesNow(byCluster(questions))
        val found = answers.collect { case (id, Some(times)) =>
          answersOf(id, questions, from.endOf, times)
        }
        decide(from.answered(questions, found.flatten.toMap), rounds + 1)
      }
  }

  /** Adds the answers to what was asked ahead. A request that has failed is sent again where it is needed. */
  private def collected(trigger: AlignedTrigger): AlignedTrigger = {
    val answers = pending.take().flatMap { case (id, (request, found)) =>
      val (questions, ends) = request.question
      found.toOption.toSeq.flatMap(answersOf(id, questions, ends.get(_), _))
    }
    trigger.answered(Map.empty, answers)
  }

  private def askAhead(questions: Map[LogKey, Long]): Unit =
    byCluster(questions).foreach { case (id, asked) =>
      def ofCluster = questions.filter { case (key, _) => key.cluster == id }
      def ends = ofCluster.keysIterator.flatMap(key => alignment.times.get(key).map(key -> _.end)).toMap
      pending.send(id, (ofCluster, ends))(streams.timesAhead(id, asked))
    }

  private def clustersOf(snapshot: TriggerSnapshot): Map[String, Alignment.Cluster] =
    snapshot.transition.clusters.map { case (id, _) =>
      id -> (snapshot.views.get(id) match {
        case Some(view: ClusterView.Reachable) =>
          val unanswered = view.unanswered.keySet.map { case (topic, p) => LogKey(id, topic, p) }
          Alignment.Cluster(responds = true, unanswered)
        case _ => Alignment.Cluster(responds = false)
      })
    }

  /** @param endOf the latest offset of a partition when it was asked */
  private def answersOf(
      id: String,
      questions: Map[LogKey, Long],
      endOf: LogKey => Option[Long],
      found: ClusterStream.Times
  ): Iterable[(LogKey, TimeAnswer)] = for {
    (tp, listed) <- found
    key = LogKey(id, tp.topic, tp.partition)
    asked <- questions.get(key)
    answer <- answerTo(asked, listed, endOf(key))
  } yield key -> answer

  /** Kafka returns -1 if no record has this time or a later one. */
  private def answerTo(asked: Long, listed: ListedOffset, end: Option[Long]): Option[TimeAnswer] = {
    val now = clock.currentTimeMillis()
    if (listed.offset >= 0)
      Some(TimeAnswer(asked, listed.offset, listed.timestamp.orElse(Some(asked)), now))
    else end.map(TimeAnswer(asked, _, None, now))
  }
}

private[source] object Aligner {

  /**
   * What a trigger can read.
   *
   * @param spans of Kafka
   * @param left the files that are left after a batch of files; None: the batch is one of Kafka
   */
  final case class Readable(spans: IndexedSeq[Span], left: Option[UnreadFiles])

  /** More rounds than any search needs. */
  private val MostRounds = 100

  /** The times that are asked for, and the latest offsets that were known when the request was sent. */
  private type Questions = (Map[LogKey, Long], Map[LogKey, Long])

  private def byCluster(questions: Map[LogKey, Long]): Map[String, Map[TopicPartition, Long]] =
    questions.groupBy(_._1.cluster).map { case (id, ofCluster) =>
      id -> ofCluster.map { case (key, time) => new TopicPartition(key.topic, key.partition) -> time }
    }
}
