package io.github.dynamickafka.admin

import io.github.dynamickafka.base.Json
import io.github.dynamickafka.source.checkpoint.SourceId

/** Rows of one shape for SQL, JSON and text, each of which has its own form of the values. */
private[admin] final case class Table(names: Seq[String], rows: Seq[Seq[Any]]) {
  def json: Seq[Json.Fields] = rows.map(row =>
    Json.Fields(names.zip(row.map {
      case source: SourceId => source.shown
      case other => other
    }))
  )

  /** Numbers are right-aligned, and None is an empty cell. */
  def text: String = {
    val plain = rows.map(_.map {
      case source: SourceId => source.name
      case other => Result.plain(other)
    })
    val right = names.indices.map(i => plain.exists(_(i) != null) && plain.forall(row => isNumber(row(i))))
    val cells = names +: plain.map(_.map(v => if (v == null) "" else v.toString))
    val widths = names.indices.map(i => cells.map(_(i).length).max)
    cells.map { row =>
      row.indices.map { i =>
        val blanks = " " * (widths(i) - row(i).length)
        if (right(i)) blanks + row(i) else row(i) + blanks
      }.mkString("  ").stripTrailing
    }.mkString("\n")
  }

  private def isNumber(value: Any) = value match {
    case null | _: Int | _: Long => true
    case _ => false
  }
}

private[admin] object Text {
  def count(number: Long, thing: String): String = if (number == 1) s"1 $thing" else s"$number ${thing}s"
}
