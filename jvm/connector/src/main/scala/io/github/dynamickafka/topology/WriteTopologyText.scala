package io.github.dynamickafka.topology

/** Log messages for changes of the topology of a query that writes, as [[TopologyText]] for reads. */
private[dynamickafka] object WriteTopologyText {

  def change(service: String, version: Long, now: WriteTopology): String = {
    val streams = now.streams.values.map { stream =>
      val clusters = stream.clusters.map { entry =>
        val topics = entry.topics.keys ++ entry.pattern.map(p => s"matching $p")
        s"${entry.cluster} [${topics.mkString(", ")}]${entry.closed.fold("")(why => s" takes no writes: $why")}"
      }
      s"${stream.id}: ${clusters.mkString(", ")}"
    }
    s"Topology $version of metadata service '$service', for writing: ${streams.mkString("; ")}"
  }
}
