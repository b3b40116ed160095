package io.github.dynamickafka.config.option

import java.util.concurrent.TimeUnit
import java.util.regex.PatternSyntaxException

import scala.util.Try
import scala.util.matching.Regex

import org.apache.spark.network.util.JavaUtils

import io.github.dynamickafka.topology.OffsetsPolicy

/**
 * @param label the name of the type in the documentation
 * @param parse the value of a trimmed text, or the reason why it has none
 */
private[dynamickafka] final case class OptionType[+T](label: String, parse: String => Either[String, T]) {
  def map[A](f: T => A): OptionType[A] = OptionType(label, parse(_).map(f))
}

/** The types that options have. Every parse function tells what it takes when it refuses a value. */
private[dynamickafka] object OptionType {

  val boolean: OptionType[Boolean] =
    OptionType("boolean", s => s.toBooleanOption.toRight("it is neither 'true' nor 'false'."))

  val text: OptionType[String] =
    OptionType("string", s => Either.cond(s.nonEmpty, s, "it is empty."))

  def long(min: Long): OptionType[Long] = number("long", min, Long.MaxValue)

  def int(min: Int): OptionType[Int] = {
    val number = this.number("int", min.toLong, Int.MaxValue.toLong)
    OptionType(number.label, s => number.parse(s).map(_.toInt))
  }

  private def number(label: String, min: Long, max: Long): OptionType[Long] =
    OptionType(
      label,
      s =>
        s.toLongOption.filter(n => n >= min && n <= max).toRight(s"it is no whole number from $min to $max.")
    )

  /**
   * A time in milliseconds, or with a unit in Spark's fashion (`10s`, `5min`, `2h`).
   *
   * @param min the smallest value that makes sense
   * @param minusOne what -1 means, where it has a meaning
   */
  def duration(min: Long, minusOne: Option[String] = None): OptionType[Long] = {
    val expected =
      s"it is no time of ${if (min > 0) s"at least $min ms" else "0 ms or more"}, as milliseconds or " +
        s"with a unit like '500ms', '10s', '5min', '2h', '7d'${minusOne.fold("")(m => s", nor -1 ($m)")}."
    OptionType(
      "time (ms)",
      s =>
        if (minusOne.isDefined && s == "-1") Right(-1L)
        else Try(JavaUtils.timeStringAs(s, TimeUnit.MILLISECONDS)).toOption.filter(_ >= min).toRight(expected)
    )
  }

  /** A point in time, in milliseconds since 1970 (UTC). */
  val epochMs: OptionType[Long] =
    OptionType(
      "epoch ms",
      s => s.toLongOption.filter(_ >= 0).toRight("it is no time in milliseconds since 1970-01-01 UTC.")
    )

  /** One of some words, in any case. */
  def oneOf[T](values: (String, T)*): OptionType[T] =
    OptionType(
      values.map { case (word, _) => s"`$word`" }.mkString(", "),
      s =>
        values
          .collectFirst { case (word, value) if word.equalsIgnoreCase(s) => value }
          .toRight(s"it is none of ${values.map { case (word, _) => s"'$word'" }.mkString(", ")}.")
    )

  /** Names separated by `;` or `,`, each once, in the order in which they are written. */
  val names: OptionType[Seq[String]] =
    OptionType(
      "list (`;` or `,`)",
      { s =>
        val names = s.split("[;,]").map(_.trim).filter(_.nonEmpty).distinct.toSeq
        Either.cond(names.nonEmpty, names, "it names nothing.")
      }
    )

  val regex: OptionType[Regex] =
    OptionType(
      "Java regex",
      s =>
        if (s.isEmpty) Left("it is empty.")
        else
          try Right(s.r)
          catch {
            case e: PatternSyntaxException =>
              Left(s"it is no regular expression: ${e.getDescription} near index ${e.getIndex}.")
          }
    )

  /** Where reading starts. `committed` has no fallback here: the parser of all options knows it. */
  val startingOffsets: OptionType[OffsetsPolicy] =
    OptionType(
      "`earliest`, `latest`, `committed`, `timestamp:<epoch ms>`, JSON",
      OffsetsParser.starting(_)
    )

  /** As [[startingOffsets]] for what is not known by name when the query is written. */
  val enteringOffsets: OptionType[OffsetsPolicy] =
    OptionType("`earliest`, `latest`, `committed`, `timestamp:<epoch ms>`", OffsetsParser.entering(_))

  val endingOffsets: OptionType[OffsetsPolicy] =
    OptionType("`latest`, `committed`, `timestamp:<epoch ms>`, JSON", OffsetsParser.ending(_))

  val timestamps: OptionType[OffsetsPolicy] = OptionType("JSON of epoch ms", OffsetsParser.timestamps)
}
