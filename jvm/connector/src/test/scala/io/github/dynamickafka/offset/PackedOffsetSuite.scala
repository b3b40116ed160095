package io.github.dynamickafka.offset

import java.io.ByteArrayOutputStream
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Base64
import java.util.zip.DeflaterOutputStream

import scala.collection.immutable.SortedMap

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.error.DynamicKafkaRuntimeException

/** Packed offsets that are damaged, byte by byte, and how large they are. */
class PackedOffsetSuite extends AnyFunSuite {

  /** @param partitions the JSON in place of the offsets of topic t */
  private def packed(partitions: String, offsets: Int*): String = {
    val text = s"""{"version":2,"clusters":{"a":{"t":$partitions}}}""".getBytes(UTF_8)
    val bytes = new ByteArrayOutputStream
    val deflate = new DeflaterOutputStream(bytes)
    assert(text.length < 128, "one byte of a varint")
    deflate.write(text.length)
    deflate.write(text)
    offsets.foreach(deflate.write)
    deflate.close()
    s"""{"version":2,"packed":"${Base64.getEncoder.encodeToString(bytes.toByteArray)}"}"""
  }

  private def offsets(all: (Int, Long)*) =
    CompositeOffset(SortedMap("a" -> Positions.from(all.map { case (p, at) => ("t", p, at) })))

  private def refused(text: String, why: String): Unit = {
    val e = intercept[DynamicKafkaRuntimeException](CompositeOffsetJson.read(text))
    assert(e.getCondition == "DYNAMIC_KAFKA.INVALID_OFFSET" && e.getMessage.contains(why), e.getMessage)
    ()
  }

  test("the partitions are a number or an array") {
    assert(CompositeOffsetJson.read(packed("2", 5, 6)) == offsets(0 -> 5L, 1 -> 6L))
    assert(CompositeOffsetJson.read(packed("[1,3]", 5, 6)) == offsets(1 -> 5L, 3 -> 6L))
    assert(CompositeOffsetJson.read(packed("1", 0xff, 1)) == offsets(0 -> 255L))
    Seq("\"x\"", "[0,-1]", "[0,\"1\"]", "{\"0\":1}", "true").foreach { partitions =>
      refused(packed(partitions, 5, 6), "neither a number of partitions nor an array")
    }
  }

  test("as many offsets as partitions") {
    refused(packed("3", 5, 6), "cut off")
    refused(packed("-1", 5, 6), "cut off")
    refused(packed("[0,1,2]", 5, 6), "cut off")
    refused(packed("1", 5, 6), "more offsets than partitions")
  }

  test("an offset that does not end is refused") {
    refused(packed("1", 0x80), "cut off")
    refused(packed("1", Seq.fill(12)(0x80): _*), "cut off")
  }

  test("100,000 partitions of 1,000 clusters, with offsets up to 10^12, take less than 1 MB") {
    val random = new scala.util.Random(7)
    def numbers(partitions: Seq[Int]) =
      Positions.from(partitions.map(p => ("orders", p, math.abs(random.nextLong()) % 1000000000000L)))
    val offset =
      CompositeOffset(SortedMap.from((0 until 1000).map(c => s"cluster-$c" -> numbers(0 until 100))))
    assert(offset.json.length < 1000000)
    assert(CompositeOffsetJson.read(offset.json) == offset)
    // As many different leader epochs as there are after years of elections.
    val elected = offset.copy(identities = offset.clusters.map { case (id, of) =>
      id -> ClusterIdentity(epochs = Positions.from(of.iterator.map { case (t, p, _) =>
        (t, p, random.nextInt(128).toLong)
      }))
    })
    assert(elected.json.length < 1000000, elected.json.length)
    assert(CompositeOffsetJson.read(elected.json) == elected)
    // A number for a hundred partitions, instead of their numbers.
    val gaps = CompositeOffset(SortedMap.from((0 until 1000).map(c => s"cluster-$c" -> numbers(1 to 100))))
    assert(gaps.json.length > offset.json.length)
  }
}
