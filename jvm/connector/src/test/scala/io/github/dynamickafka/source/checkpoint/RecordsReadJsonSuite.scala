package io.github.dynamickafka.source.checkpoint

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.offset.alignment.LogKey
import io.github.dynamickafka.offset.replacement.{LastRecord, ReadUpTo, RecordsRead}
import io.github.dynamickafka.testkit.TimeLimit

/** The codec of `read.json`. */
class RecordsReadJsonSuite extends AnyFunSuite with TimeLimit with ScalaCheckPropertyChecks {

  private val reads = Gen.mapOf(for {
    key <- Gen.zip(Gen.oneOf("a", "b"), Gen.oneOf("t", "u"), Gen.choose(0, 20))
    position <- Gen.choose(0L, 1000000000000L)
    batch <- Gen.choose(0L, 2000000000000L)
    last <- Gen.option(Gen.zip(Gen.choose(0L, 3L), Gen.choose(0L, 2000000000000L)))
  } yield LogKey(key._1, key._2, key._3) -> ReadUpTo(
    position + 10,
    batch,
    last.map { case (gap, time) => LastRecord(position + 9 - gap, time) }
  )).map(RecordsRead(_))

  test("what is written is read") {
    forAll(reads)(read => assert(RecordsReadJson.read(RecordsReadJson.write(read)) == read))
  }

  test("100,000 partitions are less than 4 MB") {
    val all = (0 until 100000).map(i =>
      LogKey(s"c${i % 1000}", "topic", i / 1000) ->
        ReadUpTo(
          i * 1234567L,
          1760000000000L + i,
          Some(LastRecord(i * 1234567L - 1, 1760000000000L + i * 17L))
        )
    )
    val text = RecordsReadJson.write(RecordsRead(all.toMap))
    assert(text.length < 4000000, text.length.toString)
    assert(RecordsReadJson.read(text).partitions == all.toMap)
  }

  test("another version, or another text, is refused") {
    Seq("", "{", "{}", """{"version":2,"positions":{}}""", "[]")
      .foreach(text => intercept[Exception](RecordsReadJson.read(text)))
  }
}
