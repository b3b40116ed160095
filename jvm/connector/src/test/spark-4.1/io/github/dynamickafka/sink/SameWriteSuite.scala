package io.github.dynamickafka.sink

import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, ExecutionContext, Future, blocking}

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}

import io.github.dynamickafka.DynamicKafka
import io.github.dynamickafka.source.{Entry, Scene}

/** The same write with each trigger and both guarantees: the same records, or the same error by name. */
class SameWriteSuite extends SinkTest {
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

  /** @param enough how many records a query in real-time mode writes, whose batch does not end */
  private def run(write: Write, mode: String, guarantee: String, s: Scene, enough: Int): Result = {
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
      def query(trigger: Trigger)(isDone: StreamingQuery => Boolean): Unit = {
        val running = options
          .foldLeft(DynamicKafka.writer(write.rows(s.frame()))) { case (all, (name, value)) =>
            all.setOption(name, value)
          }
          .writeStream().outputMode("update")
          .option("checkpointLocation", t.checkpoint.toString).trigger(trigger).start()
        try {
          waitFor(s"${write.name}, $mode, $guarantee")(running.exception.isDefined || isDone(running))
          DynamicKafka.stop(running)
          running.exception.foreach(throw _)
        } finally running.stop()
      }
      try {
        mode match {
          case "batch" => t.save(write.rows(s.batch()), options.toSeq: _*)
          case "micro-batch" =>
            query(Trigger.ProcessingTime(0L))(_.recentProgress.map(_.numInputRows).sum >= Rows)
          case "AvailableNow" => query(Trigger.AvailableNow())(!_.isActive)
          case "real-time" => query(Trigger.RealTime("5 minutes")) { _ =>
              (for (topic <- topics; cluster <- Seq(blue, green)) yield cluster.endOffsets(topic).values.sum)
                .sum >= enough
            }
        }
        Right(records(topics))
      } catch { case e: Exception => Left(condition(refused(throw e))) }
    }
  }

  Writes.foreach { write =>
    test(write.name) {
      spark.conf.set("spark.sql.streaming.realTimeMode.minBatchDuration", "1s")
      val session = write.session.map { case (name, value) =>
        s"spark.datasource.dynamic-kafka.$name" -> value
      }
      session.foreach { case (name, value) => spark.conf.set(name, value) }
      try scene { s =>
          s.orders(Entry("blue", blue, source))
          val expected = run(write, "batch", "at-least-once", s, 0)
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
            Future(blocking(run(write, mode, guarantee, s, enough)))(ExecutionContext.global)
          )
          others.foreach(o => Await.ready(o._3, 600.seconds))
          others.foreach { case (mode, guarantee, running) =>
            val found = Await.result(running, 0.seconds)
            if (mode == "real-time" && guarantee == "exactly-once")
              assert(found == Left("EXACTLY_ONCE_REFUSED") || (found == expected && write.error.isDefined))
            else assert(found == expected, s"$mode, $guarantee")
          }
        }
      finally session.foreach { case (name, _) => spark.conf.unset(name) }
    }
  }
}

private object SameWriteSuite {
  private val Rows = 12

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
