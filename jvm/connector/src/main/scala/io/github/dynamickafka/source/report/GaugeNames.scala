package io.github.dynamickafka.source.report

/**
 * Names of gauges. Sinks take a dot for a level, and Prometheus' takes an underscore for all that is neither letter nor
 * digit, so nothing else is in them, and ids that would become one name are told apart.
 */
private[source] object GaugeNames {

  /** As Spark names the thread of a query: with its name where it has one, and its id. */
  private val QueryThread = """stream execution thread for (?:(.*) )?\[id = ([0-9a-f-]{36}), runId = .*\]""".r

  /**
   * @param thread the name of the query's thread: a source is told the name of its query by nobody
   * @param checkpoint the source's own folder in the checkpoint, which ends with the source's number in the query
   */
  def prefix(thread: String, checkpoint: String): String = {
    val query = thread match {
      case QueryThread(name, id) => Option(name).getOrElse(id)
      case _ => "query"
    }
    s"${safe(query)}.${safe(checkpoint.split('/').lastOption.getOrElse(""))}"
  }

  /** For each cluster id its name, the same whatever others there are, unless one of them would have it too. */
  def clusters(ids: Set[String]): Map[String, String] =
    ids.groupBy(safe).flatMap { case (name, same) =>
      same.map(id => id -> (if (same.size == 1) name else f"${name}_${id.hashCode}%08x"))
    }

  private def safe(text: String): String = {
    val chars = text.map(c => if (c < 128 && c.isLetterOrDigit) c else '_')
    if (chars.isEmpty) "_" else chars
  }
}
