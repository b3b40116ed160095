package io.github.dynamickafka.sink

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.github.dynamickafka.config.ProducerProperties
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.option.OptionName
import io.github.dynamickafka.sink.commit.Clusters

/**
 * Determines the transaction timeout: the value of the user or, by default, the maximum of the brokers, up to
 * [[TransactionTimeouts.Default]]. A cluster is asked for its maximum when it is written to for the first time, all of
 * them at once. One that does not respond is assumed to have Kafka's default: if it is written to, the task fails.
 */
private[sink] final class TransactionTimeouts(clusters: Clusters) {
  import TransactionTimeouts._

  private var maxima = Map.empty[(String, ProducerProperties), Option[Long]]

  /** The topics of each cluster that it was asked for. It may have none of the name, which is not asked in each batch. */
  private var asked = Map.empty[String, Set[String]]

  /**
   * @param written whether rows can be routed to a cluster; others are not asked
   * @param topics the topics of a cluster, of which the ids are learned, so that it is noticed if one is recreated
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION
   */
  def of(
      properties: Map[String, ProducerProperties],
      written: String => Boolean,
      topics: String => Set[String]
  ): Map[String, Long] = {
    val unknown =
      properties.keys.filter(id => written(id) && !maxima.contains(id -> properties(id))).toSeq.sorted
    val answers = clusters.each(unknown)(id => id -> ask(id, topics(id)))
    val added = properties.keys.filter(id =>
      written(id) && !unknown.contains(id) && !topics(id).subsetOf(asked.getOrElse(id, Set.empty))
    ).toSeq.sorted
    val learned = clusters.each(added)(id => id -> learn(id, topics(id)))
    asked ++= (answers.filter(_._2.isDefined) ++ learned.filter(_._2)).map { case (id, _) =>
      id -> topics(id)
    }
    maxima ++= answers.collect { case (id, Some(max)) => (id -> properties(id)) -> max }
    properties.map { case (id, p) =>
      val max = maxima.get(id -> p).flatten
      val chosen = p.client.get(Property)
      id -> chosen.fold(math.min(Default, max.getOrElse(KafkaDefaultMax)))(text => checked(id, text, max))
    }
  }

  /** None if it does not respond, so that it is asked again. */
  private def ask(id: String, topics: Set[String]): Option[Option[Long]] =
    try {
      val max = clusters.maxTransactionTimeoutMs(id)
      clusters.learnTopics(id, topics)
      Some(max)
    } catch {
      case NonFatal(e) =>
        log.warn(s"The maximum transaction timeout is not known, $Default ms is assumed: ${e.getMessage}")
        None
    }

  /** Whether the cluster has responded, for topics that the metadata has added to it. */
  private def learn(id: String, topics: Set[String]): Boolean =
    try {
      clusters.learnTopics(id, topics)
      true
    } catch {
      case NonFatal(e) =>
        log.warn(s"The ids of the topics of cluster '$id' are not known: ${e.getMessage}")
        false
    }

  private def checked(id: String, text: String, max: Option[Long]): Long = {
    def refuse(reason: String) = throw Errors.invalidOption(OptionName.Kafka + Property, text, reason)
    val chosen =
      text.trim.toLongOption.filter(_ > 0).getOrElse(refuse("it is not a positive number of milliseconds."))
    max.filter(_ < chosen).foreach { most =>
      refuse(
        s"the maximum of cluster '$id' is $most ('transaction.max.timeout.ms' of its brokers). Lower the value, for this " +
          s"cluster with 'cluster.$id.kafka.$Property', or raise the maximum of the brokers."
      )
    }
    chosen
  }
}

private[sink] object TransactionTimeouts {
  val Property = "transaction.timeout.ms"

  private val log = LoggerFactory.getLogger(classOf[TransactionTimeouts])

  /** 15 minutes, the default maximum of brokers. */
  private val KafkaDefaultMax = 900000L
  private val Default = KafkaDefaultMax
}
