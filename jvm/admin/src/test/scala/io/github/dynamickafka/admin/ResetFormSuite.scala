package io.github.dynamickafka.admin

import org.apache.kafka.common.TopicPartition
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.offset.Positions

/** The forms of `reset`, as the command has them. */
class ResetFormSuite extends AnyFunSuite {
  import ResetForm._

  private val at = new TopicPartition("orders", 0)

  test("texts") {
    assert(parse("earliest") == Offset(-2L) && parse("latest") == Offset(-1L))
    assert(parse("timestamp:5") == Time(5L))
    assert(parse("""{"a": {"0": 5, "1": -1}}""") == Exact(Positions.from(Seq(("a", 0, 5L), ("a", 1, -1L)))))
    Seq(
      "",
      "first",
      "timestamp:-1",
      "{}",
      "[]",
      "{",
      "5",
      """{"a": 1}""",
      """{"a": {"x": 1}}""",
      """{"a": {"0": -3}}""",
      """{"a": {"0": 1.5}}""",
      """{"a": {"0": 99999999999999999999}}"""
    ).foreach(text =>
      assert(intercept[WrongUsage](parse(text)).getMessage.startsWith(s"'$text' is neither"), text)
    )
  }

  test("positions") {
    def resolved(wanted: Long, target: Option[Long] = None) =
      resolve(at, wanted, first = 5, last = 50, target)
    assert(resolved(-2L) == Right(5L) && resolved(-1L) == Right(50L))
    assert(resolved(20L) == Right(20L) && resolved(5L) == Right(5L) && resolved(50L) == Right(50L))
    assert(resolved(4L) == Left("topic 'orders', partition 0 has the offsets 5 to 50, not 4"))
    assert(resolved(51L).isLeft)
    // A topic that drains is read up to its target.
    assert(resolved(-1L, target = Some(45L)) == Right(45L))
  }
}
