package io.github.dynamickafka.sink

import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.immutable.SortedMap
import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.{Failure, Random, Try}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.connector.write.WriterCommitMessage
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.config.{ClusterRouting, DeliveryGuarantee, PartitionerChoice, RoutingOptions}
import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.format.table.DeadLetterOptions
import io.github.dynamickafka.kafka.TaskSender.Record
import io.github.dynamickafka.kafka.{ProducerSettings, TaskSender, TopicLimits}
import io.github.dynamickafka.metadata.{WriteEntry, WriteStream}
import io.github.dynamickafka.sink.commit.TransactionName
import io.github.dynamickafka.testkit.TimeLimit

/**
 * Random rows through the writer of a task, each with one slip at most. What a topic cannot take is known before it is sent, alone or
 * beside other records; an error and a dead letter name stream, cluster and topic, whether the row names them or not.
 */
class RandomRowsSuite extends AnyFunSuite with TimeLimit {
  import RandomRowsSuite._

  test("a row is at its destination, a dead letter or an error, which name where it should be") {
    val first = TestSeed()
    val slips = (first until first + Tasks).map(new Task(_).run())
    for (slip <- Slip.values)
      assert(slips.map(_.getOrElse(slip, 0)).sum > 20, s"$slip")
  }

  private final class Task(seed: Long) {
    private val random = new Random(seed)
    private def one[A](all: Seq[A]): A = all(random.nextInt(all.size))
    private def maybe[A](value: => A): Option[A] = Option.when(random.nextBoolean())(value)

    private val ids = Seq("a", "b", "c").take(1 + random.nextInt(3))
    private val streams = Seq("s", "u").map { id =>
      val topics = Seq("one", "two").take(1 + random.nextInt(2)).map(name => s"$id-$name")
      val partitions = maybe(IndexedSeq(0, 2))
      val entries = ids.zipWithIndex.map { case (cluster, n) =>
        val closed = Option.when(n > 0 && random.nextInt(3) == 0)("it is draining")
        WriteEntry(cluster, SortedMap.from(topics.map(_ -> partitions)), None, closed)
      }
      WriteStream(id, random.shuffle(entries))
    }
    private val defaultStream = maybe("s")
    private val letters = maybe(DeadLetterOptions(Dead, maybe(ids.head)))
    private val guarantee = one(Seq(DeliveryGuarantee.AtLeastOnce, DeliveryGuarantee.ExactlyOnce))
    private val routing = one(Seq(ClusterRouting.Key, ClusterRouting.First, ClusterRouting.All))
    private val compresses = random.nextInt(4) == 0
    private val limits = for (s <- streams; topic <- s.clusters.head.topics.keys.toSeq)
      yield topic -> (500 + random.nextInt(2000))
    private val sent = mutable.Buffer.empty[(String, Record)]

    private val factory = WriterFactory(
      InputColumns.of(StructType.fromDDL(Columns), caseSensitive = false),
      BatchFrames(Nil, Map.empty, Map.empty),
      streams.map(s => s.id -> s).toMap,
      ids.map(id =>
        id -> new ProducerSettings(
          id,
          Map("bootstrap.servers" -> s"$id:1") ++ Option.when(compresses)("compression.type" -> "lz4")
        )
      ).toMap,
      ids.map(_ -> limits.map { case (topic, most) =>
        topic -> TopicLimits(Some(most), isCompacted = false, None, None)
      }.toMap).toMap,
      WriterFactory.Rules(
        RoutingOptions(defaultStream, routing, failover = false, PartitionerChoice.Default, letters),
        None,
        guarantee
      ),
      Option.when(guarantee == DeliveryGuarantee.ExactlyOnce)(
        WriterFactory.Transactions(TransactionName("p", "q", "i", 1L), None, None, "journal")
      )
    )
    private val writer = factory.writer(0, 0L, new Sender)

    private final class Sender extends TaskSender {
      override def send(cluster: String, record: Record): Unit = sent += cluster -> record
      override def partitions(cluster: String, topic: String): Int = 3
      override def partitionsNow(cluster: String, topic: String): Int = 3
      override def commit(): WriterCommitMessage = null
      override def abort(): Unit = ()
      override def close(): Unit = ()
    }

    /** The number of rows with each slip. */
    def run(): Map[Slip.Value, Int] =
      Seq.fill(Rows)(write()).flatten.groupMapReduce(identity)(_ => 1)(_ + _)

