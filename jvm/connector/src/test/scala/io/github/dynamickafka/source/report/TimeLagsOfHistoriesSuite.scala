package io.github.dynamickafka.source.report

import java.util.concurrent.CompletableFuture
import java.{util => ju}

import scala.collection.immutable.SortedMap
import scala.util.Random

import org.apache.kafka.clients.consumer.ConsumerRecord
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.header.internals.RecordHeaders
import org.apache.kafka.common.record.TimestampType
import org.apache.spark.util.CollectionAccumulator
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.base.ManualClock
import io.github.dynamickafka.kafka.ListedOffset
import io.github.dynamickafka.offset.{
  AlignedFiles,
  CompositeOffset,
  HandOver,
  HistoryDataSource,
  HistoryPlan,
  HistoryTable,
  LogKey,
  Positions
}
import io.github.dynamickafka.source.read.{RecordTimes, Slice, TaskTimes}
import io.github.dynamickafka.testkit.TimeLimit

/** Lag and drift in time of clusters with a history: random files and logs, which are read in a random order. */
class TimeLagsOfHistoriesSuite extends AnyFunSuite with TimeLimit {

  private final class Run(random: Random, filesCount: Boolean) {
    private val clock = new ManualClock
    clock.advanceMs(1000000L)
    private val now = clock.currentTimeMillis()
    private val keys = for { c <- 0 to random.nextInt(3); p <- 0 to 1 } yield LogKey(s"c$c", "t", p)
    private val files = AlignedFiles.any(random, keys, now)
    private val logs = keys.map { key =>
      key -> Vector.fill(random.nextInt(6))(now - random.nextInt(100000)).sorted
    }.toMap
    private val tables = files.unread(1).tables
    private val plan = HistoryPlan(tables, HandOver.none)
    private val records = new RecordTimes
    private val lags = new TimeLags(
      records,
      (id, asked) =>
        Some(CompletableFuture.completedFuture(asked.map { case (tp, _) =>
          tp -> ListedOffset(0L, None, logs(LogKey(id, tp.topic, tp.partition)).headOption)
        })),
      clock,
      if (filesCount) plan.clusters else TimeLags.noFiles
    )
    private val from = tables.map { case (s, t) => s -> random.nextInt(t.files.size + 1).toLong }
    private var read = from
    private var at = keys.map(_ -> 0).toMap
    private var kafkaRead = Set.empty[LogKey]

    private def positions(of: LogKey => Int) = SortedMap.from(keys.groupBy(_.cluster).map { case (id, some) =>
      id -> Positions.from(some.map(key => (key.topic, key.partition, of(key).toLong)))
    })

    def readAll(): Unit = {
      check()
      while (isUnread) {
        step()
        check()
      }
      assert(lags.clusters.values.forall(_.lagMs(now) == 0L))
    }

    private def left = for ((s, t) <- tables.toSeq; file <- t.files.drop(read(s).toInt)) yield file.path
    private def isUnread = left.nonEmpty || keys.exists(key => at(key) < logs(key).size)

    private def step(): Unit = {
      val open = tables.filter { case (s, t) => read(s) < t.files.size }.keys.toSeq
      if (open.nonEmpty && random.nextBoolean()) {
        val stream = open(random.nextInt(open.size))
        read = read.updated(stream, read(stream) + 1)
      } else keys.filter(key => at(key) < logs(key).size && random.nextBoolean()).foreach { key =>
        report(key)
        at += key -> (at(key) + 1)
        kafkaRead += key
      }
    }

    /** A task has read the next record, and has fetched the one after it. */
    private def report(key: LogKey): Unit = {
      val tp = new TopicPartition(key.topic, key.partition)
      val slice = new ju.ArrayList[ConsumerRecord[Array[Byte], Array[Byte]]]
      logs(key).zipWithIndex.slice(at(key), at(key) + 2).foreach { case (time, offset) =>
        slice.add(new ConsumerRecord(
          key.topic,
          key.partition,
          offset.toLong,
          time,
          TimestampType.CREATE_TIME,
          0,
          0,
          null,
          null,
          new RecordHeaders,
          ju.Optional.empty[Integer]
        ))
      }
      val task = new CollectionAccumulator[Array[AnyRef]]
      val range = new TaskTimes(task, measures = false).of(key, None)
      range.read(Slice(tp, slice, 1), now)
      records.merge(task)
    }

    private def check(): Unit = {
      // As Spark's offsets: all files are read, and Kafka has begun.
      val isOver = left.isEmpty && kafkaRead.nonEmpty
      val reached = CompositeOffset(positions(at), history = if (isOver) SortedMap.empty else read)
      val ends = positions(logs(_).size)
      // The second time with the responses of clusters to what was asked.
      (1 to 2).foreach(_ =>
        lags.update(reached, ends, ends.map { case (id, _) => id -> clock.monotonicMs() })
      )
      val unread = rows(left) ++ keys.flatMap(key => logs(key).lift(at(key)).map(key.cluster -> _))
      val done =
        rows(for ((s, t) <- tables.toSeq; f <- t.files.slice(from(s).toInt, read(s).toInt)) yield f.path) ++
          kafkaRead.toSeq.map(key => key.cluster -> logs(key)(at(key) - 1))
      val firsts = unread.groupMapReduce(_._1)(_._2)(math.min)
      val lasts = done.groupMapReduce(_._1)(_._2)(math.max)
      val drifts = ClusterTimes.driftMs(lags.clusters, now)
      lags.clusters.foreach { case (id, times) =>
        val lag = firsts.get(id).fold(0L)(first => math.max(0L, now - first))
        assert(times.lagMs(now) == lag, s"lag of $id at $reached")
        val known = for (last <- lasts.get(id); first <- firsts.values.minOption)
          yield math.max(0L, math.min(now, last) - math.min(now, first))
        val drift = if (firsts.isEmpty) 0L else known.getOrElse(-1L)
        assert(drifts(id) == drift, s"drift of $id at $reached")
      }
      assert(lags.clusters.keySet.toSet == keys.map(_.cluster).toSet)
    }

    private def rows(some: Seq[String]): Seq[(String, Long)] =
      some.flatMap(files.rows).map { case (key, time) => key.cluster -> time }
  }

  private def runs(filesCount: Boolean): Unit = {
    val first = TestSeed()
    (first until first + 500).foreach { seed =>
      try new Run(new Random(seed), filesCount).readAll()
      catch { case e: Throwable => throw new AssertionError(s"DYNAMIC_KAFKA_SEED=$seed: ${e.getMessage}", e) }
    }
  }

  test("lag and drift are those of all records that are not read, in files and in Kafka")(
    runs(filesCount = true)
  )

  test("a defect is found: files do not count") {
    val e = intercept[AssertionError](runs(filesCount = false))
    assert(Seq("lag of", "drift of").exists(e.getMessage.contains(_)))
  }

  test("the times of a table of one cluster are those of its files") {
    val table =
      HistoryTable(HistoryDataSource("parquet", "/p", Map.empty, "{}"), Some("blue"), None, Vector.empty)
    val files = AlignedFiles.any(new Random(1), Seq(LogKey("blue", "t", 0)), 1000000L).unread(1)
    files.tables.values.foreach { of =>
      val plain = table.copy(files = of.files.map(_.copy(clusters = SortedMap.empty)))
      (0 to of.files.size).foreach(read =>
        assert(plain.clusters(0, read).toSet == of.clusters(0, read).toSet)
      )
    }
  }
}
