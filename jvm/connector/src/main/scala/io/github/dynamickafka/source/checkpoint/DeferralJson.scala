package io.github.dynamickafka.source.checkpoint

import scala.collection.immutable.SortedMap

import com.fasterxml.jackson.databind.JsonNode

import io.github.dynamickafka.offset.deferral.Deferral
import io.github.dynamickafka.offset.{ClusterIdentity, OffsetRange}

/** The codec of the files of [[DeferralFiles]]. */
private[dynamickafka] object DeferralJson {
  import SourceCheckpointJson.{fields, reading, required, versioned}

  def write(deferral: Deferral): String = {
    val root = versioned().put("start", deferral.start).put("end", deferral.end)
    val clusters = root.putObject("clusters")
    deferral.ranges.foreach { case (id, ranges) =>
      val identity = deferral.identities.getOrElse(id, ClusterIdentity.unknown)
      val cluster = clusters.putObject(id)
      identity.kafkaId.foreach(cluster.put("cluster", _))
      val topics = cluster.putObject("topics")
      ranges.groupBy(_.topic).toSeq.sortBy(_._1).foreach { case (name, ofTopic) =>
        val topic = topics.putObject(name)
        identity.topics.get(name).foreach(topic.put("id", _))
        val partitions = topic.putObject("ranges")
        ofTopic.sortBy(_.partition).foreach { range =>
          val numbers = partitions.putArray(range.partition.toString).add(range.from).add(range.until)
          range.epoch.foreach(numbers.add(_))
        }
      }
    }
    root.toString
  }

  /** @param file the path of the file, for errors */
  def read(text: String, file: String): Deferral = reading(text, file) { root =>
    val clusters = fields(required(root, "clusters")).toSeq
    Deferral(
      start = required(root, "start").asText,
      end = required(root, "end").asText,
      ranges = SortedMap.from(clusters.map { case (id, cluster) =>
        id -> topics(cluster).flatMap { case (name, topic) =>
          fields(required(topic, "ranges")).map { case (partition, range) =>
            OffsetRange(
              name,
              partition.toInt,
              offset(range, 0),
              offset(range, 1),
              Option.when(range.size == 3)(offset(range, 2))
            )
          }
        }
      }),
      identities = SortedMap.from(clusters.map { case (id, cluster) =>
        val ids = topics(cluster).flatMap { case (name, topic) =>
          Option(topic.get("id")).map(name -> _.asText)
        }
        id -> ClusterIdentity(Option(cluster.get("cluster")).map(_.asText), SortedMap.from(ids))
      }.filterNot(_._2.isEmpty))
    )
  }

  private def topics(cluster: JsonNode) = fields(required(cluster, "topics")).toSeq

  private def offset(range: JsonNode, index: Int): Long = {
    val value = range.get(index)
    if (value == null || !value.isIntegralNumber || range.size > 3)
      throw new IllegalArgumentException("a range is not two offsets, with a leader epoch or without")
    value.asLong
  }
}
