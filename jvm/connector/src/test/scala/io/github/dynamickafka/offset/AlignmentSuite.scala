package io.github.dynamickafka.offset

import scala.util.Random
import scala.util.control.NonFatal

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.NoneWrong
import io.github.dynamickafka.testkit.{TestAll, TimeLimit}

class AlignmentSuite extends AnyFunSuite with TimeLimit {

  private def wrong(run: Random => AlignmentRun)(seed: Long): Option[String] =
    try {
      run(new Random(seed)).all()
      None
    } catch { case NonFatal(e) => Some(s"DYNAMIC_KAFKA_SEED=$seed: $e") }

  private val ofClusters = wrong(new AlignmentRun(_)) _
  private def ofHistories(defect: AlignmentRun.Defect) =
    wrong(new AlignmentRun(_, hasHistory = true, defect)) _

  test("random clusters: nothing too new is read, the oldest advance, and all is read at last") {
    NoneWrong(0 until 150)(ofClusters)
  }

  test(
    "random histories: no file or record too new is read, files come before Kafka, and all is read at last"
  ) {
    NoneWrong(0 until 150)(ofHistories(AlignmentRun.NoDefect))
  }

  test("further random clusters and histories", TestAll) {
    NoneWrong(150 until 3000)(ofClusters)
    NoneWrong(150 until 3000)(ofHistories(AlignmentRun.NoDefect))
  }

  Seq(
    AlignmentRun.FilesHoldNobody -> "while the oldest is",
    AlignmentRun.NoOldestFile -> "nothing advances",
    AlignmentRun.NoBound -> "while the oldest is",
    AlignmentRun.KafkaDoesNotWait -> "is read before its files"
  ).foreach { case (defect, says) =>
    test(s"a defect is found: $defect") {
      val found = Iterator.range(0, 1500).flatMap(seed => ofHistories(defect)(seed.toLong)).nextOption()
      assert(found.exists(_.contains(says)))
    }
  }

  private val Now = 1000000L
  private def rules(waits: Boolean = true) = Alignment.Rules(100L, 30000L, waits)
  private val both = Map("a" -> Alignment.Cluster(responds = true), "b" -> Alignment.Cluster(responds = true))
  private def span(id: String, from: Long, log: TimedLog) =
    Span(LogKey(id, "t", 0), from, log.end, enters = false)
  private def key(id: String) = LogKey(id, "t", 0)

  private def decided(
      trigger: AlignedTrigger,
      logs: Map[String, TimedLog],
      down: Set[String] = Set.empty
  ): Alignment.Aligned = trigger.next match {
    case aligned: Alignment.Aligned => aligned
    case Alignment.Ask(questions, from) =>
      val answers = questions.filterNot(q => down(q._1.cluster)).map { case (key, time) =>
        key -> logs(key.cluster).answer(time, Now, from.endOf(key).get)
      }
      decided(from.answered(questions, answers), logs, down)
  }

  private def log(times: Long*) = times.foldLeft(TimedLog())(_.append(_))

  test("clusters that are level are asked once, and then nothing") {
    val logs = Map("a" -> log(Now - 50, Now - 20), "b" -> log(Now - 60, Now - 10))
    val spans = Seq(span("a", 0, logs("a")), span("b", 0, logs("b")))
    val trigger = Alignment.none.begin(rules(), spans, both, Now, 0L)
    val Alignment.Ask(questions, from) = trigger.next
    assert(questions == Map(key("a") -> (Now - 99), key("b") -> (Now - 99)))
    val aligned = decided(from, logs)
    assert(aligned.bound.isEmpty && aligned.ends == Map(key("a") -> 2L, key("b") -> 2L))
    assert(aligned.from.ahead(aligned.ends).isEmpty)
    val more = logs.map { case (id, log) => span(id, 2, log.append(Now + 5)) }
    val next = aligned.from.ended(aligned.ends).begin(rules(), more, both, Now + 10, 10L).next
    assert(next.isInstanceOf[Alignment.Aligned])
  }

  test("a cluster that enters with old records is read alone until it is level") {
    val logs = Map("a" -> log(Now - 50, Now - 20), "b" -> log(1000, 1050, 1100, Now))
    val known = Alignment(Map(key("a") -> PartitionTimes(0, 2, 0, passed = Some(Now - 60))))
    val spans = Seq(span("a", 0, logs("a")), span("b", 0, logs("b")))
    val aligned = decided(known.begin(rules(), spans, both, Now, 0L), logs)
    assert(aligned.bound.contains(1100L) && aligned.ends == Map(key("a") -> 0L, key("b") -> 2L))
  }