    private def write(): Option[Slip.Value] = {
      val right = row()
      val slip = Option.when(random.nextInt(3) > 0)(one(Slip.values.toSeq))
      val wrong = slip.flatMap(slipped(right, _))
      sent.clear()
      val of = wrong.getOrElse(right)
      val result = Try(writer.write(of.internal))
      val where =
        s"DYNAMIC_KAFKA_SEED=$seed: ${wrong.flatMap(_ => slip)}, $of, $routing, $letters, $guarantee"
      sent.foreach { case (cluster, record) =>
        assert(
          record.topic == Dead || compresses || TopicLimitsSuite.sizeInBytes(
            record
          ) <= limits.toMap.apply(record.topic),
          where
        )
        assert(ids.contains(cluster), where)
      }
      if (wrong.isEmpty) sentRight(of, result, where)
      else if (slip.contains(Slip.Size)) sizes(of, result, where)
      else slipIsNamed(of, slip.get, result, where)
      slip.filter(_ => wrong.isDefined)
    }

    private def open(of: Row): Seq[String] = of.cluster.map(Seq(_)).getOrElse(streamOf(of).open)

    private def streamOf(of: Row): WriteStream =
      streams.find(s => of.stream.orElse(defaultStream).contains(s.id)).get

    private def row(): Row = {
      val stream =
        if (defaultStream.isEmpty) Some(one(streams).id) else one(Seq(None, Some("s"), Some("u")))
      val of = streams.find(s => stream.orElse(defaultStream).contains(s.id)).get
      val topics = of.clusters.head.topics
      Row(
        key = maybe("k" * random.nextInt(20)),
        bytes = random.nextInt(100),
        headers = Seq.fill(random.nextInt(3))(Some("h")),
        timestampMs = maybe(random.nextInt(1000000).toLong),
        partition = maybe(one(topics.head._2.getOrElse(IndexedSeq(0, 1, 2)))),
        topic = if (topics.size == 1) maybe(topics.head._1) else Some(one(topics.keys.toSeq)),
        stream,
        cluster = maybe(one(of.open))
      )
    }

    /** None: the row cannot have it. */
    private def slipped(right: Row, slip: Slip.Value): Option[Row] = {
      val of = streamOf(right)
      slip match {
        case Slip.Stream => Some(right.copy(stream = Some("x")))
        case Slip.NoStream => Option.when(defaultStream.isEmpty)(right.copy(stream = None))
        case Slip.Cluster => Some(right.copy(cluster = Some("nowhere")))
        case Slip.Closed =>
          of.clusters.find(_.closed.isDefined).map(e => right.copy(cluster = Some(e.cluster)))
        case Slip.Topic => Some(right.copy(topic = Some("zz")))
        case Slip.NoTopic => Option.when(of.clusters.head.topics.size > 1)(right.copy(topic = None))
        case Slip.Partition =>
          val part = of.clusters.head.topics.head._2
          Some(right.copy(partition = Some(if (part.isDefined) 1 else one(Seq(-1, 3, 7)))))
        case Slip.Header => Some(right.copy(headers = right.headers :+ None))
        case Slip.Timestamp => Some(right.copy(timestampMs = Some(-2L - random.nextInt(100))))
        case _ =>
          // Around the limit, which has 61 bytes of the batch, and some of key and headers.
          val topic = right.topic.getOrElse(of.clusters.head.topics.head._1)
          Some(right.copy(bytes = limits.toMap.apply(topic) - 61 - random.nextInt(60)))
      }
    }

    private def sentRight(of: Row, result: Try[Unit], where: String): Unit = {
      assert(result.isSuccess, where)
      val chosen = sent.map(_._1).toSeq
      if (of.cluster.isDefined) assert(chosen == of.cluster.toSeq, where)
      else if (routing == ClusterRouting.All) assert(chosen.sorted == open(of).sorted, where)
      else assert(chosen.size == 1 && open(of).contains(chosen.head), where)
      assert(sent.forall { case (_, r) => r.topic == topicOf(of) && r.value.length == of.bytes }, where)
    }

    private def topicOf(of: Row) = of.topic.getOrElse(streamOf(of).clusters.head.topics.head._1)

