package io.github.dynamickafka.metadata.resolve

import io.github.dynamickafka.option.Suggestions

/** What a text says about the id of a stream that the metadata does not have. */
private[resolve] object StreamNames {

  /** A sentence with the closest id, else with the first ids that there are; empty if there is none. */
  def suggestion(id: String, others: Iterable[String]): String = {
    val known = others.toSeq.filter(_ != id).distinct.sorted
    Suggestions.closest(id, known).map(other => s" Did you mean '$other'?").getOrElse {
      val shown = known.take(Shown).map(other => s"'$other'").mkString(", ")
      val more = if (known.size > Shown) s" and ${known.size - Shown} others" else ""
      if (known.isEmpty) "" else s" The streams of the service are $shown$more."
    }
  }

  private val Shown = 10
}
