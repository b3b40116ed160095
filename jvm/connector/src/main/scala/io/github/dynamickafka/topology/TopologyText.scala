package io.github.dynamickafka.topology

/** Log messages for changes of the topology, with cluster ids and topics. Values of properties are omitted. */
private[dynamickafka] object TopologyText {

  def change(service: String, version: Long, before: Option[Topology], now: Topology): String =
    s"Topology $version of metadata service '$service'" +
      (if (now.streams.isEmpty) s" (${changes(before, now)}): ${clusters(now)}"
       else s", for writing: ${streams(now)}")

  private def changes(before: Option[Topology], now: Topology): String = {
    val old = before.getOrElse(Topology.empty).clusters
    val ids = (old.keySet ++ now.clusters.keySet).toSeq
    Seq(
      "added" -> ids.filter(id => !old.contains(id)),
      "removed" -> ids.filter(id => !now.clusters.contains(id)),
      "missing in the last answer" -> now.unconfirmed.keySet.toSeq,
      "topics changed" -> both(old.keySet, now).filter(id =>
        old(id).topics != now.clusters(id).topics || old(id).patterns != now.clusters(id).patterns
      ),
      "properties changed" -> both(old.keySet, now).filter(id =>
        old(id).properties != now.clusters(id).properties
      )
    ).collect { case (what, found) if found.nonEmpty => s"$what: ${found.mkString(", ")}" }.mkString("; ")
  }

  private def both(old: Iterable[String], now: Topology): Seq[String] =
    old.filter(now.clusters.contains).toSeq

  private def clusters(topology: Topology): String =
    if (topology.clusters.isEmpty) "no active cluster"
    else
      topology.clusters.values.map { cluster =>
        val topics = cluster.topics.map { case (topic, t) => described(topic, t) } ++
          cluster.patterns.map(p => described(s"matching ${p.regex}", p.topic))
        s"${cluster.id} [${topics.mkString(", ")}]"
      }.mkString(", ")

  private def streams(topology: Topology): String = topology.streams.values.map { stream =>
    val clusters = stream.clusters.map { entry =>
      val topics = entry.topics.keys ++ entry.pattern.map(p => s"matching $p")
      s"${entry.cluster} [${topics.mkString(", ")}]${entry.closed.fold("")(why => s" takes no writes: $why")}"
    }
    s"${stream.id}: ${clusters.mkString(", ")}"
  }.mkString("; ")

  private def described(name: String, topic: TopologyTopic): String = {
    val some = topic.partitions.fold("")(_.mkString(" (", ", ", ")"))
    if (topic.draining) s"$name$some draining" else s"$name$some"
  }
}
