package io.github.dynamickafka.source.read

import java.util.UUID
import java.util.concurrent.CountDownLatch
import java.{util => ju}

import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, ExecutionContext, Future, TimeoutException}
import scala.util.{Try, Using}

import org.apache.kafka.clients.producer.{KafkaProducer, ProducerRecord}
import org.apache.kafka.common.header.internals.RecordHeader
import org.apache.kafka.common.serialization.ByteArraySerializer

import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.kafka.ClusterClients
import io.github.dynamickafka.kafka.ConsumerSettings
import io.github.dynamickafka.offset.LogIdentity
import io.github.dynamickafka.source.Entry
import io.github.dynamickafka.testkit.{KafkaCluster, TestAll}

/** The reader on real brokers: rows, transactions, and waits that must end. */
class BundleReaderSuite extends ReaderTest {

  private def producer(cluster: KafkaCluster, more: (String, AnyRef)*) = {
    val settings = new ju.HashMap[String, AnyRef]
    settings.put("bootstrap.servers", cluster.bootstrapServers)
    more.foreach { case (k, v) => settings.put(k, v) }
    new KafkaProducer[Array[Byte], Array[Byte]](settings, new ByteArraySerializer, new ByteArraySerializer)
  }

  private def record(topic: String, value: String) =
    new ProducerRecord[Array[Byte], Array[Byte]](topic, 0, null, value.getBytes)

  test("rows are those of Spark's own Kafka source: nulls, headers, timestamps, every column") {
    scene { s =>
      val topic = newTopicOn(2, blue)
      Using.resource(producer(blue)) { out =>
        val headers = ju.List.of[org.apache.kafka.common.header.Header](
          new RecordHeader("a", "x".getBytes),
          new RecordHeader("a", null)
        )
        val all = Seq[ProducerRecord[Array[Byte], Array[Byte]]](
          new ProducerRecord(topic, Int.box(0), Long.box(1L), "k".getBytes, "v".getBytes, headers),
          new ProducerRecord(topic, Int.box(0), Long.box(1763700000123L), null, "w".getBytes),
          new ProducerRecord(topic, Int.box(1), Long.box(0L), "k".getBytes, null),
          new ProducerRecord(topic, Int.box(1), null, Array.empty[Byte], Array.empty[Byte])
        )
        all.foreach(out.send(_).get)
      }
      s.orders(Entry("blue", blue, topic))
      Seq("true", "false").foreach { headers =>
        val builtIn = spark.read.format("kafka")
          .option("kafka.bootstrap.servers", blue.bootstrapServers)
          .option("subscribe", topic)
          .option("includeHeaders", headers)
          .load()
        val ours = s.batch("includeHeaders" -> headers)
        assert(ours.drop("cluster", "stream").schema == builtIn.schema)
        val text = "to_json(struct(*)) as row"
        assert(
          ours.drop("cluster", "stream").selectExpr(text).collect().map(_.getString(0)).sorted.toSeq ==
            builtIn.selectExpr(text).collect().map(_.getString(0)).sorted.toSeq
        )
        assert(ours.select(
          "cluster",
          "stream"
        ).distinct().collect().map(_.toString).toSeq == Seq("[blue,orders]"))
        // A row must stay valid after the next one has been read, since Spark may keep it.
        assert(ours.collect().map(_.getAs[Long]("offset")).sorted.toSeq == Seq(0L, 0L, 1L, 1L))
      }
    }
  }

  /** The rows of these offsets of the topic with this id. */
  private def rowsOf(
      topic: String,
      id: String,
      from: Long,
      until: Long,
      pool: ConsumerPool,
      strict: Boolean
  ) = {
    val whole = bundle(blue, topic, 60000L, (0, from, until))
    val log = LogIdentity(Some(id), Some(0L))
    val reader = readerOf(
      whole.copy(
        ranges = whole.ranges.map(r => r.copy(range = r.range.copy(log = log))),
        settings = whole.settings.copy(failOnDataLoss = strict)
      ),
      pool
    )
    try Iterator.continually(reader).takeWhile(_.next()).map(r => new String(r.get().getBinary(1))).toList
    finally reader.close()
  }

