package io.github.dynamickafka.source.trigger

import java.io.{IOException, InterruptedIOException}
import java.net.URI
import java.nio.file.Files
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.{CompletableFuture, CountDownLatch, LinkedBlockingQueue, TimeUnit}

import scala.collection.immutable.SortedMap
import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path, RawLocalFileSystem}
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Minutes, Span}

import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.offset.replacement.LastRecord
import io.github.dynamickafka.offset.{CompositeOffset, Positions}
import io.github.dynamickafka.source.Logs
import io.github.dynamickafka.source.checkpoint.SourceCheckpoint
import io.github.dynamickafka.testkit.TimeLimit

/** The file with the times of the last records that were read. */
class LastRecordsSuite extends AnyFunSuite with Eventually with TimeLimit {
  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(2, Minutes), Span(10, Millis))

  private val home = Files.createTempDirectory("checkpoint")
  private val file = home.resolve("sources/0/dynamic-kafka/read.json")
  private var reported = Option.empty[LastRecord]

  private def start() = new LastRecords(
    new SourceCheckpoint(home.resolve("sources/0").toUri.toString, new Configuration),
    (_, _) => reported
  )
  private def at(offset: Long) = CompositeOffset(SortedMap("a" -> Positions.from(Seq(("t", 0, offset)))))
  private def known(records: LastRecords, offset: Long) =
    records.of("a", at(offset).position("a")).get(("t", 0))

  /** The thread ends when everything is written. */
  private def awaitWriter(): Unit = {
    val _ = eventually(assert(
      !Thread.getAllStackTraces.keySet.asScala.exists(_.getName == "dynamic-kafka-last-records")
    ))
  }

  test(
    "a run knows what the one before has read; an idle trigger writes nothing; a damaged file is no error"
  ) {
    val first = start()
    reported = Some(LastRecord(9L, 100L))
    val end = at(10L)
    first.finished(end, end)
    awaitWriter()
    assert(known(first, 10L) == reported && known(start(), 10L) == reported)
    val written = Files.readString(file)
    Files.writeString(file, "{")
    Files.deleteIfExists(file.resolveSibling(".read.json.crc"))
    first.finished(end, end)
    first.finished(at(10L), at(10L))
    awaitWriter()
    assert(Files.readString(file) == "{", "nothing is written")
    // Nothing was logged either.
    assert(known(start(), 10L).isEmpty && start().lastBatchMs == 0L)
    Files.createDirectories(home.resolve("offsets"))
    Files.writeString(home.resolve("offsets/3"), "v1\n{\"batchWatermarkMs\":0,\"batchTimestampMs\":777}\n-")
    assert(start().lastBatchMs == 777L)
    assert(written.contains("\"times\""))
    Files.writeString(file, written.replace("\"version\":1", "\"version\":2"))
    val e = intercept[DynamicKafkaRuntimeException](start().finished(at(11L), at(11L)))
    assert(e.getCondition.endsWith("UNKNOWN_OFFSET_VERSION"))
  }

  /** On a file system that does this before `read.json` appears. */
  private def slow(beforeRename: () => Unit)(body: (LastRecords, SourceCheckpoint) => Any): Unit = {
    SlowFileSystem.beforeRename = beforeRename
    val hadoop = new Configuration
    hadoop.set("fs.slow.impl", classOf[SlowFileSystem].getName)
    val checkpoint = new SourceCheckpoint(s"slow://${Files.createTempDirectory("slow")}", hadoop)
    // On a thread of its own, which a file system that hangs would hold up.
    val all = CompletableFuture.runAsync { () =>
      val _ = body(new LastRecords(checkpoint, (_, _) => reported), checkpoint)
    }
    val _ = all.get(3, TimeUnit.MINUTES)
  }

  private def finish(records: LastRecords, offsets: Long*): Unit = offsets.foreach { offset =>
    reported = Some(LastRecord(offset - 1, 100L))
    records.finished(at(offset), at(offset))
  }

  test("a file system that hangs holds up neither a batch nor the stop, and the thread ends with the query") {
    val entered = new CompletableFuture[Thread]
    val never = new CountDownLatch(1)
    def hang(): Unit = {
      assert(entered.complete(Thread.currentThread), "written once")
      try never.await()
      catch { case _: InterruptedException => throw new InterruptedIOException }
    }
    slow(() => hang()) { (records, _) =>
      finish(records, 10L)
      val thread = entered.get(1, TimeUnit.MINUTES)
      finish(records, 11L, 12L)
      assert(known(records, 12L).exists(_.offset == 11L))
      val lines = Logs.during(classOf[LastRecords])(records.close(waitMs = 1))
      assert(lines.exists(_.contains("are not stored after 1 ms")), lines)
      thread.join()
    }
  }

  test("a stop waits for the newest state; those between are not written") {
    val entered, goOn = new CountDownLatch(1)
    val renames = new AtomicInteger
    def rename(): Unit = {
      renames.incrementAndGet()
      entered.countDown()
      goOn.await()
    }
    slow(() => rename()) { (records, checkpoint) =>
      finish(records, 10L)
      entered.await()
      finish(records, 11L, 12L)
      goOn.countDown()
      records.close(waitMs = TimeUnit.MINUTES.toMillis(2))
      assert(renames.get == 2)
      assert(checkpoint.recordsRead.partitions.values.map(_.offset) == Seq(11L))
    }
  }

  test("errors are logged once for each kind") {
    val errors = new LinkedBlockingQueue[IOException](
      List(new IOException("a"), new IOException("b"), new InterruptedIOException("c")).asJava
    )
    val lines = Logs.during(classOf[LastRecords]) {
      slow(() => throw errors.take()) { (records, _) =>
        Seq(10L, 11L, 12L).foreach { offset =>
          val left = errors.size
          finish(records, offset)
          eventually(assert(errors.size < left))
        }
        records.close(TimeUnit.MINUTES.toMillis(2))
      }
    }
    assert(lines.size == 2 && errors.isEmpty, lines)
  }
}

private object SlowFileSystem {
  @volatile var beforeRename: () => Unit = () => ()
}

/** A local file system that may wait or fail before it renames `read.json`. */
class SlowFileSystem extends RawLocalFileSystem {
  override def getUri: URI = URI.create("slow:///")

  override def rename(from: Path, to: Path): Boolean = {
    if (to.getName == "read.json") SlowFileSystem.beforeRename()
    super.rename(from, to)
  }
}
