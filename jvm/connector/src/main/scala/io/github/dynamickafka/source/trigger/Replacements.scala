package io.github.dynamickafka.source.trigger

import java.time.Duration
import java.util.concurrent.TimeoutException
import java.{util => ju}

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.consumer.{Consumer, ConsumerConfig, ConsumerRecord, KafkaConsumer}
import org.apache.kafka.common.TopicPartition

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.metadata.ReplacedClusterPolicy
import io.github.dynamickafka.offset.Continuation
import io.github.dynamickafka.offset.replacement.SameOffsets.{Answer, Question}
import io.github.dynamickafka.offset.replacement.{
  LastRecord,
  MirrorContinuation,
  MirrorTranslation,
  Replacement,
  SameOffsets
}
import io.github.dynamickafka.source.cluster.ClusterConfig

/**
 * Where the query continues in a Kafka cluster that replaces another one, and what the policy needs of the new cluster for this. The
 * decisions are in [[io.github.dynamickafka.offset.replacement]].
 *
 * @param records reads the offsets and times of single records of the new cluster
 * @param checkpoints reads a topic with checkpoints of MirrorMaker there; left: why there are none
 */
private[source] final class Replacements(
    policy: ReplacedClusterPolicy,
    records: Replacements.RecordsAt = RecordsAt.byConsumer,
    checkpoints: Replacements.MirrorCheckpoints = MirrorCheckpoints.byConsumer
) {
  import Replacements.Decision

  /** What is decided without the new cluster, or by what is read of it, which blocks. */
  def apply(of: Replacement): Either[Decision, ClusterConfig => Decision] = policy match {
    case ReplacedClusterPolicy.Fail => Left(Left("the offsets in the checkpoint do not apply to it"))
    case ReplacedClusterPolicy.Earliest => Left(Right(Continuation(of.view.earliest)))
    case ReplacedClusterPolicy.Latest => Left(Right(Continuation(of.view.ends)))
    case ReplacedClusterPolicy.SameOffsets =>
      SameOffsets.questions(of) match {
        case Left(reason) => Left(Left(reason))
        case Right(questions) if questions.isEmpty => Left(SameOffsets.continuation(of, Map.empty))
        case Right(questions) => Right(config => SameOffsets.continuation(of, records(config, questions)))
      }
    case ReplacedClusterPolicy.MirrorMaker(group, alias, topics) =>
      val mirror = new MirrorContinuation(of, group, alias.getOrElse(of.former), topics)
      mirror.question.map(question =>
        (config: ClusterConfig) =>
          checkpoints(config, mirror.checkpoints, question).flatMap(mirror.continuation)
      ).left.map(Left(_))
  }
}

private[source] object Replacements {

  /** Where the query continues; left: why it cannot. */
  type Decision = Either[String, Continuation]
  type RecordsAt = (ClusterConfig, Map[(String, Int), Question]) => Map[(String, Int), Answer]
  type MirrorCheckpoints = (ClusterConfig, String, MirrorTranslation) => Either[String, MirrorTranslation]

  /** Reads with a consumer that is closed afterwards. */
  def reading[A](config: ClusterConfig, property: (String, String))(
      read: Consumer[Array[Byte], Array[Byte]] => A
  ): A = {
    val properties = new ju.HashMap[String, AnyRef](config.consumer.withToken.forConsumer)
    properties.put(property._1, property._2)
    val consumer = new KafkaConsumer[Array[Byte], Array[Byte]](properties)
    try read(consumer)
    finally consumer.close(Duration.ZERO)
  }
}