  test("a topic that was recreated since its batch was planned, or since records of it were fetched") {
    withPool { (pool, consumers) =>
      val topic = newTopicOn(1, blue)
      val client = ClusterClients.OfDriver.alone(Map("bootstrap.servers" -> blue.bootstrapServers), 60000L)
      def id(): String = client.describe(Set(topic))(topic).get.id.get
      produce(blue, topic, 1, Seq("a", "b", "c", "d"))
      val former = id()
      assert(rowsOf(topic, former, 0L, 2L, pool, strict = true) == Seq("a", "b"))
      blue.deleteTopic(topic)
      blue.createTopic(topic, 1)
      produce(blue, topic, 1, Seq("e", "f", "g", "h"))
      val now = id()
      assert(now != former)
      // By the time the records of the new topic arrive, the client knows its id.
      val rows = withPoolOfOne(rowsOf(topic, former, 0L, 4L, _, strict = false))
      assert(rows.isEmpty, "records of the new topic")
      val e = intercept[DynamicKafkaRuntimeException](withPoolOfOne(rowsOf(
        topic,
        former,
        0L,
        4L,
        _,
        strict = true
      )))
      assert(e.getCondition.endsWith("TOPIC_RECREATED") && e.getMessage.contains(now), e.getMessage)
      assert(rowsOf(topic, now, 2L, 4L, pool, strict = true) == Seq("g", "h"), "fetched before")
      assert(consumers.opened == 2)
      client.close()
    }
  }

  private def withPoolOfOne[A](body: ConsumerPool => A): A = {
    var found = Option.empty[A]
    withPool((pool, _) => found = Some(body(pool)))
    found.get
  }

  test("read_committed: records of aborted and open transactions are not returned, and not waited for") {
    scene { s =>
      val topic = newTopicOn(1, blue)
      val committed = "kafka.isolation.level" -> "read_committed"
      Using.resource(producer(blue, "transactional.id" -> UUID.randomUUID().toString)) { out =>
        def transaction(values: String*)(end: => Unit): Unit = {
          out.beginTransaction()
          values.foreach(v => out.send(record(topic, v)).get)
          end
        }
        out.initTransactions()
        transaction("a", "b")(out.commitTransaction())
        transaction("never", "never")(out.abortTransaction())
        s.orders(Entry("blue", blue, topic))
        s.catchUp(committed)
        assert(s.seen.map(_.value) == Seq("a", "b"))
        transaction("c")(())
        s.catchUp(committed)
        assert(s.seen.map(_.value) == Seq("a", "b"))
        out.commitTransaction()
        transaction("never")(out.abortTransaction())
        s.catchUp(committed)
      }
      assert(s.seen.map(r => r.offset -> r.value) == Seq(0L -> "a", 1L -> "b", 6L -> "c"))
    }
  }

  test(
    "read_committed: a range with records of an open transaction is not at its end, and is read when it is committed",
    TestAll
  ) {
    val topic = newTopicOn(1, blue)
    Using.resource(producer(blue, "transactional.id" -> UUID.randomUUID().toString)) { out =>
      out.initTransactions()
      out.beginTransaction()
      (1 to 5).foreach(i => out.send(record(topic, i.toString)).get)
      withPool { (pool, _) =>
        val range = bundle(blue, topic, 120000L, (0, 0L, 5L))
        val properties = range.consumer.properties + ("isolation.level" -> "read_committed")
        val reader = readerOf(
          range.copy(
            consumer = new ConsumerSettings("blue", properties),
            settings = range.settings.copy(failOnDataLoss = false)
          ),
          pool
        )
        val read = Future(Iterator.continually(reader).takeWhile(_.next()).map(r =>
          new String(r.get().getBinary(1))
        ).toList)(ExecutionContext.fromExecutor(task => new Thread(task).start()))
        // Longer than a reader without records waits before it looks where the log ends.
        assertThrows[TimeoutException](Await.ready(read, 12.seconds))
        out.commitTransaction()
        assert(Await.result(read, 2.minutes) == (1 to 5).map(_.toString))
        reader.close()
      }
    }
  }

  test("many small batches: consumers are kept, and records that were fetched ahead are used") {
    val topic = newTopicOn(2, red)
    produce(red, topic, 2, (0 until 400).map(_.toString))
    withPool { (pool, consumers) =>
      val read = (0L until 200L by 10L).flatMap { from =>
        val reader =
          readerOf(bundle(red, topic, 30000L, (0, from, from + 10), (1, from, from + 10)), pool)
        val found = Iterator.continually(reader).takeWhile(_.next()).map { r =>
          (r.get().getInt(3), r.get().getLong(4), new String(r.get().getBinary(1)))
        }.toList
        reader.close()
        found
      }
      val expected = red.dump(topic).map(r => (r.partition, r.offset, r.value))
      assert(read.sortBy(r => (r._1, r._2)) == expected)
      assert(consumers.opened == 1)
    }
  }

