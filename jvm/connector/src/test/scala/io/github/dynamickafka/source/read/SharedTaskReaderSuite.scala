package io.github.dynamickafka.source.read

import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.{CountDownLatch, TimeUnit}

import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, ExecutionContext, Future}
import scala.util.Try

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.PartitionReader

import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.source.{Entry, Seen}
import io.github.dynamickafka.testkit.KafkaCluster

/** Tasks that read several clusters, on real brokers. */
class SharedTaskReaderSuite extends ReaderTest {

  private def task(pool: ConsumerPool, bundles: Seq[RangeBundle]) =
    new SharedTaskReader(SharedTask(bundles), pool, aheadOf(pool), SharedTaskReader.threads)

  /** A topic of two partitions with these numbers of records, and a bundle of all of them. */
  private def topic(id: String, cluster: KafkaCluster, records: Int): (RangeBundle, Seq[Seen]) = {
    val name = newTopicOn(2, cluster)
    produce(cluster, name, 2, (0 until records).map(i => s"$id-$i"))
    val ends = cluster.endOffsets(name)
    val ranges = ends.toSeq.sorted.map { case (p, until) => (p, 0L, until) }.filter(_._3 > 0)
    bundleOf(id, cluster, name, 60000L, ranges: _*) -> stored(id, cluster, name)
  }

  private def row(r: InternalRow) =
    Seen(
      r.getString(7),
      r.getString(2),
      r.getInt(3),
      r.getLong(4),
      new String(r.getBinary(1)),
      r.getString(8)
    )

  private def rows(reader: PartitionReader[InternalRow]): Seq[Seen] =
    Iterator.continually(reader).takeWhile(_.next()).map(r => row(r.get())).toList

  test("more bundles than are fetched at a time: every record once, in order, with the right cluster") {
    val topics = (0 until 2 * SharedTaskReader.Ahead + 3).map(i =>
      topic(f"c$i%02d", Seq(blue, green, red)(i % 3), records = 1 + i % 5)
    )
    withPool { (pool, consumers) =>
      val reader = task(pool, topics.map(_._1))
      val found = rows(reader)
      assert(!reader.next())
      reader.close()
      assertSame(found, topics.flatMap(_._2))
      found.groupBy(r => (r.cluster, r.partition)).values.foreach(of =>
        assert(of.map(_.offset) == of.map(_.offset).sorted)
      )
      assert(found.map(_.cluster).distinct == topics.map(_._1.cluster), "bundles are read one by one")
      assert(consumers.opened == topics.size)
    }
  }

  test("the next bundles are opened while one is read, but no more than the maximum") {
    val topics = (0 until SharedTaskReader.Ahead + 4).map(i => topic(s"c$i", blue, records = 1))
    // Blocks until the expected number of consumers is about to be opened.
    val opening = new CountDownLatch(SharedTaskReader.Ahead + 1)
    val asked = new AtomicInteger
    def together(): Unit = {
      asked.incrementAndGet()
      opening.countDown()
      assert(opening.await(300, TimeUnit.SECONDS), "they are not opened concurrently")
    }
    withPoolThat(() => together()) { (pool, _) =>
      val reader = task(pool, topics.map(_._1))
      assert(reader.next())
      assert(row(reader.get()) == topics.head._2.head)
      assert(asked.get == SharedTaskReader.Ahead + 1)
      // A task that ends early discards what was fetched, and does not open the rest.
      reader.close()
      assert(!reader.next())
      assert(asked.get == SharedTaskReader.Ahead + 1)
    }
  }

  test("an error names the cluster being read, after the clusters before it have been read") {
    val (good, expected) = topic("good", blue, records = 3)
    val (other, _) = topic("other", green, records = 3)
    val (bad, _) = topic("bad", red, records = 3)
    frozen(red) {
      withPool { (pool, _) =>
        val short = bad.copy(settings = bad.settings.copy(silenceMs = 300L))
        val reader = task(pool, Seq(good, short, other))
        val found = expected.map { _ =>
          assert(reader.next())
          row(reader.get())
        }
        assertSame(found, expected)
        val e = intercept[DynamicKafkaRuntimeException](reader.next())
        reader.close()
        assert(e.getCondition == "DYNAMIC_KAFKA.CLUSTER_UNREACHABLE")
        assert(
          Seq("'bad'", red.bootstrapServers, bad.ranges.head.range.topic).forall(e.getMessage.contains),
          e.getMessage
        )
        // The consumer of the failed cluster is not reused.
        eventually(assert(pool.size == 2))
      }
    }
  }

  test("losses of all bundles are counted in their task") {
    val topics = Seq("a", "b").map(topic(_, red, records = 2)._1)
    topics.foreach(bundle => red.deleteTopic(bundle.ranges.head.range.topic))
    val (left, expected) = topic("c", red, records = 2)
    withPool { (pool, _) =>
      val lenient =
        (topics :+ left).map(bundle => bundle.copy(settings = bundle.settings.copy(failOnDataLoss = false)))
      val reader = task(pool, lenient)
      assertSame(rows(reader), expected)
      // Two partitions of each topic.
      assert(reader.currentMetricsValues().map(_.value).toSeq == Seq(4L, 4L))
      reader.close()
    }
  }

  test("a task that ends while none of its clusters returns data leaves no consumer open") {
    val topics = Seq("a", "b", "c").map(topic(_, red, records = 1)._1)
    frozen(red) {
      withPool { (pool, consumers) =>
        def waiting(): (SharedTaskReader, Thread, Future[Try[Boolean]]) = {
          val before = consumers.opened
          val reader =
            task(pool, topics.map(_.copy(settings = topics.head.settings.copy(silenceMs = 600000L))))
          @volatile var thread: Thread = null
          val next = Future {
            thread = Thread.currentThread
            Try(reader.next())
          }(ExecutionContext.fromExecutor(task => new Thread(task).start()))
          eventually(assert(consumers.opened == before + topics.size))
          (reader, thread, next)
        }
        val (closed, _, first) = waiting()
        assert(elapsedMs(closed.close()) < 20000)
        assert(Await.ready(first, 300.seconds).value.get.flatten.isFailure)
        // A consumer that is being opened is closed by the thread that opens it.
        eventually(assert(consumers.closed == topics.size))
        val (interrupted, thread, second) = waiting()
        thread.interrupt()
        assert(Await.ready(second, 300.seconds).value.get.flatten.isFailure)
        assert(elapsedMs(interrupted.close()) < 20000)
        eventually(assert(consumers.closed == 2 * topics.size))
        assert(pool.size == 0)
      }
    }
  }

  test("a query over many clusters: fewer tasks than clusters, and every record once") {
    scene { s =>
      val topics = (0 until 20).map { i =>
        val cluster = if (i % 2 == 0) blue else green
        (f"c$i%02d", cluster, newTopicOn(2, cluster))
      }
      topics.foreach { case (id, cluster, topic) =>
        produce(cluster, topic, 2, (0 until 6).map(i => s"$id-$i"))
      }
      s.orders(topics.map { case (id, cluster, topic) => Entry(id, cluster, topic) }: _*)
      assert(s.batch().rdd.getNumPartitions == 10)
      assert(s.batch("minPartitions" -> "1").rdd.getNumPartitions == 40)
      s.catchUp("maxOffsetsPerTrigger" -> "70")
      assert(s.batchCount == 2)
      topics.foreach { case (id, cluster, topic) => produce(cluster, topic, 2, Seq(s"$id-more")) }
      s.catchUp()
      assertSame(s.seen, topics.flatMap { case (id, cluster, topic) => stored(id, cluster, topic) })
    }
  }
}
