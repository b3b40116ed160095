package io.github.dynamickafka.sink

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files
import java.{util => ju}

import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, ExecutionContext, Future, blocking}
import scala.util.Random

import org.apache.kafka.clients.producer.Partitioner
import org.apache.kafka.common.Cluster
import org.apache.spark.sql.streaming.{DataStreamWriter, StreamingQuery, Trigger}
import org.apache.spark.sql.{DataFrame, Row}
import org.scalatest.time.{Millis, Seconds, Span}

import io.github.dynamickafka.metadata.ClusterMetadata
import io.github.dynamickafka.source.{Entry, Queries, Query}
import io.github.dynamickafka.{DynamicKafka, TestSeed}

/** The same write with each trigger and both guarantees: the same records, or the same error by name. */
class SameWriteSuite extends Queries {
  import SameWriteSuite._

  /** What a write has done: the condition of its error, or its records as (cluster, topic, key, value, headers). */
  private type Result = Either[String, Seq[(String, String, String, String, String)]]

  private def records(topics: Seq[String]): Seq[(String, String, String, String, String)] =
    (for {
      (id, cluster) <- Seq("blue" -> blue, "green" -> green)
      (topic, name) <- topics.zip(Seq("out", "dead"))
      record <- cluster.dump(topic, committedOnly = true)
    } yield (
      id,
      name,
      record.key.getOrElse(""),
      String.valueOf(record.value),
      // The topic is another one for each run.
      record.headers.toSeq.sorted.map { case (name, text) => s"$name=${text.replace(topics.head, "out")}" }
        .mkString(";")
    )).sorted

  private lazy val source = {
    val topic = newTopicOn(1, blue)
    produce(blue, topic, 1, (0 until Rows).map(i => s"v$i"))
    topic
  }

  /** Spark's writer of a stream, by its name or by the builder, of which real-time mode has another sink. */
  private def writer(write: Write, options: Map[String, String], s: Query, byName: Boolean) = {
    val frame = write.rows(s.frame())
    if (byName) frame.writeStream.format("dynamic-kafka").options(options)
    else DynamicKafka.writer(frame).setOptions(options).writeStream()
  }

  /**
   * @param enough how many records a query in real-time mode writes, whose batch does not end
   * @param made gives the writer of a query, given its options
   */
  private def run(
      write: Write,
      mode: String,
      guarantee: String,
      s: Query,
      enough: Int,
      made: Map[String, String] => DataStreamWriter[Row]
  ): Result = {
    val (out, dead) = (newTopic(), newTopic())
    Seq(blue, green).foreach(_.createTopic(out, 2, write.limits))
    if (write.hasLetters) Seq(blue, green).foreach(_.createTopic(dead))
    val topics = out +: Seq(dead).filter(_ => write.hasLetters)
    target { t =>
      t.out(Entry("blue", blue, out), Entry("green", green, out).copy(state = write.green))
      t.service.formats = Map("out" -> write.formats)
      val options = t.options(
        write.options.map { case (name, value) => name -> value.replace("DEAD", dead) } ++
          Seq("deliveryGuarantee" -> guarantee): _*
      )
      def written =
        (for (topic <- topics; cluster <- Seq(blue, green)) yield cluster.endOffsets(topic).values.sum).sum
      def query(trigger: Trigger)(isDone: StreamingQuery => Boolean): Unit = {
        val running = made(options).outputMode("update")
          .option("checkpointLocation", t.checkpoint.toString).trigger(trigger).start()
        try {
          waitFor(s"${write.name}, $mode, $guarantee")(running.exception.isDefined || isDone(running))
          DynamicKafka.stop(running)
          running.exception.foreach(throw _)
          val hasJournal = Files.exists(t.checkpoint.resolve("dynamic-kafka-sink"))
          assert(hasJournal == (guarantee == "exactly-once"), s"${write.name}, $mode, $guarantee")
        } finally running.stop()
      }
      try {
        mode match {
          case "batch" => t.save(write.rows(s.batch()), options.toSeq: _*)
          case "micro-batch" =>
            query(Trigger.ProcessingTime(0L))(_.recentProgress.map(_.numInputRows).sum >= Rows)
          case "AvailableNow" => query(Trigger.AvailableNow())(!_.isActive)
          case "real-time" => query(Trigger.RealTime("5 minutes"))(_ => written >= enough)
        }
        Right(records(topics))
      } catch {
        case e: Exception =>
          val found = condition(refused(throw e))
          if (mode == "real-time" && guarantee == "exactly-once")
            assert(written == 0, s"${write.name}: it is refused before a row is written")
          // Nothing that Spark says in its place.
          Left(if (e.getMessage.contains(found)) found else e.getMessage)
      }
    }
  }

