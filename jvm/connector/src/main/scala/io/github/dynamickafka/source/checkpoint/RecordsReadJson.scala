package io.github.dynamickafka.source.checkpoint

import scala.collection.immutable.SortedMap

import com.fasterxml.jackson.databind.node.ObjectNode

import io.github.dynamickafka.offset.alignment.LogKey
import io.github.dynamickafka.offset.replacement.{LastRecord, RecordsRead}
import io.github.dynamickafka.offset.{CompositeOffset, CompositeOffsetJson, Positions}

/**
 * The codec of the last records that were read. Their offsets and their times are written as composite offsets, which are packed if they
 * are large.
 */
private[dynamickafka] object RecordsReadJson {

  def write(read: RecordsRead): String = {
    val root = SourceCheckpointJson.versioned()
    def part(name: String)(value: LastRecord => Long): Unit = {
      val clusters = read.partitions.groupBy(_._1.cluster).map { case (id, all) =>
        id -> Positions.from(all.map { case (key, last) => (key.topic, key.partition, value(last)) })
      }
      val text = CompositeOffset(SortedMap.from(clusters)).json
      val _ = root.set[ObjectNode](name, CompositeOffsetJson.mapper.readTree(text))
    }
    part("offsets")(_.offset)
    part("times")(_.time)
    root.toString
  }

  /** @param file the path of the file, for errors */
  def read(text: String, file: String): RecordsRead = SourceCheckpointJson.reading(text, file) { root =>
    def part(name: String) = CompositeOffsetJson.read(root.get(name).toString).clusters
    val times = part("times")
    RecordsRead((for {
      (id, offsets) <- part("offsets").iterator
      (topic, p, offset) <- offsets.iterator
    } yield LogKey(id, topic, p) -> LastRecord(offset, times(id).get(topic, p).get)).toMap)
  }
}
