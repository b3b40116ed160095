package io.github.dynamickafka.page

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}

/** What the page's script gets. Pure. */
private[page] object PageJson {
  private val mapper = new ObjectMapper

  /** @param sinceMs only points of the charts after this moment are included */
  def write(application: String, nowMs: Long, queries: Seq[PageQuery.View], sinceMs: Long): Array[Byte] = {
    val root = mapper.createObjectNode()
    root.put("application", application).put("now", nowMs)
    val all = root.putArray("queries")
    queries.foreach(query => write(query, all.addObject(), sinceMs))
    mapper.writeValueAsBytes(root)
  }

  private def write(query: PageQuery.View, to: ObjectNode, sinceMs: Long): Unit = {
    to.put("name", query.name).put("part", query.part).put("title", query.title)
    to.put("started", query.startedMs)
    query.endedMs.fold(to.putNull("ended"))(to.put("ended", _))
    numbers(to.putObject("total"), query.last.total)
    val clusters = to.putArray("clusters")
    query.last.clusters.toSeq.sortBy(_._1).foreach { case (id, values) =>
      val cluster = clusters.addObject().put("id", id).put("state", QueryHistory.stateOf(values))
      numbers(cluster.putObject("values"), values)
    }
    points(query.history.points.filter(_.atMs > sinceMs), to.putObject("points"))
    val spans = to.putArray("spans")
    query.history.allSpans.foreach(span =>
      spans.addObject().put("cluster", span.cluster).put("state", span.state)
        .put("from", span.fromMs).put("until", span.untilMs)
    )
    val events = to.putArray("events")
    query.history.events.foreach(event =>
      events.addObject().put("at", event.atMs).put("what", event.what)
        .put("cluster", event.cluster).put("detail", event.detail)
    )
  }

  /** Columns, with null where a cluster was not in the query. */
  private def points(points: Seq[Point], to: ObjectNode): Unit = {
    val at = to.putArray("at")
    points.foreach(point => at.add(point.atMs))
    val clusters = to.putObject("clusters")
    points.flatMap(_.clusters.keys).distinct.sorted.foreach { id =>
      val cluster = clusters.putObject(id)
      def column(name: String, value: Counts => Long): Unit = {
        val values: ArrayNode = cluster.putArray(name)
        points.foreach(_.clusters.get(id).fold(values.addNull())(counts => values.add(value(counts))))
      }
      column("lag", _.lag)
      column("records", _.records)
    }
  }

  private def numbers(to: ObjectNode, values: Map[String, Long]): Unit =
    values.toSeq.sorted.foreach { case (name, value) => to.put(name, value) }
}
