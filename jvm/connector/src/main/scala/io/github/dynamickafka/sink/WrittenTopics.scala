package io.github.dynamickafka.sink

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.github.dynamickafka.kafka.ClientDefaults
import io.github.dynamickafka.kafka.TopicLimits
import io.github.dynamickafka.sink.commit.Clusters
import io.github.dynamickafka.topology.Topology

/**
 * The limits of the topics that a batch may write to, by cluster id and topic. Asked once per topology. They are not known without the
 * right to describe the settings of a topic, and of topics that are given by a pattern.
 */
private[sink] final class WrittenTopics(clusters: Clusters) {
  import WrittenTopics._

  def limits(topology: Topology): Map[String, Map[String, TopicLimits]] = {
    val topics =
      topology.streams.values.flatMap(_.writable).groupMapReduce(_.cluster)(_.topics.keySet.toSet)(_ ++ _)
        .filter(_._2.nonEmpty)
    clusters.each(topics.keys.toSeq.sorted)(id => id -> ask(id, topics(id))).toMap
  }

  private def ask(id: String, topics: Set[String]): Map[String, TopicLimits] =
    try clusters.ask(id)(_.topicLimits(topics))
    catch {
      case NonFatal(e) =>
        log.warn(s"The limits of the topics on Kafka cluster '$id' are not known: ${e.getMessage}")
        Map.empty
    }
}

private[sink] object WrittenTopics {
  val BatchSize = "batch.size"
  private val log = LoggerFactory.getLogger(classOf[WrittenTopics])

  private val Margin = 512

  /**
   * `batch.size` for these topics, if it has to be lower than the connector's default, which is `now`; a value of the user stays.
   * Kafka's client before 4.1 splits a batch that is too large into parts of `batch.size`, until the records time out.
   */
  def batchSize(now: Option[String], topics: Iterable[TopicLimits]): Option[Int] =
    topics.flatMap(_.maxBytes).minOption
      .filter(most => most < ClientDefaults.batchSize && now.contains(ClientDefaults.batchSize.toString))
      .map(most => math.max(1, most - Margin))
}