/** Reads the offsets and times of single records of a cluster, within its request timeout. Blocks. */
private[source] object RecordsAt {

  // A batch is returned whatever its size, and no more is needed.
  val byConsumer: Replacements.RecordsAt = (config, questions) =>
    Replacements.reading(config, ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG -> "1024")(
      new Reading(_, config.requestTimeoutMs)(questions)
    )

  private final class Reading(consumer: Consumer[Array[Byte], Array[Byte]], limitMs: Long) {
    private val until = System.nanoTime() + limitMs * 1000000L

    def apply(questions: Map[(String, Int), Question]): Map[(String, Int), Answer] = {
      val at = first(questions.map { case (key, question) => key -> question.record })
      val there = at.filter { case (key, record) => record.offset == questions(key).record }
      // What follows the last record that was read, up to the position, is none of the former log, or was removed there.
      val (beyond, between) =
        (at -- there.keySet).partition { case (key, record) => record.offset >= questions(key).position }
      val next = beyond ++ first(between.map { case (key, _) => key -> questions(key).position })
      questions.map { case (key, _) => key -> Answer(there.get(key), next.get(key)) }
    }

    /** The first record of each partition from this offset on, if there is one. */
    private def first(from: Map[(String, Int), Long]): Map[(String, Int), LastRecord] = {
      val asked = from.map { case ((topic, p), offset) => new TopicPartition(topic, p) -> offset }
      consumer.assign(asked.keys.toSeq.asJava)
      // An earlier search has paused some of them.
      consumer.resume(asked.keys.toSeq.asJava)
      val beginnings = consumer.beginningOffsets(asked.keys.toSeq.asJava).asScala
      asked.foreach { case (tp, offset) => consumer.seek(tp, math.max(offset, beginnings(tp).longValue)) }
      val ends = consumer.endOffsets(asked.keys.toSeq.asJava).asScala
      var found = Map.empty[TopicPartition, LastRecord]
      var open = asked.keySet.toSet
      while (open.nonEmpty) {
        if (System.nanoTime() > until)
          throw new TimeoutException(s"no records of ${open.toSeq.map(_.toString).sorted.mkString(", ")}")
        val polled = consumer.poll(Wait)
        for (tp <- open; record <- polled.records(tp).asScala.headOption)
          found += tp -> LastRecord(record.offset, record.timestamp)
        val done = open.filter(tp => found.contains(tp) || consumer.position(tp) >= ends(tp).longValue)
        consumer.pause(done.toSeq.asJava)
        open --= done
      }
      found.map { case (tp, record) => (tp.topic, tp.partition) -> record }
    }
  }

  private val Wait = Duration.ofMillis(100)
}

/**
 * Reads the checkpoints that MirrorMaker 2 has written to a cluster, within its request timeout: their topic from its beginning to its
 * end, where the newest ones are. Blocks.
 */
private[source] object MirrorCheckpoints {

  // MirrorMaker may write in transactions.
  val byConsumer: Replacements.MirrorCheckpoints = (config, topic, question) =>
    Replacements.reading(config, ConsumerConfig.ISOLATION_LEVEL_CONFIG -> "read_committed")(
      new Reading(_, topic, config.requestTimeoutMs)(question)
    )

  private final class Reading(
      consumer: Consumer[Array[Byte], Array[Byte]],
      topic: String,
      limitMs: Long,
      clock: Clock = Clock.System
  ) {
    private val until = clock.monotonicMs() + limitMs
    // MirrorMaker creates the topic with one partition.
    private val partition = new TopicPartition(topic, 0)

    def apply(question: MirrorTranslation): Either[String, MirrorTranslation] =
      if (Option(consumer.partitionsFor(topic, rest)).forall(_.isEmpty))
        Left(s"the new cluster has no topic '$topic', where MirrorMaker writes its checkpoints")
      else {
        consumer.assign(ju.List.of(partition))
        consumer.seekToBeginning(ju.List.of(partition))
        toEnd(consumer.endOffsets(ju.List.of(partition), rest).get(partition), question)
      }

    @annotation.tailrec
    private def toEnd(end: Long, found: MirrorTranslation): Either[String, MirrorTranslation] =
      if (consumer.position(partition, rest) >= end) Right(found)
      else if (clock.monotonicMs() >= until)
        throw new TimeoutException(s"topic '$topic' was not read to its end within $limitMs ms")
      else
        consumer.poll(rest).records(partition).asScala
          .foldLeft[Either[String, MirrorTranslation]](Right(found))((all, record) =>
            all.flatMap(add(_, record))
          ) match {
          case Right(more) => toEnd(end, more)
          case failed => failed
        }

    private def add(all: MirrorTranslation, record: ConsumerRecord[Array[Byte], Array[Byte]]) =
      try Right(all.add(record.key, record.value))
      catch {
        case e: IllegalArgumentException =>
          Left(
            s"the record at offset ${record.offset} of topic '$topic' is no checkpoint that this version knows: ${e.getMessage}"
          )
      }

    private def rest: Duration = Duration.ofMillis(math.max(1L, until - clock.monotonicMs()))
  }
}
