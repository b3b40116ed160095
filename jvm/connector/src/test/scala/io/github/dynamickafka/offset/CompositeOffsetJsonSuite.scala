package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap
import scala.io.Source
import scala.util.Using

import org.scalactic.anyvals.PosInt
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.testkit.{RandomCases, TimeLimit}

class CompositeOffsetJsonSuite extends AnyFunSuite with TimeLimit with ScalaCheckPropertyChecks {
  private val Cases = PosInt.ensuringValid(RandomCases(300))

  private def positions(all: (String, Int, Long)*) = Positions.from(all)

  private def resource(name: String): String =
    Using.resource(Source.fromResource(s"checkpoints/$name", getClass.getClassLoader))(_.mkString.trim)

  test("what is written is read back equal, and written again as the same text") {
    forAll(Generators.compositeOffset, minSuccessful(Cases)) { offset =>
      val json = offset.json
      val back = CompositeOffsetJson.read(json)
      assert(back == offset)
      assert(back.json == json && CompositeOffsetJson.write(back) == json)
      assert(!json.contains('\n'), "Spark's offset log has one line for each source")
    }
  }

  test("packed: what is written is read back equal") {
    forAll(Generators.compositeOffset, minSuccessful(Cases)) { offset =>
      val packed = s"""{"version":2,"packed":"${PackedOffset.pack(offset)}"}"""
      assert(CompositeOffsetJson.read(packed) == offset)
    }
  }

  private def large(partitions: Int, from: Int = 0): CompositeOffset =
    CompositeOffset(SortedMap("a" -> positions((0 until partitions).map(p =>
      ("t", from + p, p * 1000003L)
    ): _*)))

  test("offsets of more than 64 KiB are packed, smaller ones are readable") {
    val sizes = Seq(1, 4000, 10000, 11000, 20000)
    for (n <- sizes; from <- Seq(0, 5)) {
      val offset = large(n, from)
      assert(CompositeOffsetJson.read(offset.json) == offset)
      assert(offset.json.contains(""""packed":"""") == n >= 4000, s"$n partitions: ${offset.json.length}")
    }
  }

  test("packed text that is damaged is refused") {
    val packed = PackedOffset.pack(large(50))
    def refused(text: String) = {
      val e = intercept[DynamicKafkaRuntimeException](
        CompositeOffsetJson.read(s"""{"version":2,"packed":"$text"}""")
      )
      assert(e.getCondition == "DYNAMIC_KAFKA.INVALID_OFFSET")
    }
    Seq("", "!", packed.take(20), packed.drop(8), packed.dropRight(8)).foreach(refused)
  }

  test("an offset that was read keeps its text, and equals one of another text") {
    val text = """{"version": 2, "clusters": {"a": {"t": {"0": 3}}}}"""
    val read = CompositeOffsetJson.read(text)
    val same = CompositeOffset(SortedMap("a" -> positions(("t", 0, 3L))))
    assert(read == same && read.hashCode == same.hashCode && same.sameAs(read))
    assert(read.json == text && same.json == text.replace(" ", ""))
    assert(!read.copy(entered = read.clusters).json.contains(' '))
  }

  test("equal offsets have equal text, in whatever order they were built") {
    val one =
      SortedMap("b" -> positions(("t", 10, 1L), ("t", 2, 2L)), "a" -> positions(("z", 0, 3L), ("y", 0, 4L)))
    val other =
      SortedMap("a" -> positions(("y", 0, 4L), ("z", 0, 3L)), "b" -> positions(("t", 2, 2L), ("t", 10, 1L)))
    assert(CompositeOffset(one).json == CompositeOffset(other).json)
    assert(
      CompositeOffset(one).json ==
        """{"version":2,"clusters":{"a":{"y":{"0":4},"z":{"0":3}},"b":{"t":{"2":2,"10":1}}}}"""
    )
  }

  test("writes the documented format, byte for byte") {
    val offset = CompositeOffset(
      clusters = SortedMap("blue" -> positions(("orders", 0, 42L), ("orders", 1, 7L))),
      entered = SortedMap("green" -> positions(("orders", 0, 0L))),
      retained = SortedMap("old" -> Retained.at(
        1763700000000L,
        positions(("orders", 0, 99L)),
        Set("orders"),
        _ => Some("T1")
      )),
      until = ReadUntil(SortedMap("red" -> positions(("orders", 0, 120L)))),
      identities = SortedMap("blue" -> ClusterIdentity(Some("K1"), SortedMap("orders" -> "T0")))
    )
    assert(
      offset.json == """{"version":2,"clusters":{"blue":{"orders":{"0":42,"1":7}}},""" +
        """"entered":{"green":{"orders":{"0":0}}},""" +
        """"retained":{"old":{"topics":{"orders":{"since":1763700000000,"id":"T1","offsets":{"0":99}}},""" +
        """"drained":["orders"]}},"draining":{"red":{"orders":{"0":120}}},""" +
        """"identities":{"blue":{"cluster":"K1","topics":{"orders":"T0"}}}}"""
    )
  }

  test("every later version reads the golden offset") {
    val golden = resource("offset-0.1.0.json")
    val read = CompositeOffsetJson.read(golden)
    assert(CompositeOffsetJson.write(read) == golden)
    assert(read.endsOf("blue")("orders") == TopicEnds("latest", SortedMap(0 -> 42L, 1 -> 9L)))
    assert(read.earlier.map(_.batch) == Vector("9f86d0") && read.history("orders") == 250L)
    assert(read.retained("old").topics("orders").id.contains("x7Tn1DQvQFyPyJ0cXW1b2A"))
  }

  test("cluster ids and topics are opaque: 'a' with 'b-c' is not 'a-b' with 'c'") {
    val one = CompositeOffset(SortedMap("a" -> positions(("b-c", 0, 1L))))
    val other = CompositeOffset(SortedMap("a-b" -> positions(("c", 0, 1L))))
    assert(one.json != other.json)
    assert(OffsetRange.between(CompositeOffset.empty.copy(clusters = one.clusters), one).isEmpty)
  }
}
