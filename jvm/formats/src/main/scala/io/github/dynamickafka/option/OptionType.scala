package io.github.dynamickafka.option

import java.util.concurrent.TimeUnit
import java.util.regex.PatternSyntaxException

import scala.util.Try
import scala.util.matching.Regex

import org.apache.spark.network.util.JavaUtils

/**
 * The type of an option.
 *
 * @param label the name of the type in the documentation
 * @param parse returns the value of a trimmed text, or the reason why the text is invalid
 * @param isSecret whether values are not printed
 */
private[dynamickafka] final case class OptionType[+T](
    label: String,
    parse: String => Either[String, T],
    isSecret: Boolean = false
) {
  def map[A](f: T => A): OptionType[A] = OptionType(label, parse(_).map(f), isSecret)
}

/** The types of options. The reason of every parse function states which values are valid. */
private[dynamickafka] object OptionType {

  val boolean: OptionType[Boolean] =
    OptionType("boolean", s => s.toBooleanOption.toRight("it is neither 'true' nor 'false'."))

  val text: OptionType[String] =
    OptionType("string", s => Either.cond(s.nonEmpty, s, "it is empty."))

  /** A text that is not printed. */
  val password: OptionType[String] = text.copy(isSecret = true)

  def long(min: Long): OptionType[Long] = number("long", min, Long.MaxValue)

  def int(min: Int): OptionType[Int] = number("int", min.toLong, Int.MaxValue.toLong).map(_.toInt)

  private def number(label: String, min: Long, max: Long): OptionType[Long] =
    OptionType(
      label,
      s =>
        s.toLongOption.filter(n => n >= min && n <= max).toRight(s"it is not an integer from $min to $max.")
    )

  /**
   * A duration in milliseconds, or with a unit as in Spark (`10s`, `5min`, `2h`).
   *
   * @param min the smallest valid value, in milliseconds
   * @param minusOne the meaning of -1, if it is valid
   */
  def duration(min: Long, minusOne: Option[String] = None): OptionType[Long] = {
    val expected =
      s"it is not a duration of at least $min ms, in milliseconds or with a unit as in '500ms', '10s', '5min', '2h', " +
        s"'7d'${minusOne.fold("")(m => s", nor -1 ($m)")}."
    OptionType(
      "time (ms)",
      s =>
        if (minusOne.isDefined && s == "-1") Right(-1L)
        else Try(JavaUtils.timeStringAs(s, TimeUnit.MILLISECONDS)).toOption.filter(_ >= min).toRight(expected)
    )
  }

  /** A size in bytes, or with a unit as in Spark (`512k`, `10m`, `1g`). */
  def bytes(min: Long): OptionType[Long] = OptionType(
    "size (bytes)",
    s =>
      Try(JavaUtils.byteStringAsBytes(s)).toOption.filter(_ >= min).toRight(
        s"it is not a size of at least $min, in bytes or with a unit as in '512k', '10m', '1g'."
      )
  )

  /** A timestamp in milliseconds since 1970-01-01 UTC. */
  val epochMs: OptionType[Long] =
    OptionType(
      "epoch ms",
      s =>
        s.toLongOption.filter(_ >= 0).toRight("it is not a timestamp in milliseconds since 1970-01-01 UTC.")
    )

  /** One of the given words, case-insensitive. */
  def oneOf[T](values: (String, T)*): OptionType[T] = {
    val words = values.map { case (word, _) => word }
    OptionType(
      words.map(word => s"`$word`").mkString(", "),
      s =>
        values
          .collectFirst { case (word, value) if word.equalsIgnoreCase(s) => value }
          .toRight(notOneOf(s, words))
    )
  }

  /** Why a text that is not in the list is invalid. */
  def notOneOf(text: String, words: Seq[String]): String =
    s"it is not one of ${words.map(word => s"'$word'").mkString(", ")}.${Suggestions.didYouMean(text, words)}"

  /** Names separated by `;` or `,`, without duplicates, in the order of the text. */
  val names: OptionType[Seq[String]] =
    OptionType(
      "list (`;` or `,`)",
      { s =>
        val names = s.split("[;,]").map(_.trim).filter(_.nonEmpty).distinct.toSeq
        Either.cond(names.nonEmpty, names, "it contains no name.")
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
              Left(s"it is not a valid regular expression: ${e.getDescription} near index ${e.getIndex}.")
          }
    )
}