  test("tasks find consumers that were opened for them ahead: every record once, batch after batch") {
    val topic = newTopicOn(4, red)
    produce(red, topic, 4, (0 until 400).map(_.toString))
    withPool { (pool, consumers) =>
      val ahead = aheadOf(pool)
      val read = (0L until 100L by 25L).flatMap { from =>
        val bundles = (0 until 4).map(p => bundle(red, topic, 30000L, (p, from, from + 25)))
        bundles.zipWithIndex.flatMap { case (bundle, i) =>
          val task = bundle.copy(next = bundles.slice(i + 1, i + 2))
          val reader = new BundleReader(task, pool, ahead, new ReaderMetrics)
          val found = Iterator.continually(reader).takeWhile(_.next()).map { r =>
            (r.get().getInt(3), r.get().getLong(4), new String(r.get().getBinary(1)))
          }.toList
          reader.close()
          found
        }
      }
      assert(read.sortBy(r => (r._1, r._2)) == red.dump(topic).map(r => (r.partition, r.offset, r.value)))
      assert(consumers.opened <= 4)
    }
  }

  test("a topic deleted after its batch was planned is data loss, not an unreachable cluster") {
    val topic = newTopicOn(1, red)
    produce(red, topic, 1, Seq("a", "b"))
    val range = bundle(red, topic, 60000L, (0, 0L, 2L))
    red.deleteTopic(topic)
    withPool { (pool, _) =>
      val strict = readerOf(range, pool)
      val e = intercept[DynamicKafkaRuntimeException](strict.next())
      strict.close()
      assert(e.getCondition == "DYNAMIC_KAFKA.DATA_LOSS")
      assert(
        Seq("'red'", topic, "partition 0", "no longer exists").forall(e.getMessage.contains),
        e.getMessage
      )
      val lenient = readerOf(range.copy(settings = range.settings.copy(failOnDataLoss = false)), pool)
      assert(!lenient.next())
      assert(lenient.currentMetricsValues().map(_.value).toSet == Set(1L))
      lenient.close()
    }
  }

  test("a finished reader returns its consumer, and stays finished") {
    val topic = newTopicOn(2, red)
    produce(red, topic, 2, Seq("a", "b"))
    withPool { (pool, consumers) =>
      val readers = (0 to 1).map(p => readerOf(bundle(red, topic, 30000L, (p, 0L, 1L)), pool))
      readers.foreach(reader => assert(reader.next() && !reader.next() && !reader.next()))
      assert(consumers.opened == 1 && pool.size == 1)
      readers.foreach(_.close())
      assert(pool.size == 1)
    }
  }

  test("a cluster that returns no data: the error names it") {
    val topic = newTopicOn(1, red)
    produce(red, topic, 1, Seq("a"))
    frozen(red) {
      withPool { (pool, _) =>
        val reader = readerOf(bundle(red, topic, 300L, (0, 0L, 1L)), pool)
        val e = intercept[DynamicKafkaRuntimeException](reader.next())
        reader.close()
        assert(e.getCondition == "DYNAMIC_KAFKA.CLUSTER_UNREACHABLE")
        assert(Seq("'red'", red.bootstrapServers, s"$topic-0").forall(e.getMessage.contains), e.getMessage)
        assert(pool.size == 0, "a failed consumer is not reused")
      }
    }
  }

  test("closing a task does not wait for a consumer that is being opened, which is closed afterwards") {
    val (opening, open) = (new CountDownLatch(1), new CountDownLatch(1))
    def login(): Unit = {
      opening.countDown()
      open.await()
    }
    withPoolThat(() => login()) { (pool, consumers) =>
      val reader = readerOf(bundle(red, "never-read", 600000L, (0, 0L, 1L)), pool)
      val next = Future(Try(reader.next()))(ExecutionContext.fromExecutor(task => new Thread(task).start()))
      opening.await()
      assert(elapsedMs(reader.close()) < 20000)
      open.countDown()
      assert(Await.result(next, 300.seconds).isFailure)
      assert(consumers.opened == 1 && consumers.closed == 1 && pool.size == 0)
    }
  }

  test("a wait for the cluster ends when the task is closed by another thread, or interrupted") {
    val topic = newTopicOn(1, red)
    produce(red, topic, 1, Seq("a"))
    frozen(red) {
      withPool { (pool, _) =>
        def waiting(): (BundleReader, Thread, Future[Try[Boolean]]) = {
          val reader = readerOf(bundle(red, topic, 600000L, (0, 0L, 1L)), pool)
          @volatile var thread: Thread = null
          val next = Future {
            thread = Thread.currentThread
            Try(reader.next())
          }(ExecutionContext.fromExecutor(task => new Thread(task).start()))
          eventually(assert(thread != null && thread.getStackTrace.exists(_.getMethodName == "poll")))
          (reader, thread, next)
        }
        val (closed, _, first) = waiting()
        assert(elapsedMs(closed.close()) < 20000)
        assert(Await.result(first, 300.seconds).isFailure)
        val (interrupted, thread, second) = waiting()
        thread.interrupt()
        assert(Await.result(second, 300.seconds).isFailure)
        interrupted.close()
        assert(pool.size == 0)
      }
    }
  }
}
