package io.github.dynamickafka.metadata.topic

import java.util.concurrent.TimeUnit.MILLISECONDS
import java.{util => ju}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.kafka.clients.producer.{KafkaProducer, ProducerRecord}
import org.apache.kafka.common.serialization.StringSerializer

import io.github.dynamickafka.kafka.ClientDefaults
import io.github.dynamickafka.metadata.document.{DocumentRecords, EditRefused, JsonText}

/** New records for a topic with metadata: what they are, and how they are written. */
private[topic] object TopicEdits {

  /** By stream id; None removes the stream. */
  type Values = Map[String, Option[String]]

  /**
   * The records that an edit of all streams as one document changes.
   *
   * @throws EditRefused if the edit does
   */
  def of(before: TopicRecords, change: String => String): Values = {
    val text = JsonText.write(before.document)
    val edited =
      try change(text)
      catch {
        case e: EditRefused if before.invalid.nonEmpty =>
          val unread = before.invalid.keys.toSeq.sorted.mkString("'", "', '", "'")
          throw new EditRefused(s"${e.getMessage} The newest records of these streams are not valid: $unread")
      }
    val known = DocumentRecords.split(text)
    DocumentRecords.split(edited).collect {
      case (id, value) if !known.get(id).contains(value) => id -> Some(value)
    }
  }

  /**
   * The records of a valid file.
   *
   * @param only these streams; empty: all
   * @param removed streams of the topic that the file does not have
   * @throws EditRefused if a stream is unknown
   */
  def published(file: String, only: Seq[String], removed: Seq[String]): Values = {
    val found = DocumentRecords.split(file)
    only.find(!found.contains(_)).foreach(id =>
      throw new EditRefused(s"there is no stream '$id'; the streams are ${found.keys.mkString(", ")}")
    )
    removed.find(found.contains).foreach(id =>
      throw new EditRefused(s"stream '$id' is in the file: remove it there first")
    )
    found.filter(s => only.isEmpty || only.contains(s._1)).map { case (id, value) => id -> Some(value) } ++
      removed.map(_ -> None)
  }

  /**
   * What the topic says with these records.
   *
   * @throws EditRefused if a stream could not be read any more, on which its queries would stand still
   */
  def after(before: TopicRecords, values: Values): TopicRecords = {
    val result = values.foldLeft(before) { case (records, (id, value)) =>
      records.add(id, value.orNull, Long.MaxValue)
    }
    (result.invalid.keySet -- before.invalid.keySet ++ values.keySet.intersect(
      result.invalid.keySet
    )).toSeq.sorted
      .headOption.foreach { id =>
        val reason = result.invalid(id).getMessageParameters.get("reason")
        throw new EditRefused(s"queries that read stream '$id' would stand still: $reason")
      }
    result
  }

  /** Throws what Kafka says if a record is not written. */
  def write(topic: String, chosen: Map[String, String], values: Values, timeoutMs: Long): Unit = {
    val fixed = Map(
      "acks" -> "all",
      "enable.idempotence" -> "true",
      "linger.ms" -> "0",
      "request.timeout.ms" -> timeoutMs.toString,
      "delivery.timeout.ms" -> timeoutMs.toString,
      "max.block.ms" -> timeoutMs.toString
    )
    val properties = new ju.HashMap[String, AnyRef]((ClientDefaults.producer(chosen) ++ fixed).asJava)
    val text = new StringSerializer
    Using.resource(new KafkaProducer(properties, text, text)) { producer =>
      val sent = values.toSeq.map { case (id, value) =>
        producer.send(new ProducerRecord(topic, 0, id, value.orNull))
      }
      sent.foreach(_.get(timeoutMs, MILLISECONDS))
    }
  }
}
