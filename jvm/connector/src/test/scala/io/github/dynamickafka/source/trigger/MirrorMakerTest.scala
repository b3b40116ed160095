package io.github.dynamickafka.source.trigger

import java.time.Duration
import java.{util => ju}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.kafka.clients.consumer.KafkaConsumer
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.serialization.ByteArrayDeserializer
import org.apache.spark.sql.streaming.StreamingQuery

import io.github.dynamickafka.offset.replacement.MirrorCheckpoint
import io.github.dynamickafka.source.{Entry, Scene, Seen, SourceTest}
import io.github.dynamickafka.testkit.{KafkaCluster, MirrorMaker}

/** A query over one cluster, which MirrorMaker copies to another one with other offsets. */
trait MirrorMakerTest extends SourceTest {
  override def asksInEachTrigger: Boolean = false

  def values(prefix: String, n: Int): Seq[String] = (0 until n).map(i => s"$prefix$i")

  /** @param id the id of the cluster in the metadata, which is MirrorMaker's alias; with a topic and a group of the same name */
  final class Mirrored(val scene: Scene, val id: String) {
    val topic: String = id
    val options: Seq[(String, String)] = Seq(
      "replacedClusterPolicy" -> "mirror-maker",
      "mirrorMakerReplicationPolicy" -> "identity",
      "commitOffsets" -> "true",
      "commitGroupId" -> id
    )

    def on(cluster: KafkaCluster, topic: String = this.topic): Entry = Entry(id, cluster, topic)

    /** Until the body ends. */
    def copying[A](
        from: KafkaCluster,
        to: KafkaCluster,
        groups: Seq[String] = Seq(id),
        identity: Boolean = true
    )(
        body: MirrorMaker => A
    ): A = Using.resource(MirrorMaker.start(from, to, id, Seq(topic), groups, identity = identity))(body)

    def start(): StreamingQuery = scene.start(options: _*)

    /** The next offsets to read, by partition. */
    def position: Map[Int, Long] = scene.results.logged.position(id).of(topic).toMap

    def awaitCommitted(at: KafkaCluster): Unit =
      eventually(assert(at.committedOffsets(id).get(topic).contains(position)))

    /** Waits until there are checkpoints of these offsets of the group. */
    def awaitCheckpoints(at: KafkaCluster, upstream: Map[Int, Long], topic: String = this.topic): Unit =
      eventually {
        val found = checkpoints(at, s"$id.checkpoints.internal").filter(_.topic == topic)
        assert(upstream.forall { case (p, offset) =>
          found.exists(c => c.partition == p && c.upstream == offset)
        })
      }

    def awaitCopied(at: KafkaCluster, expected: Seq[String], topic: String = this.topic): Unit =
      eventually(assert(
        at.topics()(topic) && expected.toSet.subsetOf(at.dump(topic).map(_.value).toSet)
      ))
  }

  /** A log whose first records have expired, so that a copy has other offsets. Twenty records are read, and the query is stopped. */
  def mirrored(body: Mirrored => Any): Unit = scene { s =>
    val m = new Mirrored(s, newTopic("mirrored"))
    blue.createTopic(m.topic, 2)
    produce(blue, m.topic, 2, values("expired", 14))
    (0 to 1).foreach(p => blue.deleteRecords(m.topic, p, 7))
    produce(blue, m.topic, 2, values("a", 20))
    s.orders(m.on(blue))
    val query = m.start()
    settle(query)
    eventually(assert(s.seen.size == 20))
    m.awaitCommitted(blue)
    query.stop()
    body(m)
    ()
  }

  /** What has been read in the former cluster, and then each record of the new one from where it was entered, once. */
  def assertContinued(m: Mirrored, former: Seq[Seen], to: KafkaCluster, topic: String): Unit =
    assertContinued(m.scene.seen, former, stored(m.id, to, topic))

  def assertContinued(seen: Seq[Seen], former: Seq[Seen], inNew: Seq[Seen]): Unit = {
    val first = seen.diff(former).groupMap(_.partition)(_.offset).map { case (p, offsets) =>
      p -> offsets.min
    }
    assertSame(seen, former ++ inNew.filter(r => first.get(r.partition).exists(_ <= r.offset)))
  }

  private def checkpoints(at: KafkaCluster, topic: String): Seq[MirrorCheckpoint] =
    if (!at.topics()(topic)) Nil
    else {
      val properties = Map[String, AnyRef](
        "bootstrap.servers" -> at.directServers,
        "auto.offset.reset" -> "earliest"
      )
      val bytes = new ByteArrayDeserializer
      Using.resource(new KafkaConsumer[Array[Byte], Array[Byte]](properties.asJava, bytes, bytes)) {
        consumer =>
          val partition = new TopicPartition(topic, 0)
          consumer.assign(ju.List.of(partition))
          val end = consumer.endOffsets(ju.List.of(partition)).get(partition).longValue
          Iterator.continually(consumer.poll(Duration.ofMillis(100)).asScala.toSeq)
            .takeWhile(records => records.nonEmpty || consumer.position(partition) < end)
            .flatten.map(r => MirrorCheckpoint(MirrorCheckpoint.key(r.key), r.value)).toSeq
      }
    }
}
