package io.github.dynamickafka.sink

import org.apache.kafka.clients.producer.ProducerRecord
import org.apache.spark.sql.catalyst.InternalRow

import io.github.dynamickafka.kafka.producer.TaskSender.Record
import io.github.dynamickafka.schemaregistry.{Frame, Framing}
import io.github.dynamickafka.sink.row.{InputColumns, OutputRow}

/**
 * How records of a cluster are written. Sent to executors.
 *
 * @param encodes whether their keys and values differ from those of the stream's format
 */
private[sink] final case class ClusterColumns(columns: InputColumns, encodes: Boolean)

/**
 * Converts routed records, whose keys and values have the format of the stream, to the format of their cluster. They are routed
 * without the ids of schemas, so that the same key goes to the same cluster whatever its registry. For one task. Not thread-safe.
 *
 * @param ids what the driver has asked registries for
 * @param onlyTopic see [[InputColumns.reader]]
 */
private[sink] final class RecordFormat(
    target: ClusterColumns,
    ids: Map[Frame.Place, Int],
    onlyTopic: Option[String] => Option[String] = _ => None
) {
  private val read: Option[InternalRow => OutputRow] =
    Option.when(target.encodes)(target.columns.reader(onlyTopic))
  private val frames = target.columns.frames
  private val key = framing(ofKeys = true)
  private val value = framing(ofKeys = false)

  private def framing(ofKeys: Boolean) = frames.find(_.ofKeys == ofKeys).map(new Framing(_, ids))

  /** @param row the row of the record */
  def record(cluster: String, routed: Record, row: InternalRow): Record =
    if (read.isEmpty && frames.isEmpty) routed
    else {
      val own = read.map(_(row))
      new ProducerRecord(
        routed.topic,
        routed.partition,
        routed.timestamp,
        framed(key, cluster, routed.topic, own.fold(routed.key)(_.key)),
        framed(value, cluster, routed.topic, own.fold(routed.value)(_.value)),
        routed.headers
      )
    }

  private def framed(framing: Option[Framing], cluster: String, topic: String, bytes: Array[Byte]) =
    framing.filter(_ => bytes != null).fold(bytes)(_.framed(cluster, topic, bytes))
}
