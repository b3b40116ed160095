package io.github.dynamickafka.gauge

/**
 * The names of gauges. Metrics sinks use dots as separators, and the Prometheus sink replaces other characters than
 * letters and digits with an underscore. So names contain only these characters, and different ids get different names.
 */
private[dynamickafka] object GaugeNames {

  /** The name that Spark gives to the thread of a query: with the name of the query, if any, and its id. */
  private val QueryThread = """stream execution thread for (?:(.*) )?\[id = ([0-9a-f-]{36}), runId = .*\]""".r

  /**
   * @param thread the name of the query's thread, because Spark does not pass the name of the query to a source
   * @param checkpoint the directory of the source in the checkpoint, which ends with the number of the source in the
   *                   query
   */
  def prefix(thread: String, checkpoint: String): String =
    s"${safe(query(thread))}.${safe(part(checkpoint))}"

  /** The name of the query; its id if it has none. */
  def query(thread: String): String = thread match {
    case QueryThread(name, id) => Option(name).getOrElse(id)
    case _ => "query"
  }

  /** The number of the source in the query. */
  def part(checkpoint: String): String = checkpoint.split('/').lastOption.getOrElse("")

  /** The prefix of the sink of a query, of which there is one. */
  def ofSink(thread: String): String = prefix(thread, "sink")

  /** The name for each cluster id. It does not depend on the other ids, unless two ids would have the same name. */
  def clusters(ids: Set[String]): Map[String, String] =
    ids.groupBy(safe).flatMap { case (name, same) =>
      same.map(id => id -> (if (same.size == 1) name else f"${name}_${id.hashCode}%08x"))
    }

  private def safe(text: String): String = {
    val chars = text.map(c => if (c < 128 && c.isLetterOrDigit) c else '_')
    if (chars.isEmpty) "_" else chars
  }
}
