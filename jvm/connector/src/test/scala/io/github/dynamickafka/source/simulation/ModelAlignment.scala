package io.github.dynamickafka.source.simulation

import io.github.dynamickafka.metadata.Topology
import io.github.dynamickafka.offset.{
  AlignedTrigger,
  Alignment,
  ClusterView,
  HistoryFile,
  LogKey,
  ReadTime,
  Span,
  TimeAnswer,
  UnreadFiles
}

/**
 * The clusters of a query that are aligned, by the rules of the product, and whether a trigger reads what is too new. Requests for
 * times are answered by the clusters as they are now, or as they were after the batch before.
 */
private[simulation] final class ModelAlignment(world: World, rules: Alignment.Rules, defect: Defect) {
  private val MostRounds = 200
  private val inEffect = defect.alignmentRules(rules)
  private val reports = world.chance(50)
  private var kept = Alignment.none
  private var current: Option[AlignedTrigger] = None
  private var ahead = Map.empty[LogKey, TimeAnswer]

  /** Records that a batch has read before older ones of other clusters. */
  var tooNew = Vector.empty[String]

  def restart(): Unit = {
    kept = Alignment.none
    ahead = Map.empty
  }

  /**
   * @param files the files of histories that are not read
   * @return what can be read of Kafka, and the files that are left if the batch is one of files
   */
  def align(
      spans: IndexedSeq[Span],
      views: Map[String, ClusterView],
      files: Option[UnreadFiles],
      topology: Topology
  ): (IndexedSeq[Span], Option[UnreadFiles]) = {
    val (waiting, ready) = spans.partition(isWaiting(files, topology, _))
    val known = if (reports) kept.reported(reported) else kept
    val clusters = views.map { case (id, view) =>
      id -> (view match {
        case found: ClusterView.Reachable =>
          Alignment.Cluster(
            responds = true,
            found.unanswered.keySet.map { case (name, p) => LogKey(id, name, p) }
          )
        case _ => Alignment.Cluster(responds = false)
      })
    }
    val begun = known
      .begin(
        inEffect,
        defect.alignedSpans(ready),
        clusters,
        world.now,
        world.now,
        files.flatMap(_.least)
      )
    val times = defect.knownTimes(begun.alignment.times, world.now)
    val entering = spans.filter(_.enters).map(_.cluster).toSet
    val asked = ahead.filterNot { case (key, _) => entering(key.cluster) || world.chance(30) }
    val decided =
      decide(begun.copy(alignment = begun.alignment.copy(times = times)).answered(Map.empty, asked))
    current = Some(decided.from)
    val ends = decided.ends ++ waiting.map(span => span.key -> span.from)
    (
      spans.map(span => ends.get(span.key).fold(span)(end => span.copy(end = end))),
      files.flatMap(_.next(decided.bound, inEffect.driftMs))
    )
  }

  private def isWaiting(files: Option[UnreadFiles], topology: Topology, span: Span) =
    defect.waitsForFiles &&
      files.exists(_.precede(defect.ofFiles(span.cluster, topology), span.topic, span.partition))

  /**
   * @param views the responses of the trigger, whose topics the spans are about
   * @param files the files that are not read before the batch
   * @param left those that are not read after it
   */
  def planned(
      spans: IndexedSeq[Span],
      granted: IndexedSeq[Long],
      views: Map[String, ClusterView],
      files: Option[UnreadFiles],
      left: Option[UnreadFiles],
      topology: Topology
  ): Unit =
    current.foreach { trigger =>
      // The others need not wait for a cluster that does not respond, and its records are not read.
      val ready = spans.zip(granted).filterNot { case (span, _) =>
        trigger.asked.failed(span.key) || isWaiting(files, topology, span)
      }
      check(ready, views, files, left)
      val positions = spans.zip(granted).map { case (s, n) => s.key -> (s.from + n) }.toMap
      kept = trigger.ended(positions)
      ahead = trigger.ahead(positions, left.flatMap(_.least)).flatMap { case (key, time) =>
        answer(key, time, kept.times.get(_).map(_.end)).map(key -> _)
      }
    }

  @annotation.tailrec
  private def decide(trigger: AlignedTrigger, rounds: Int = 0): Alignment.Aligned = trigger.next match {
    case decided: Alignment.Aligned => decided
    case Alignment.Ask(questions, from) =>
      if (rounds > MostRounds) throw new AssertionError(s"asks without an end: $questions by $from")
      val answers = questions.flatMap { case (key, time) => answer(key, time, from.endOf).map(key -> _) }
      decide(from.answered(questions, answers), rounds + 1)
  }

  private def log(key: LogKey): Option[ModelLog] =
    world.topic(key.cluster, key.topic).filterNot(_ => world.unknown((key.cluster, key.topic)))
      .flatMap(_.logs.lift(key.partition))

  private def answer(key: LogKey, time: Long, endOf: LogKey => Option[Long]): Option[TimeAnswer] = for {
    found <- log(key) if !world.down(key.cluster) && world.hasLeader(key.cluster, key.topic, key.partition)
    end <- endOf(key)
  } yield found.records.indexWhere(world.timeOf(_) >= time) match {
    case -1 => TimeAnswer(time, end, None, world.now)
    case i => TimeAnswer(time, found.first + i, Some(world.timeOf(found.records(i))), world.now)
  }

  private def reported(key: LogKey): Option[ReadTime] = for {
    found <- log(key)
    at <- kept.times.get(key).map(_.at)
    read = found.read(found.first, at)
    last <- read.lastOption
  } yield ReadTime(found.first + read.size - 1, world.timeOf(last), read.map(world.timeOf).max)

  private def check(
      granted: IndexedSeq[(Span, Long)],
      views: Map[String, ClusterView],
      files: Option[UnreadFiles],
      left: Option[UnreadFiles]
  ): Unit = {
    def isKnown(span: Span) = world.topic(span.cluster, span.topic).exists { topic =>
      !world.isDamaged(topic.id) && (views.get(span.cluster) match {
        case Some(view: ClusterView.Reachable) => view.topicIds.get(span.topic).contains(topic.id)
        case _ => false
      })
    }
    val unread = granted.filter(_._1.lag > 0)
    val timed = unread.flatMap { case (span, n) =>
      log(span.key).flatMap(timeAt(_, span.from)).filter(_ <= world.now).map((span, n, _))
    }
    val ofFiles = files.flatMap(_.least)
    for (oldest <- (timed.map(_._3) ++ ofFiles).minOption if unread.forall(of => isKnown(of._1))) {
      val bound = oldest + rules.driftMs
      // The file with the oldest record is read as a whole, with those before it.
      if (bound <= world.now && ofFiles.exists(_ > oldest))
        ModelAlignment.between(files, left).find(_.greatest >= bound).foreach(file =>
          tooNew :+= s"the file $file is read, the oldest record is one of $oldest"
        )
      timed.foreach { case (span, n, _) =>
        val read = log(span.key).toSeq.flatMap(_.read(span.from, span.from + n)).map(world.timeOf)
        read.find(_ >= bound).filter(_ => bound <= world.now).foreach(time =>
          tooNew :+= s"$span reads a record of $time, the oldest is one of $oldest"
        )
      }
    }
  }

  /** The greatest time up to the first unread record, inclusive. */
  private def timeAt(log: ModelLog, at: Long): Option[Long] =
    log.read(log.first, math.max(at, log.first) + 1).map(world.timeOf).filter(_ >= 0).maxOption
}

private object ModelAlignment {

  private def between(files: Option[UnreadFiles], left: Option[UnreadFiles]): Seq[HistoryFile] = for {
    (before, after) <- files.zip(left).toSeq
    (stream, table) <- before.tables.toSeq
    file <- table.files.slice(before.read(stream).toInt, after.read(stream).toInt)
  } yield file
}
