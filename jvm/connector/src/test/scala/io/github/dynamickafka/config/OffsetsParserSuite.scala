package io.github.dynamickafka.config

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.prop.TableDrivenPropertyChecks
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.OffsetsInitializer
import io.github.dynamickafka.metadata.OffsetsPolicy._
import io.github.dynamickafka.testkit.TimeLimit

class OffsetsParserSuite extends AnyFunSuite with TimeLimit with TableDrivenPropertyChecks
    with ScalaCheckPropertyChecks {

  test("keywords are case-insensitive") {
    assert(OffsetsParser.starting(" Earliest ") == Right(Earliest))
    assert(OffsetsParser.starting("LATEST") == Right(Latest))
    assert(OffsetsParser.starting("committed") == Right(Committed(None)))
    assert(OffsetsParser.starting("timestamp:1700000000000") == Right(Timestamp(1700000000000L)))
    assert(OffsetsParser.entering("latest") == Right(Latest))
    assert(OffsetsParser.ending("latest") == Right(Latest))
  }

  test("JSON with a cluster level, and without one for any cluster") {
    val topics = Map("orders" -> Map(0 -> 42L, 1 -> -1L), "a" -> Map(0 -> -2L))
    val json = """{"orders": {"0": 42, "1": -1}, "a": {"0": -2}}"""
    assert(OffsetsParser.starting(json) == Right(Exact(Map(AnyCluster -> topics))))
    assert(OffsetsParser.starting(s"""{"blue": $json}""") == Right(Exact(Map("blue" -> topics))))
    assert(
      OffsetsParser.timestamps("""{"a": {"0": 5}}""") == Right(
        TimestampByPartition(Map(AnyCluster -> Map("a" -> Map(0 -> 5L))))
      )
    )
  }

  private val wrong = Table(
    ("text", "reason"),
    ("""{"a": {"0": 1}""", "it is not valid JSON"),
    ("""{"a": {"0": 1}} x""", "line 1, column 1"),
    ("""{"a": {"0": 1, "0": 2}}""", "Duplicate field '0'"),
    ("""{"a": {"0": 1, "00": 2}}""", "topic 'a' contains partition 0 twice"),
    ("""{}""", "contains no topic"),
    ("""{"a": {}}""", "cluster 'a' has no topic"),
    ("""{"blue": {"a": {}}}""", "cluster 'blue', topic 'a' is not a JSON object"),
    ("""{"a": [1]}""", "topic 'a' is not a JSON object"),
    ("""{"a": {"x": 1}}""", "topic 'a': 'x' is not a partition number"),
    ("""{"a": {"-1": 1}}""", "'-1' is not a partition number"),
    ("""{"a": {"0": "1"}}""", "partition 0: \"1\" is not an offset"),
    ("""{"a": {"0": 1.5}}""", "1.5 is not an offset"),
    ("""{"a": {"0": 99999999999999999999}}""", "is not an offset"),
    ("""{"blue": {"a": {"0": 1}}, "b": {"0": 1}}""", "'b' is at the cluster level"),
    ("""{"*": {"a": {"0": 1}}}""", "'*' is not a valid cluster id"),
    ("timestamp:99999999999999999999", "too large"),
    ("[1]", "neither")
  )

  test("errors name the place") {
    forAll(wrong) { (text, reason) =>
      OffsetsParser.starting(text) match {
        case Left(message) => assert(message.contains(reason))
        case Right(policy) => fail(s"read as $policy")
      }
    }
  }

  test("offsets that a builder writes are read back equal") {
    val name = Gen.nonEmptyListOf(Gen.oneOf(Gen.alphaNumChar, Gen.oneOf('.', '_', '-'))).map(_.mkString)
    def map[K, V](keys: Gen[K], values: Gen[V]) =
      Gen.choose(1, 3).flatMap(n => Gen.mapOfN(n, Gen.zip(keys, values))).suchThat(_.nonEmpty)
    val partitions = map(Gen.choose(0, Int.MaxValue), Gen.choose(-2L, Long.MaxValue))
    forAll(map(name.map(_.take(128)), map(name, partitions))) { offsets =>
      val Seq((option, json)) = OffsetsInitializer.offsets(offsets).startingOptions
      assert(option == "startingOffsets")
      assert(OffsetsParser.starting(json) == Right(Exact(offsets)))
    }
  }
}
