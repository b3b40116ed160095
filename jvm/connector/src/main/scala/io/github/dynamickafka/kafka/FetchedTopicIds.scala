package io.github.dynamickafka.kafka

import java.lang.reflect.Field
import java.{util => ju}

import scala.util.{Failure, Success, Try}

import org.apache.kafka.clients.Metadata
import org.apache.kafka.clients.consumer.KafkaConsumer
import org.apache.kafka.common.Uuid
import org.slf4j.LoggerFactory

/**
 * The ids of the topics (KIP-516) that a consumer knows by their names, and fetches from: brokers since 3.1 return no records
 * of another topic than that with the id of the request. Kafka's consumer has no public method for them, so they are read from
 * its metadata by reflection. A client whose internals are others gives none; then ids are compared by the driver alone.
 */
private[dynamickafka] object FetchedTopicIds {
  private val log = LoggerFactory.getLogger(getClass)
  @volatile private var isReported = false

  def apply(consumer: KafkaConsumer[_, _]): String => Option[String] =
    Try(metadata(consumer)) match {
      case Success(found) => new Texts(found)
      case Failure(e) =>
        if (!isReported) {
          isReported = true
          log.warn("Tasks do not compare the ids of topics: the Kafka client is not as expected", e)
        }
        _ => None
    }

  private def metadata(consumer: KafkaConsumer[_, _]): Metadata = {
    val delegate = open(classOf[KafkaConsumer[_, _]], "delegate").get(consumer)
    open(delegate.getClass, "metadata").get(delegate).asInstanceOf[Metadata]
  }

  private def open(owner: Class[_], name: String): Field = {
    val field = owner.getDeclaredField(name)
    field.setAccessible(true)
    field
  }

  /** Of the same ids, the text is made once: each poll asks for it. */
  private final class Texts(metadata: Metadata) extends (String => Option[String]) {
    private var ids: ju.Map[String, Uuid] = ju.Map.of()
    private var texts = Map.empty[String, String]

    override def apply(topic: String): Option[String] = {
      val now = metadata.topicIds
      if (now ne ids) {
        ids = now
        texts = Map.empty
      }
      texts.get(topic).orElse(Option(now.get(topic)).filter(_ != Uuid.ZERO_UUID).map { id =>
        val text = id.toString
        texts += topic -> text
        text
      })
    }
  }
}
