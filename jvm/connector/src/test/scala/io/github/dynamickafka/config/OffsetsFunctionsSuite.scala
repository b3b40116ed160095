package io.github.dynamickafka.config

import java.{lang => jl, util => ju}

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.extension.OffsetsFunction
import io.github.dynamickafka.metadata.OffsetsPolicy
import io.github.dynamickafka.testkit.TimeLimit

class OffsetsFunctionsSuite extends AnyFunSuite with TimeLimit {
  import OffsetsFunctionsSuite._

  private def refused(text: String): String =
    OffsetsFunctions.parse(text).get.swap.getOrElse(fail(s"$text is not refused"))

  private def computed(text: String): OffsetsPolicy.Computed =
    OffsetsFunctions.parse(text).get.getOrElse(fail(text)).asInstanceOf[OffsetsPolicy.Computed]

  private def call(function: OffsetsFunctions.Function, lowest: Long = OffsetsPolicy.EarliestOffset) =
    OffsetsFunctions.call(
      OffsetsPolicy.Computed("function", "")(() => function),
      "blue",
      "orders",
      Seq(0, 1),
      lowest
    )

  test("a class of either interface") {
    for (name <- Seq(classOf[Evens], classOf[EvensOfJava]).map(_.getName)) {
      val policy = computed(s"class:$name")
      assert(OffsetsFunctions.call(policy, "blue", "orders", Seq(0, 1), -2L) === Right(Map(0 -> 0L, 1 -> 2L)))
      assert(policy == computed(s"class: $name "), "equal for each parse, so that nothing is resolved again")
    }
  }

  test("other classes are refused when the option is parsed") {
    assert(refused("class:no.such.Offsets").contains("no class 'no.such.Offsets'"))
    assert(refused("class:java.lang.String").contains("implements neither scala.Function3"))
    assert(refused(s"class:${classOf[WithParameter].getName}").contains("no public constructor"))
    assert(refused("function:unknown").contains("use 'class:<name>'"))
  }

  test("other texts name no function") {
    for (text <- Seq("earliest", "{}", "timestamp:1", "classes", ""))
      assert(OffsetsFunctions.parse(text).isEmpty, text)
  }

  test("an answer has an offset of each partition, and of no others") {
    assert(call((_, _, ps) => ps.map(_ -> 7L).toMap) === Right(Map(0 -> 7L, 1 -> 7L)))
    val missing = call((_, _, _) => Map(1 -> 7L)).swap.toOption.get
    assert(missing.partitions == Seq(0) && missing.reason.contains("no offset"))
    val more = call((_, _, _) => Map(0 -> 1L, 1 -> 1L, 5 -> 1L)).swap.toOption.get
    assert(more.partitions == Seq(5) && more.reason.contains("not asked for"))
  }

  test("-1 and -2, as in JSON") {
    assert(call((_, _, _) => Map(0 -> -1L, 1 -> -2L)).isRight)
    val tooLow = call((_, _, _) => Map(0 -> -1L, 1 -> -3L)).swap.toOption.get
    assert(tooLow.partitions == Seq(1) && tooLow.reason.contains("-3"))
    assert(call((_, _, _) => Map(0 -> -1L, 1 -> -2L), OffsetsPolicy.LatestOffset).isLeft)
  }

  test("an exception, null, and values of another class") {
    val failed = call((_, _, _) => throw new IllegalStateException("no table")).swap.toOption.get
    assert(failed.partitions == Seq(0, 1) && failed.reason.contains("IllegalStateException: no table"))
    assert(call((_, _, _) => null).isLeft)
    assert(call((_, _, _) => Map[Any, Any](0 -> "1", 1 -> 1L).asInstanceOf[Map[Int, Long]]).isLeft)
    assert(call((_, _, _) => Map[Any, Any](0 -> 3, 1 -> 4).asInstanceOf[Map[Int, Long]]) ===
      Right(Map(0 -> 3L, 1 -> 4L)))
    val constructor =
      OffsetsFunctions.call(computed(s"class:${classOf[Failing].getName}"), "b", "t", Seq(0), -2L)
    assert(constructor.swap.toOption.get.reason.contains("no credentials"))
  }
}

object OffsetsFunctionsSuite {
  final class Evens extends ((String, String, Seq[Int]) => Map[Int, Long]) {
    override def apply(cluster: String, topic: String, partitions: Seq[Int]): Map[Int, Long] =
      partitions.map(p => p -> 2L * p).toMap
  }

  final class EvensOfJava extends OffsetsFunction {
    override def offsets(
        cluster: String,
        topic: String,
        partitions: ju.List[Integer]
    ): ju.Map[Integer, jl.Long] = {
      val offsets = new ju.HashMap[Integer, jl.Long]
      partitions.forEach { p =>
        val _ = offsets.put(p, 2L * p)
      }
      offsets
    }
  }

  final class WithParameter(table: String) extends OffsetsFunction {
    override def offsets(c: String, t: String, ps: ju.List[Integer]): ju.Map[Integer, jl.Long] =
      throw new IllegalStateException(table)
  }

  final class Failing extends OffsetsFunction {
    if (Failing.fails) throw new IllegalStateException("no credentials")
    override def offsets(c: String, t: String, ps: ju.List[Integer]): ju.Map[Integer, jl.Long] = ju.Map.of()
  }

  object Failing {
    private val fails = true
  }
}
