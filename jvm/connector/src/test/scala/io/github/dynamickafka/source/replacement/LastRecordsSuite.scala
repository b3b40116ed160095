package io.github.dynamickafka.source.replacement

import java.nio.file.Files

import scala.collection.immutable.SortedMap

import org.apache.hadoop.conf.Configuration
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.offset.replacement.{LastRecord, ReadUpTo}
import io.github.dynamickafka.offset.{CompositeOffset, Positions}
import io.github.dynamickafka.source.checkpoint.SourceCheckpoint
import io.github.dynamickafka.testkit.TimeLimit
import io.github.dynamickafka.time.ManualClock

/** The file with the times of the last records that were read. */
class LastRecordsSuite extends AnyFunSuite with TimeLimit {
  private val clock = new ManualClock
  private val home = Files.createTempDirectory("checkpoint")
  private val file = home.resolve("sources/0/dynamic-kafka/read.json")
  private var reported = Option.empty[LastRecord]

  private def start() = new LastRecords(
    new SourceCheckpoint(home.resolve("sources/0").toUri.toString, new Configuration),
    _ => reported,
    clock
  )
  private def at(offset: Long) = CompositeOffset(SortedMap("a" -> Positions.from(Seq(("t", 0, offset)))))
  private def known(records: LastRecords, offset: Long) =
    records.of("a", at(offset).position("a"))(("t", 0))

  test(
    "a run knows what the one before has read; an idle trigger writes nothing; a damaged file is no error"
  ) {
    val first = start()
    reported = Some(LastRecord(9L, 100L))
    val end = at(10L)
    first.planned(end)
    val planned = clock.currentTimeMillis()
    first.finished(end, end)
    val expected = ReadUpTo(10L, planned, Some(LastRecord(9L, 100L)))
    assert(known(first, 10L) == expected && known(start(), 10L) == expected)
    val written = Files.readString(file)
    Files.writeString(file, "{")
    Files.deleteIfExists(file.resolveSibling(".read.json.crc"))
    first.finished(end, end)
    first.finished(at(10L), at(10L))
    assert(Files.readString(file) == "{", "nothing is written")
    // Nothing was logged either.
    assert(known(start(), 10L) == ReadUpTo(10L, 0L, None))
    Files.createDirectories(home.resolve("offsets"))
    Files.writeString(home.resolve("offsets/3"), "v1\n{\"batchWatermarkMs\":0,\"batchTimestampMs\":777}\n-")
    assert(known(start(), 10L) == ReadUpTo(10L, 777L, None))
    assert(written.contains("\"times\""))
  }
}