  test("an idle cluster holds the others at most for the time-out, and never with AvailableNow") {
    val logs = Map("a" -> log(1000, 1050, 1200, 1300), "b" -> log(1000))
    val spans = Seq(span("a", 1, logs("a")), span("b", 1, logs("b")))
    val known = Alignment(
      Map(
        key("a") -> PartitionTimes(1, 4, 0, answers = Vector(TimeAnswer(1010, 1, Some(1050), Now))),
        key("b") -> PartitionTimes(1, 1, 0, passed = Some(1000), read = Some(ReadTime(0, 1000, 1000)))
      ),
      unread = Map("a" -> 0L, "b" -> 0L),
      answered = Map("a" -> 0L, "b" -> 0L)
    )
    def bound(monotonicMs: Long, waits: Boolean = true) =
      decided(known.begin(rules(waits), spans, both, Now, monotonicMs), logs).bound
    assert(bound(29999).contains(1100L))
    assert(bound(30000).contains(1150L))
    assert(bound(0, waits = false).contains(1150L))
  }

  test(
    "a cluster that has never responded, or not to this question, holds the others for the time-out only"
  ) {
    val logs = Map("a" -> log(1000, 1050, 1200, 1300), "b" -> log(1000, 1010))
    val silent = both.updated("b", Alignment.Cluster(responds = false))
    def begin(monotonicMs: Long, kept: Alignment = Alignment.none, clusters: Map[String, Alignment.Cluster]) =
      kept.begin(rules(), Seq(span("a", 0, logs("a"))), clusters, Now, monotonicMs)
    val first = decided(begin(0, clusters = silent), logs)
    assert(first.ends == Map(key("a") -> 0L))
    val kept = first.from.ended(first.ends)
    assert(decided(begin(29999, kept, silent), logs).ends == Map(key("a") -> 0L))
    assert(decided(begin(30000, kept, silent), logs).ends == Map(key("a") -> 2L))

    def asked(monotonicMs: Long, kept: Alignment) = decided(
      kept.begin(rules(), logs.keys.map(id => span(id, 0, logs(id))), both, Now, monotonicMs),
      logs,
      down = Set("b")
    )
    val failed = asked(0, Alignment.none)
    assert(failed.ends == Map(key("a") -> 0L, key("b") -> 0L))
    val later = asked(30000, failed.from.ended(failed.ends))
    assert(later.ends == Map(key("a") -> 2L, key("b") -> 0L))
  }

  test("a cluster that has left, or an empty one, is not waited for") {
    val logs = Map("a" -> log(1000, 1050, 1200), "b" -> log())
    val known = Alignment(Map(key("b") -> PartitionTimes(3, 9, 3, passed = Some(10))))
    val one = known.begin(rules(), Seq(span("a", 0, logs("a"))), both - "b", Now, 0L)
    assert(decided(one, logs).ends == Map(key("a") -> 2L))
    val spans = Seq(span("a", 0, logs("a")), span("b", 0, logs("b")))
    assert(decided(Alignment.none.begin(rules(), spans, both, Now, 0L), logs).ends == Map(key("a") -> 2L))
  }

  test("records behind one of the future are read in steps, as far as their times are known") {
    val behind = (1 to 3000).foldLeft(TimedLog().append(Now + 1000))((log, i) => log.append(900L + i))
    val logs = Map("a" -> behind, "b" -> log(1000, 1050, 1200))
    val spans = Seq(span("a", 1, logs("a")), span("b", 0, logs("b")))
    val first = decided(Alignment.none.begin(rules(), spans, both, Now, 0L), logs)
    assert(first.ends == Map(key("a") -> 1001L, key("b") -> 2L))
    val read = first.from.ended(first.ends).reported(k =>
      Option.when(k == key("a"))(ReadTime(1000, 1900, Now + 1000))
    )
    val next = Seq(span("a", 1001, logs("a")), span("b", 2, logs("b")))
    assert(decided(Alignment(read.times).begin(rules(), next, both, Now, 0L), logs).ends ==
      Map(key("a") -> 1001L, key("b") -> 3L))
  }

  test("what is asked ahead is all that the next trigger needs") {
    val logs = Map("a" -> log(1000, 1050, 1200, 1300), "b" -> log(1000, 1010, 1150))
    def spans(at: Map[LogKey, Long]) = logs.keys.map(id => span(id, at.getOrElse(key(id), 0L), logs(id)))
    val first = decided(Alignment.none.begin(rules(), spans(Map.empty), both, Now, 0L), logs)
    assert(first.ends == Map(key("a") -> 2L, key("b") -> 2L))
    val ahead = first.from.ahead(first.ends)
    val answers = ahead.map { case (key, time) =>
      key -> logs(key.cluster).answer(time, Now, logs(key.cluster).end)
    }
    val next = first.from.ended(first.ends).begin(rules(), spans(first.ends), both, Now, 1L)
      .answered(Map.empty, answers).next
    assert(next.isInstanceOf[Alignment.Aligned])
    val unread = first.from.ended(first.ends).times.values.filter(_.isUnread)
    assert(unread.flatMap(_.time(Now)).toSet == Set(1200L, 1150L))
  }
}
