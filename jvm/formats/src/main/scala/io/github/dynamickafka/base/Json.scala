package io.github.dynamickafka.base

import scala.collection.immutable.{SortedMap, SortedSet}

import com.fasterxml.jackson.databind.ObjectMapper

/**
 * JSON texts of Scala's values: texts, numbers, booleans, options, sequences, sets, maps by text, and fields in their order. Sets and maps
 * without an order are sorted, so that the same value always has the same text.
 */
private[dynamickafka] object Json {
  private val mapper = new ObjectMapper

  final case class Fields(all: Seq[(String, Any)]) {
    def ++(more: Fields): Fields = Fields(all ++ more.all)
  }

  final case class Raw(text: String)

  /** A field whose value is None is null. */
  def fields(all: (String, Any)*): Fields = Fields(all)

  /** The fields whose value is neither None nor empty. */
  def present(all: (String, Any)*): Fields = Fields(all.filter {
    case (_, None) => false
    case (_, some: Iterable[_]) => some.nonEmpty
    case (_, Fields(some)) => some.nonEmpty
    case _ => true
  })

  /** The text in one line. */
  def write(value: Any): String = write(value, None)

  /** The text with a line for each value. */
  def pretty(value: Any): String = write(value, Some(""))

  /** @param indent of the line where the value begins; None: all is in one line */
  private def write(value: Any, indent: Option[String]): String = {
    def inner(of: Any) = write(of, indent.map(_ + Step))
    def block(entries: Iterable[String], open: String, close: String) = indent match {
      case Some(before) if entries.nonEmpty =>
        entries.mkString(s"$open\n$before$Step", s",\n$before$Step", s"\n$before$close")
      case _ => entries.mkString(open, ",", close)
    }
    value match {
      case Fields(all) =>
        val colon = if (indent.isEmpty) ":" else ": "
        block(all.map { case (name, v) => mapper.writeValueAsString(name) + colon + inner(v) }, "{", "}")
      case Raw(text) => text
      case all: collection.Map[_, _] =>
        val named = all.toSeq.map { case (key, v) => key.toString -> v }
        write(Fields(if (all.isInstanceOf[SortedMap[_, _]]) named else named.sortBy(_._1)), indent)
      case all: Set[_] if !all.isInstanceOf[SortedSet[_]] => write(all.toSeq.sortBy(_.toString), indent)
      case all: Iterable[_] => block(all.map(inner), "[", "]")
      case Some(one) => write(one, indent)
      case None | null => "null"
      case number @ (_: Int | _: Long | _: Boolean) => number.toString
      case other => mapper.writeValueAsString(other.toString)
    }
  }

  private val Step = "  "
}
