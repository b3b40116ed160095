package io.github.dynamickafka.source.checkpoint

import scala.collection.immutable.SortedMap

import com.fasterxml.jackson.databind.ObjectMapper

import io.github.dynamickafka.offset.alignment.LogKey
import io.github.dynamickafka.offset.replacement.{LastRecord, ReadUpTo, RecordsRead}
import io.github.dynamickafka.offset.{CompositeOffset, CompositeOffsetJson, Positions}

/**
 * The codec of what is known of the last records that were read, version 1. Each value is written as a composite offset, which is
 * packed if it is large. The offset of a last record is omitted where it is the one before the position.
 */
private[source] object RecordsReadJson {
  private val Version = 1
  private val mapper = new ObjectMapper

  def write(read: RecordsRead): String = {
    def part(name: String)(value: ReadUpTo => Option[Long]) = {
      val values = read.partitions.flatMap { case (key, known) => value(known).map(key -> _) }
      s""""$name":${CompositeOffset(RecordsRead.positions(values)).json}"""
    }
    Seq(
      s""""version":$Version""",
      part("positions")(known => Some(known.position)),
      part("batches")(known => Some(known.batchMs)),
      part("times")(_.last.map(_.time)),
      part("records")(known => known.last.map(_.offset).filter(_ != known.position - 1))
    ).mkString("{", ",", "}")
  }

  /** @throws Exception if the text is not one of this version */
  def read(text: String): RecordsRead = {
    val root = mapper.readTree(text)
    val version = root.path("version").asInt
    if (version != Version) throw new IllegalArgumentException(s"version $version")
    def part(name: String): SortedMap[String, Positions] =
      CompositeOffsetJson.read(root.path(name).toString).clusters
    val (batches, times, records) = (part("batches"), part("times"), part("records"))
    RecordsRead((for {
      (id, positions) <- part("positions").iterator
      (topic, p, at) <- positions.iterator
    } yield {
      def of(all: SortedMap[String, Positions]) = all.get(id).flatMap(_.get(topic, p))
      val last = of(times).map(time => LastRecord(of(records).getOrElse(at - 1), time))
      LogKey(id, topic, p) -> ReadUpTo(at, of(batches).getOrElse(0L), last)
    }).toMap)
  }
}