  private def assertSame(
      write: Write,
      expected: Result,
      found: Result,
      mode: String,
      guarantee: String
  ): Any =
    if (mode == "real-time" && guarantee == "exactly-once")
      assert(found == Left("EXACTLY_ONCE_REFUSED") || (found == expected && write.error.isDefined))
    else assert(found == expected, s"$mode, $guarantee")

  for ((write, number) <- Writes.zipWithIndex)
    test(write.name) {
      spark.conf.set("spark.sql.streaming.realTimeMode.minBatchDuration", "1s")
      // Both ways in turn; by the builder where Spark's provider has what only the builder could miss. Spark's list of sinks for real-time
      // mode has none of others by name.
      val byName = number % 2 == 1 && write.session.isEmpty && write.formats.isEmpty
      val session = write.session.map { case (name, value) =>
        s"spark.datasource.dynamic-kafka.$name" -> value
      } ++ Seq(AllowList -> "false").filter(_ => byName)
      session.foreach { case (name, value) => spark.conf.set(name, value) }
      try scene { s =>
          s.orders(Entry("blue", blue, source))
          def made(options: Map[String, String]) = writer(write, options, s, byName)
          val expected = run(write, "batch", "at-least-once", s, 0, made)
          assert(expected.left.toOption == write.error, "batch, at-least-once")
          val enough = expected.fold(_ => Int.MaxValue, _.size)
          // Side by side, because they wait most of the time.
          val others = for {
            mode <- Seq("batch", "micro-batch", "AvailableNow", "real-time")
            guarantee <- Seq("at-least-once", "exactly-once")
            if mode != "batch" || guarantee != "at-least-once"
          } yield (
            mode,
            guarantee,
            Future(blocking(run(write, mode, guarantee, s, enough, made)))(ExecutionContext.global)
          )
          others.foreach(o => Await.ready(o._3, 600.seconds))
          others.foreach { case (mode, guarantee, running) =>
            assertSame(write, expected, Await.result(running, 0.seconds), mode, guarantee)
          }
        }
      finally session.foreach { case (name, _) => spark.conf.unset(name) }
    }

  test("one writer, started again and again with other triggers and guarantees") {
    spark.conf.set("spark.sql.streaming.realTimeMode.minBatchDuration", "1s")
    val seed = TestSeed()
    val write = Writes.head
    scene { s =>
      s.orders(Entry("blue", blue, source))
      val expected = run(write, "batch", "at-least-once", s, 0, _ => fail())
      val one = new StreamWriter(write.rows(s.frame())).format("dynamic-kafka")
      val all = for {
        mode <- Seq("micro-batch", "AvailableNow", "real-time")
        guarantee <- Seq("at-least-once", "exactly-once")
      } yield mode -> guarantee
      for ((mode, guarantee) <- new Random(seed).shuffle(all)) {
        val found = run(write, mode, guarantee, s, Rows, options => one.options(options))
        withClue(s"DYNAMIC_KAFKA_SEED=$seed: ")(assertSame(write, expected, found, mode, guarantee))
      }
    }
  }

