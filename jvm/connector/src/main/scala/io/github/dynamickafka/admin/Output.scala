package io.github.dynamickafka.admin

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
