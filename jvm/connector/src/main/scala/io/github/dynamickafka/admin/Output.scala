package io.github.dynamickafka.admin

import com.fasterxml.jackson.databind.ObjectMapper

/** JSON documents of commands, from Scala's values: text, numbers, booleans, options, sequences, and fields in their order. */
private[admin] object Json {
  private val mapper = new ObjectMapper

  final case class Fields(all: Seq[(String, Any)])

  final case class Raw(text: String)

  /** A field whose value is None is null. */
  def fields(all: (String, Any)*): Fields = Fields(all)

  def write(value: Any, indent: String = ""): String = value match {
    case Fields(all) => block(
        all.map { case (name, v) => s"${mapper.writeValueAsString(name)}: ${write(v, indent + Step)}" },
        "{",
        "}",
        indent
      )
    case Raw(text) => text
    case all: Seq[_] => block(all.map(write(_, indent + Step)), "[", "]", indent)
    case Some(one) => write(one, indent)
    case None | null => "null"
    case number @ (_: Int | _: Long | _: Boolean) => number.toString
    case other => mapper.writeValueAsString(other.toString)
  }

  private val Step = "  "

  private def block(entries: Seq[String], open: String, close: String, indent: String) =
    if (entries.isEmpty) open + close
    else entries.mkString(s"$open\n$indent$Step", s",\n$indent$Step", s"\n$indent$close")
}

private[admin] object Text {

  /** A table; numbers are right-aligned, and None is an empty cell. */
  def table(header: Seq[String], rows: Seq[Seq[Any]]): String = {
    val plain = rows.map(_.map(Result.plain))
    val right = header.indices.map(i => plain.exists(_(i) != null) && plain.forall(row => isNumber(row(i))))
    val cells = header +: plain.map(_.map(v => if (v == null) "" else v.toString))
    val widths = header.indices.map(i => cells.map(_(i).length).max)
    cells.map { row =>
      row.indices.map { i =>
        val blanks = " " * (widths(i) - row(i).length)
        if (right(i)) blanks + row(i) else row(i) + blanks
      }.mkString("  ").stripTrailing
    }.mkString("\n")
  }

  def count(number: Long, thing: String): String = if (number == 1) s"1 $thing" else s"$number ${thing}s"

  private def isNumber(value: Any) = value match {
    case null | _: Int | _: Long => true
    case _ => false
  }
}