    private def sizes(of: Row, result: Try[Unit], where: String): Unit = {
      val isTooLarge =
        !compresses && TopicLimitsSuite.sizeInBytes(of.record(topicOf(of))) > limits.toMap.apply(topicOf(of))
      if (!isTooLarge) sentRight(of, result, where)
      else if (letters.isDefined) {
        assert(result.isSuccess, where)
        assertLetters(of, Some(topicOf(of)), open(of), where)
      } else {
        val e = error(result, where)
        assert(e.getCondition == "DYNAMIC_KAFKA.WRITE_FAILED", where)
        assert(open(of).exists(id => e.getMessage.contains(s"'$id'")), where)
        Seq(s"topic ${topicOf(of)}", "max.message.bytes").foreach(part =>
          assert(e.getMessage.contains(part), where)
        )
      }
    }

    private def slipIsNamed(of: Row, slip: Slip.Value, result: Try[Unit], where: String): Unit = {
      val isOfCluster =
        Set(Slip.Topic, Slip.NoTopic, Slip.Partition, Slip.Header, Slip.Timestamp)(slip)
      val topic = if (isOfCluster && slip != Slip.NoTopic) Some(topicOf(of)) else of.topic
      val to = if (isOfCluster) open(of) else of.cluster.toSeq
      if (letters.exists(isOfCluster || _.cluster.isDefined)) {
        assert(result.isSuccess, where)
        assertLetters(of, topic, to, where)
      } else {
        val e = error(result, where)
        assert(e.getCondition == "DYNAMIC_KAFKA.UNROUTABLE_ROW", where)
        val named = e.getMessageParameters.asScala
        def quoted(name: Option[String]) = name.fold("-")(n => s"'$n'")
        assert(named("stream") == quoted(of.stream.orElse(defaultStream)), where)
        assert(named("topic") == quoted(topic), where)
        if (to.isEmpty) assert(named("cluster") == "-", where)
        else assert(to.map(id => quoted(Some(id))).contains(named("cluster")), where)
      }
    }

    private def error(result: Try[Unit], where: String): DynamicKafkaRuntimeException = result match {
      case Failure(e: DynamicKafkaRuntimeException) => e
      case other => fail(s"$where: $other")
    }

    /** @param to the clusters that the row should have gone to */
    private def assertLetters(of: Row, topic: Option[String], to: Seq[String], where: String): Unit = {
      assert(sent.nonEmpty && sent.forall(_._2.topic == Dead), where)
      for ((cluster, record) <- sent) {
        val headers = record.headers.asScala.map(h => h.key -> new String(h.value, UTF_8)).toMap
        def has(name: String, value: Option[String]) =
          assert(headers.get(s"dynamic-kafka-$name") == value, s"$where: $headers")
        has("stream", of.stream.orElse(defaultStream))
        has("topic", topic)
        if (to.isEmpty) has("cluster", None)
        else assert(headers.get("dynamic-kafka-cluster").exists(to.contains), s"$where: $headers")
        assert(headers("dynamic-kafka-reason").nonEmpty, where)
        assert(headers.get("dynamic-kafka-cluster").contains(cluster) || letters.exists(
          _.cluster.contains(cluster)
        ))
        assert(record.value.length == of.bytes, where)
      }
    }
  }
}

private object RandomRowsSuite {
  private val Tasks = 60
  private val Rows = 60
  private val Dead = "dead"
  private val Columns =
    "key STRING, value BINARY, headers ARRAY<STRUCT<key: STRING, value: BINARY>>, timestamp TIMESTAMP, partition INT, " +
      "topic STRING, stream STRING, cluster STRING"

  object Slip extends Enumeration {
    val Stream, NoStream, Cluster, Closed, Topic, NoTopic, Partition, Header, Timestamp, Size = Value
  }

  /**
   * @param bytes of the value
   * @param headers their keys
   */
  private final case class Row(
      key: Option[String],
      bytes: Int,
      headers: Seq[Option[String]],
      timestampMs: Option[Long],
      partition: Option[Int],
      topic: Option[String],
      stream: Option[String],
      cluster: Option[String]
  ) {
    private def text(of: Option[String]) = of.map(UTF8String.fromString).orNull

    def internal: InternalRow = InternalRow(
      text(key),
      new Array[Byte](bytes),
      new GenericArrayData(headers.map(h => InternalRow(text(h), Array[Byte](1)))),
      timestampMs.map(ms => Long.box(ms * 1000)).orNull,
      partition.map(Int.box).orNull,
      text(topic),
      text(stream),
      text(cluster)
    )

    def record(topic: String): Record = {
      val made = new Record(topic, key.map(_.getBytes(UTF_8)).orNull, new Array[Byte](bytes))
      headers.flatten.foreach(made.headers.add(_, Array[Byte](1)))
      made
    }
  }
}
