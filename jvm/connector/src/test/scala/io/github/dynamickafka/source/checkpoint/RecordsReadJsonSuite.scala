package io.github.dynamickafka.source.checkpoint

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.offset.LogKey
import io.github.dynamickafka.offset.replacement.{LastRecord, RecordsRead}
import io.github.dynamickafka.testkit.TimeLimit

/** The codec of `read.json`. */
class RecordsReadJsonSuite extends AnyFunSuite with TimeLimit with ScalaCheckPropertyChecks {

  private val reads = Gen.mapOf(for {
    key <- Gen.zip(Gen.oneOf("a", "b"), Gen.oneOf("t", "u"), Gen.choose(0, 20))
    offset <- Gen.choose(0L, 1000000000000L)
    time <- Gen.choose(0L, 2000000000000L)
  } yield LogKey(key._1, key._2, key._3) -> LastRecord(offset, time)).map(RecordsRead(_))

  private def read(text: String) = RecordsReadJson.read(text, "read.json")

  test("what is written is read") {
    forAll(reads)(all => assert(read(RecordsReadJson.write(all)) == all))
  }

  test("100,000 partitions are less than 3 MB") {
    val all = (0 until 100000).map(i =>
      LogKey(s"c${i % 1000}", "topic", i / 1000) -> LastRecord(i * 1234567L - 1, 1760000000000L + i * 17L)
    ).drop(1)
    val text = RecordsReadJson.write(RecordsRead(all.toMap))
    assert(text.length < 3000000, text.length.toString)
    assert(read(text).partitions == all.toMap)
  }

  test("another version, or another text, is refused") {
    def condition(text: String) = intercept[DynamicKafkaRuntimeException](read(text)).getCondition
    Seq("", "{", """{"version":1,"offsets":{}}""", "[]")
      .foreach(text => assert(condition(text).endsWith("INVALID_OFFSET")))
    Seq("{}", """{"version":2,"offsets":{}}""")
      .foreach(text => assert(condition(text).endsWith("UNKNOWN_OFFSET_VERSION")))
  }
}
