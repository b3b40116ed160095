package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap
import scala.io.Source
import scala.util.Using

import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.testkit.TimeLimit

class CompositeOffsetJsonSuite extends AnyFunSuite with TimeLimit with ScalaCheckPropertyChecks {

  private def positions(all: (String, Int, Long)*) = Positions.from(all)

  private def resource(name: String): String =
    Using.resource(Source.fromResource(s"checkpoints/$name", getClass.getClassLoader))(_.mkString.trim)

  test("what is written is read back equal, and written again as the same text") {
    forAll(Generators.compositeOffset, minSuccessful(300)) { offset =>
      val json = offset.json
      val back = CompositeOffsetJson.read(json)
      assert(back == offset)
      assert(back.json == json)
      assert(!json.contains('\n'), "Spark's offset log has one line for each source")
    }
  }

  test("equal offsets have equal text, in whatever order they were built") {
    val one =
      SortedMap("b" -> positions(("t", 10, 1L), ("t", 2, 2L)), "a" -> positions(("z", 0, 3L), ("y", 0, 4L)))
    val other =
      SortedMap("a" -> positions(("y", 0, 4L), ("z", 0, 3L)), "b" -> positions(("t", 2, 2L), ("t", 10, 1L)))
    assert(CompositeOffset(one).json == CompositeOffset(other).json)
    assert(
      CompositeOffset(one).json ==
        """{"version":1,"clusters":{"a":{"y":{"0":4},"z":{"0":3}},"b":{"t":{"2":2,"10":1}}}}"""
    )
  }

  test("writes the documented format, byte for byte") {
    val offset = CompositeOffset(
      clusters = SortedMap("blue" -> positions(("orders", 0, 42L), ("orders", 1, 7L))),
      entered = SortedMap("green" -> positions(("orders", 0, 0L))),
      retained = SortedMap("old" -> Retained(1763700000000L, positions(("orders", 0, 99L)))),
      draining = SortedMap("red" -> positions(("orders", 0, 120L)))
    )
    assert(
      offset.json == """{"version":1,"clusters":{"blue":{"orders":{"0":42,"1":7}}},""" +
        """"entered":{"green":{"orders":{"0":0}}},""" +
        """"retained":{"old":{"since":1763700000000,"topics":{"orders":{"0":99}}}},""" +
        """"draining":{"red":{"orders":{"0":120}}}}"""
    )
  }

  test("every later version reads the golden offset of version 1") {
    val golden = resource("offset-version-1.json")
    assert(CompositeOffsetJson.read(golden).json == golden)
  }

  test("every later version reads the golden offset with ends, which is of version 1 too") {
    val golden = resource("offset-version-1-ends.json")
    val read = CompositeOffsetJson.read(golden)
    assert(read.json == golden)
    assert(read.endsOf("blue")("orders") == TopicEnds("latest", SortedMap(0 -> 42L, 1 -> 9L)))
  }

  test("cluster ids and topics are opaque: 'a' with 'b-c' is not 'a-b' with 'c'") {
    val one = CompositeOffset(SortedMap("a" -> positions(("b-c", 0, 1L))))
    val other = CompositeOffset(SortedMap("a-b" -> positions(("c", 0, 1L))))
    assert(one.json != other.json)
    assert(OffsetRange.between(CompositeOffset.empty.copy(clusters = one.clusters), one).isEmpty)
  }
}