  for (mode <- Seq("micro-batch", "real-time"))
    test(s"metadata of the written stream that change while a query runs: $mode") {
      spark.conf.set("spark.sql.streaming.realTimeMode.minBatchDuration", "1s")
      val seed = TestSeed()
      val random = new Random(seed)
      val (from, to) = (newTopicOn(1, blue), newTopicOn(LogIns, blue, green))
      val brokers = Seq("blue" -> blue, "green" -> green)
      val routing = Seq("key", "first", "all")(random.nextInt(3))
      var places = brokers
      var (states, logIns) = (places.map(_ => Active), places.map(_ => 0))
      def entry(i: Int) =
        Entry(brokers(i)._1, places(i)._2, to).and(
          PasswordPartitioner.Property,
          PasswordPartitioner.logIn(logIns(i))
        )
      def change(): Seq[Entry] = {
        val (what, all) = (random.nextInt(4), 3)
        if (what == 0 || what == all) places = places.reverse
        if (what == 1 || what == all) logIns = logIns.map(_ => random.nextInt(LogIns))
        if (what == 2 || what == all)
          states =
            Iterator.continually(states.map(_ => random.nextInt(Active + 1))).find(_.contains(Active)).get
        random.shuffle(Seq(0, 1)).flatMap(i =>
          states(i) match {
            case 0 => None
            case 1 => Some(entry(i).draining)
            case 2 => Some(entry(i).readOnly)
            case _ => Some(entry(i))
          }
        )
      }
      def writable(all: Seq[Entry]) =
        all.filter(e => e.write && e.state == ClusterMetadata.Active).map(_.id)
      var (steps, numbers) = (Vector.empty[String], Iterator.from(0))
      scene { s =>
        s.orders(Entry("blue", blue, from))
        target { t =>
          t.out(brokers.indices.map(entry): _*)
          val query = DynamicKafka.writer(s.frame().selectExpr("key", "value"))
          val trigger = if (mode == "real-time") Trigger.RealTime("5 minutes") else Continuous
          val options =
            t.options("clusterRouting" -> routing, "partitioner" -> classOf[PasswordPartitioner].getName)
          val running = query.setOptions(options).writeStream().outputMode("update")
            .option("checkpointLocation", t.checkpoint.toString).trigger(trigger).start()
          try (1 to 6).foreach { _ =>
              val now = change()
              t.out(now: _*)
              val open = writable(now)
              steps :+= now.mkString(", ")
              def ids(key: String) = routing match {
                case "all" => open.toSet
                case "first" => open.take(1).toSet
                case _ =>
                  val sorted = open.sorted
                  val weights = sorted.map(Rendezvous.weight).toArray
                  Set(sorted(Rendezvous.choose(key.getBytes(UTF_8), weights)))
              }
              // The Kafka cluster, and the partition, which is the number of the log-in.
              def right(key: String) = ids(key).map { id =>
                val i = brokers.indexWhere(_._1 == id)
                (places(i)._1, logIns(i))
              }
              // Until the query has applied the change, rows go where they went.
              eventually(timeout(Span(60, Seconds))) {
                assert(running.exception.isEmpty)
                val keys = Seq.fill(10)(s"k${numbers.next()}")
                produce(blue, from, 1, keys)
                def found = (for {
                  (name, cluster) <- brokers
                  record <- cluster.dump(to) if keys.contains(record.value)
                } yield record.value -> (name -> record.partition)).groupMap(_._1)(_._2)
                  .map { case (key, all) => key -> all.toSet }
                eventually(timeout(Span(3, Seconds)), interval(Span(200, Millis)))(
                  assert(
                    found == keys.map(k => k -> right(k)).toMap,
                    s"DYNAMIC_KAFKA_SEED=$seed: $routing, $steps"
                  )
                )
              }
            }
          finally running.stop()
        }
      }
    }
}

private object SameWriteSuite {
  private val Rows = 12

  /** The state of a cluster that is written. */
  private val Active = 3

  /** How many log-ins a cluster can have in the metadata. */
  private val LogIns = 3
  private val AllowList = "spark.sql.streaming.realTimeMode.allowlistCheck"

  /**
   * @param rows of the records of the source
   * @param error the condition of the error; None: there are records
   * @param green the state of the second cluster in the metadata
   * @param limits settings of the topic
   * @param session options that the session has for all writes
   * @param formats what the metadata says of the format
   */
  final case class Write(
      name: String,
      rows: DataFrame => DataFrame,
      options: Seq[(String, String)] = Nil,
      error: Option[String] = None,
      green: String = "active",
      limits: Map[String, String] = Map.empty,
      session: Seq[(String, String)] = Nil,
      formats: Map[String, String] = Map.empty
  ) {
    def hasLetters: Boolean = options.exists(_._2 == "DEAD")
  }

