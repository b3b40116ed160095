package io.github.dynamickafka.sink

import org.apache.kafka.clients.producer.ProducerRecord

import io.github.dynamickafka.kafka.producer.TaskSender.Record
import io.github.dynamickafka.schemaregistry.{Frame, Framing}

/**
 * Puts the ids of schemas before the keys and values of routed records. Records are routed without the ids, so that the same key goes
 * to the same cluster whatever its registry. For one task. Not thread-safe.
 *
 * @param ids what the driver has asked registries for
 */
private[sink] final class RecordFormat(frames: Seq[Frame], ids: Map[Frame.Place, Int]) {
  private val key = framing(ofKeys = true)
  private val value = framing(ofKeys = false)

  private def framing(ofKeys: Boolean) = frames.find(_.ofKeys == ofKeys).map(new Framing(_, ids))

  def record(cluster: String, routed: Record): Record =
    if (frames.isEmpty) routed
    else new ProducerRecord(
      routed.topic,
      routed.partition,
      routed.timestamp,
      framed(key, cluster, routed.topic, routed.key),
      framed(value, cluster, routed.topic, routed.value),
      routed.headers
    )

  private def framed(framing: Option[Framing], cluster: String, topic: String, bytes: Array[Byte]) =
    framing.filter(_ => bytes != null).fold(bytes)(_.framed(cluster, topic, bytes))
}
