package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.testkit.TimeLimit
import io.github.dynamickafka.topology.{
  OffsetsPolicy,
  ReplacedClusterPolicy,
  Topology,
  TopologyCluster,
  TopologyTopic
}

/**
 * Runs of a query whose batches Spark may lose, while topics that enter are written to and recreated, against a model: a
 * partition enters where it was decided first, unless Kafka has shown that this was another topic.
 */
class DecidedEntriesSuite extends AnyFunSuite with TimeLimit with ScalaCheckPropertyChecks {
  import DecidedEntriesSuite._

  private val topic = Gen.oneOf(Topics)
  private val steps = Gen.listOf(Gen.frequency[Step](
    4 -> Gen.zip(topic, Gen.choose(1, 5)).map { case (t, n) => Write(t, n) },
    2 -> Gen.zip(topic, Gen.choose(0, 12)).map { case (t, n) => Recreate(t, n) },
    4 -> Gen.frequency(3 -> true, 1 -> false).map(Batch(_, isLost = true)),
    1 -> Gen.const(Batch(showsIds = true, isLost = false))
  ))

  test("a partition enters where it was decided first, and a topic that was recreated at its beginning") {
    forAll(steps, minSuccessful(2000), sizeRange(30))(all => all.foldLeft(new Run)(_.after(_)))
  }

  test("a topic that was recreated is a loss, with what the former one had left unread") {
    val before = Run(ends = Map("t" -> 7L)).batch(showsIds = true)
    val after = before.copy(ends = Map("t" -> 30L), incarnations = Map("t" -> 1))
    val next = after.next(showsIds = true)
    assert(next.losses ==
      Seq(Loss.TopicRecreated("a", "t", "t-0", "t-1", SortedMap(0 -> 7L), SortedMap(0 -> 30L))))
    assert(next.spans.map(s => (s.from, s.end, s.enters)) == Seq((0L, 30L, true)))
    val unknown = after.next(showsIds = false)
    assert(unknown.losses.isEmpty && unknown.spans.map(_.from) == Seq(7L), "an unknown id is not compared")
  }
}

private object DecidedEntriesSuite {
  val Topics: Seq[String] = Seq("t", "u")

  sealed trait Step
  final case class Write(topic: String, records: Int) extends Step
  final case class Recreate(topic: String, end: Int) extends Step

  /**
   * @param showsIds whether the broker knows topic ids
   * @param isLost whether Spark commits no batch before the next start
   */
  final case class Batch(showsIds: Boolean, isLost: Boolean) extends Step

  /** What the model knows of a decision. */
  final case class Decided(incarnation: Option[Int], from: Long)

  /** @param committed the last offset in Spark's logs */
  final case class Run(
      ends: Map[String, Long] = Topics.map(_ -> 3L).toMap,
      incarnations: Map[String, Int] = Map.empty,
      committed: CompositeOffset = CompositeOffset.empty,
      decided: DecidedEntries = DecidedEntries.empty,
      model: Map[String, Decided] = Map.empty
  ) {
    def incarnation(topic: String): Int = incarnations.getOrElse(topic, 0)

    def after(step: Step): Run = step match {
      case Write(topic, n) => copy(ends = ends.updated(topic, ends(topic) + n))
      // Topics of which a batch is committed are what other suites are about.
      case Recreate(topic, _) if committed.position("a").topics(topic) => this
      case Recreate(topic, end) => copy(
          ends = ends.updated(topic, end.toLong),
          incarnations = incarnations.updated(topic, incarnation(topic) + 1)
        )
      case Batch(showsIds, isLost) =>
        val run = batch(showsIds)
        if (isLost) run else run.commit(run.end(showsIds))
    }

    private def commit(end: CompositeOffset): Run = copy(
      committed = end,
      decided = stored(decided.committed(end)),
      model = Map.empty
    )

    private def transition: Transition = {
      val topics = SortedMap.from(ends.keys.map(_ -> TopologyTopic("s")))
      val rules = Reconcile.Rules(
        -1L,
        drainRemoved = false,
        (id, topic, _, _) => decided.start(id, topic, OffsetsPolicy.Latest)
      )
      Reconcile(
        committed,
        Topology(SortedMap("a" -> TopologyCluster("a", topics, Map.empty))),
        1L,
        rules
      )
    }

    def next(showsIds: Boolean): NextOffset = {
      val work = transition.clusters("a")
      def ofAll(at: String => Long) = Positions.from(ends.keys.toSeq.map(t => (t, 0, at(t))))
      val view = ClusterView.Reachable(
        ofAll(ends),
        ofAll(_ => 0L),
        entering = Positions.from(work.entering.toSeq.map {
          case (topic, OffsetsPolicy.Decided(_, offsets, _)) => (topic, 0, offsets(0))
          case (topic, _) => (topic, 0, ends(topic))
        }),
        topicIds = if (showsIds) ends.map { case (t, _) => t -> s"$t-${incarnation(t)}" } else Map.empty
      )
      NextOffset(committed, transition, Map("a" -> view), ReplacedClusterPolicy.Fail, _ => true)
    }

    def end(showsIds: Boolean): CompositeOffset = {
      val found = next(showsIds)
      found.offset(found.spans.map(_.lag))
    }

    /** The batch runs, and what enters in it is stored. */
    def batch(showsIds: Boolean): Run = {
      val found = next(showsIds)
      val entering = found.spans.filter(s => !committed.position("a").topics(s.topic))
      val expected = entering.map { span =>
        val shown = Option.when(showsIds)(incarnation(span.topic))
        val now = model.get(span.topic) match {
          case None => Decided(shown, ends(span.topic))
          case Some(known) if known.incarnation.exists(i => shown.exists(_ != i)) => Decided(shown, 0L)
          case Some(known) => known.copy(incarnation = known.incarnation.orElse(shown))
        }
        // Without ids, a log that has become shorter is all that shows another topic.
        assert(span.from == (if (now.from > ends(span.topic)) 0L else now.from), s"$span, $now, $this")
        span.topic -> now
      }
      copy(decided = stored(decided.add(end(showsIds))), model = model ++ expected)
    }

    private def stored(entries: DecidedEntries): DecidedEntries =
      DecidedEntries.of(CompositeOffsetJson.read(entries.offset.json))
  }
}