  private def select(columns: String*)(frame: DataFrame): DataFrame = frame.selectExpr(columns: _*)
  private val plain = Seq("key", "value")
  private def plus(column: String)(frame: DataFrame): DataFrame = frame.selectExpr(plain :+ column: _*)
  private val Big = "if(cast(value as string) = 'v5', repeat('x', 5000), cast(value as string)) as value"
  private val letters = Seq("deadLetterTopic" -> "DEAD", "deadLetterCluster" -> "blue")

  val Writes: Seq[Write] = Seq(
    Write("routing by key", select(plain: _*)),
    Write("routing to the first cluster", select(plain: _*), Seq("clusterRouting" -> "first")),
    Write("routing to all clusters", select(plain: _*), Seq("clusterRouting" -> "all")),
    Write("options of the session", select(plain: _*), session = Seq("clusterRouting" -> "all")),
    Write(
      "the format of the metadata",
      select("cast(value as string) as id"),
      Seq("format" -> "metadata", "clusterRouting" -> "first"),
      formats = Map("format" -> "json", "schema" -> "id STRING")
    ),
    Write("a cluster that drains", select(plain: _*), green = "draining"),
    Write("rows with a cluster", plus("if(cast(value as string) < 'v3', 'blue', 'green') as cluster")),
    Write(
      "rows without a key, and headers",
      select(
        "value",
        "array(named_struct('key', 'h', 'value', cast('1' as binary))) as headers"
      ),
      Seq("clusterRouting" -> "first")
    ),
    Write(
      "JSON with keys",
      select("cast(value as string) as id", "length(value) as n"),
      Seq(
        "format" -> "json",
        "key.format" -> "json",
        "keyFields" -> "id"
      )
    ),
    Write(
      "a record that is too large, beside others, is a dead letter",
      select("key", Big),
      letters,
      limits = Map("max.message.bytes" -> "2000")
    ),
    Write(
      "... and an error without dead letters",
      select("key", Big),
      error = Some("WRITE_FAILED"),
      limits = Map("max.message.bytes" -> "2000")
    ),
    Write("rows of an unknown cluster are dead letters", plus("'nowhere' as cluster"), letters),
    Write(
      "... and an error without dead letters, too",
      plus("'nowhere' as cluster"),
      error = Some("UNROUTABLE_ROW")
    ),
    Write("rows of a partition that does not exist", plus("7 as partition"), error = Some("UNROUTABLE_ROW")),
    Write(
      "a cluster for dead letters that the metadata does not have",
      select(plain: _*),
      Seq("deadLetterTopic" -> "DEAD", "deadLetterCluster" -> "nowhere"),
      error = Some("INVALID_OPTION")
    ),
    Write(
      "acks=0 for a cluster",
      select(plain: _*),
      Seq("cluster.blue.kafka.acks" -> "0"),
      error = Some("INVALID_OPTION")
    ),
    Write(
      "an option that does not exist",
      select(plain: _*),
      Seq("clusterRoutings" -> "all"),
      error = Some("UNKNOWN_OPTION")
    ),
    Write(
      "a column of the wrong type",
      select("key", "length(value) as value"),
      error = Some("INVALID_COLUMN")
    )
  )
}

/** Chooses the partition whose number is the password of its producer: a record shows with which log-in it was sent. */
final class PasswordPartitioner extends Partitioner {
  private var password = 0

  override def configure(properties: ju.Map[String, _]): Unit =
    password = properties.get(PasswordPartitioner.Property).toString.filter(_.isDigit).toInt

  override def partition(
      topic: String,
      key: Any,
      keyBytes: Array[Byte],
      value: Any,
      valueBytes: Array[Byte],
      cluster: Cluster
  ): Int = password

  override def close(): Unit = ()
}

private object PasswordPartitioner {
  val Property = "sasl.jaas.config"

  def logIn(password: Int): String =
    s"""org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="$password";"""
}
