package io.github.dynamickafka.source.replacement

import java.time.Duration
import java.util.concurrent.TimeoutException
import java.{util => ju}

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.consumer.{Consumer, ConsumerConfig, ConsumerRecord, KafkaConsumer}
import org.apache.kafka.common.TopicPartition

import io.github.dynamickafka.offset.mirror.MirrorTranslation
import io.github.dynamickafka.source.cluster.ClusterConfig
import io.github.dynamickafka.time.Clock

/** Reads the checkpoints that MirrorMaker 2 has written to a cluster. Blocks. */
private[source] trait MirrorCheckpoints {

  /**
   * Reads the topic from its beginning to its end: the newest checkpoints are there.
   *
   * @param question what is looked for
   * @return or why there are none
   */
  def apply(
      config: ClusterConfig,
      topic: String,
      question: MirrorTranslation
  ): Either[String, MirrorTranslation]
}

private[source] object MirrorCheckpoints {

  /** With a consumer that is closed afterwards, within the request timeout of the cluster. */
  object Consumer extends MirrorCheckpoints {
    override def apply(
        config: ClusterConfig,
        topic: String,
        question: MirrorTranslation
    ): Either[String, MirrorTranslation] = {
      val properties = new ju.HashMap[String, AnyRef](config.consumer.withToken.forConsumer)
      // MirrorMaker may write in transactions.
      properties.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed")
      val consumer = new KafkaConsumer[Array[Byte], Array[Byte]](properties)
      try new Reading(consumer, topic, config.requestTimeoutMs)(question)
      finally consumer.close(Duration.ZERO)
    }
  }

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
