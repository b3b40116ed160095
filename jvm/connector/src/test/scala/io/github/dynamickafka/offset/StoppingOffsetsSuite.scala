package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.metadata.OffsetsPolicy
import io.github.dynamickafka.metadata.OffsetsPolicy.{
  AnyCluster,
  Committed,
  Earliest,
  Exact,
  Latest,
  Timestamp,
  TimestampByPartition
}

/** Which stopping offsets a topic has, and which of those that were resolved before stay. */
class StoppingOffsetsSuite extends AnyFunSuite {

  private val fixed = SortedMap(0 -> 9L)

  private def of(
      policy: OffsetsPolicy,
      before: Option[TopicEnds] = None,
      alone: Boolean = false,
      topic: String = "t"
  ): Option[Ending] = StoppingOffsets.of("a", topic, Some(policy), before, Some("id"), alone)

  private val numbers = Map("t" -> Map(10 -> 5L, 2 -> 7L))

  test("without a setting a topic has no end") {
    assert(StoppingOffsets.of(
      "a",
      "t",
      None,
      Some(TopicEnds("latest", fixed)),
      Some("id"),
      alone = true
    ).isEmpty)
  }

  test("the text of each setting, which stays the same for the same setting") {
    val texts = Seq(
      Earliest -> "earliest",
      Latest -> "latest",
      Committed(None) -> "committed",
      Timestamp(5L) -> "timestamp:5",
      Exact(Map("a" -> numbers)) -> """{"2":7,"10":5}""",
      TimestampByPartition(Map("a" -> numbers)) -> """timestamp:{"2":7,"10":5}"""
    )
    texts.foreach { case (policy, text) =>
      assert(of(policy).contains(Ending(
        Some(policy),
        text,
        TopicOffsets(Some("id"), SortedMap.empty[Int, Long])
      )))
    }
  }

  test("offsets that were resolved before stay until the setting changes") {
    assert(of(Latest, Some(TopicEnds("latest", fixed))).exists(_.fixed.in(Some("id")) == fixed))
    assert(of(Latest, Some(TopicEnds("latest", fixed))).exists(_.fixed.in(Some("other")).isEmpty))
    assert(of(Timestamp(5L), Some(TopicEnds("latest", fixed))).exists(_.fixed.in(Some("id")).isEmpty))
  }

  test("JSON that does not name the topic sets no end for it") {
    Seq("a" -> "u", "b" -> "t").foreach { case (cluster, topic) =>
      val named = Map(cluster -> numbers)
      Seq(Exact(named), TimestampByPartition(named)).foreach(policy =>
        assert(of(policy, topic = topic).isEmpty)
      )
    }
  }

  test(
    "JSON without the level of the cluster is about the only cluster, or about the one that it was resolved for"
  ) {
    val all = Map(AnyCluster -> numbers)
    Seq(
      Exact(all) -> """{"2":7,"10":5}""",
      TimestampByPartition(all) -> """timestamp:{"2":7,"10":5}"""
    ).foreach {
      case (policy, text) =>
        assert(of(policy, alone = true).exists(_.by == text))
        assert(of(policy).isEmpty)
        assert(of(policy, Some(TopicEnds("latest", fixed))).isEmpty)
        assert(of(policy, Some(TopicEnds(text, fixed))).exists(_.fixed.in(Some("id")) == fixed))
    }
  }

  test("what JSON says about the cluster takes precedence over what it says about any") {
    val both = Exact(Map("a" -> Map("t" -> Map(0 -> 1L)), AnyCluster -> numbers))
    assert(of(both, alone = true).exists(_.by == """{"0":1}"""))
  }

  test("a topic that has left the metadata keeps its end, and gets no other") {
    assert(StoppingOffsets.kept(TopicEnds("latest", fixed), Some("id"))
      == Ending(None, "latest", TopicOffsets(Some("id"), fixed)))
  }
}
