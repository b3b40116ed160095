package io.github.dynamickafka.source.trigger

import java.time.Duration
import java.{util => ju}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.kafka.clients.consumer.KafkaConsumer
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.serialization.ByteArrayDeserializer
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}

import io.github.dynamickafka.offset.replacement.MirrorCheckpoint
import io.github.dynamickafka.source.{Entry, Queries, Query, Results, Seen}
import io.github.dynamickafka.testkit.{KafkaCluster, MirrorMaker, TestAll}

/** `replacedClusterPolicy=mirror-maker`: a query over one cluster, which a real MirrorMaker copies to another one with other offsets. */
class MirrorMakerFailoverSuite extends Queries {
  override def asksInEachTrigger: Boolean = false

  /** @param id the id of the cluster in the metadata, which is MirrorMaker's alias; with a topic and a group of the same name */
  final class Mirrored(val scene: Query, val id: String) {
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
    def position: Map[Int, Long] = scene.logged.position(id).of(topic).toMap

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

  test(
    "failover, and back to a cluster that was filled again: every record is read, and few of them twice",
    TestAll
  ) {
    mirrored { m =>
      val former = m.scene.seen
      m.copying(blue, green) { _ =>
        m.awaitCheckpoints(green, m.position)
        // Copied, and not read in the former cluster.
        produce(blue, m.topic, 2, values("b", 6))
        m.awaitCopied(green, values("b", 6))
      }
      assert(green.beginningOffsets(m.topic) == Map(0 -> 0L, 1 -> 0L), "other offsets than in blue")
      m.scene.orders(m.on(green))
      produce(green, m.topic, 2, values("c", 8))
      val query = m.start()
      eventually(assert(m.scene.seen.map(_.value).toSet == (values("a", 20) ++ values("b", 6) ++ values(
        "c",
        8
      )).toSet))
      settle(query)
      assertContinued(m, former, green, m.topic)
      val onGreen = m.scene.seen
      m.awaitCommitted(green)
      query.stop()

      // The former cluster has lost its data.
      blue.deleteTopic(m.topic)
      m.copying(green, blue) { _ =>
        m.awaitCopied(blue, values("a", 20) ++ values("b", 6) ++ values("c", 8))
        m.awaitCheckpoints(blue, m.position)
      }
      m.scene.orders(m.on(blue))
      produce(blue, m.topic, 2, values("d", 4))
      m.scene.catchUp(m.options: _*)
      assertContinued(m, onGreen, blue, m.topic)
      assert(values("d", 4).forall(m.scene.seen.map(_.value).contains))
    }
  }

  test("a position that is translated exactly repeats nothing, while the query runs", TestAll) {
    mirrored { m =>
      val query = m.start()
      m.copying(blue, green) { _ =>
        m.awaitCopied(green, values("a", 20))
        m.awaitCheckpoints(green, m.position)
        // The first checkpoint may be of an earlier synchronization of offsets.
        eventually(assert(green.committedOffsets(m.id).get(m.topic).contains(green.endOffsets(m.topic))))
      }
      produce(green, m.topic, 2, values("b", 6))
      m.scene.change(m.on(green))
      eventually(assert(m.scene.seen.map(_.value).sorted == (values("a", 20) ++ values("b", 6)).sorted))
      settle(query)
      assert(m.scene.seen.size == 26)
    }
  }

  test("a driver that is killed in the batch before the replacement, and after it: nothing is lost", TestAll) {
    mirrored { m =>
      m.copying(blue, green) { _ =>
        m.awaitCheckpoints(green, m.position)
        produce(blue, m.topic, 2, values("b", 6))
        m.scene.catchUp(m.options: _*)
        m.awaitCopied(green, values("b", 6))
      }
      m.scene.uncommit()
      m.scene.orders(m.on(green))
      // A batch that was not completed may be another one on the new cluster.
      val former = m.scene.seen.take(20)
      val again = new Results(m.scene.checkpoint)
      def run() = {
        assert(again.start(m.scene.frame(m.options: _*), Trigger.AvailableNow()).awaitTermination(300000))
        assertContinued(former ++ again.seen, former, stored(m.id, green, m.topic))
      }
      run()
      assert(values("b", 6).forall(again.values.contains))
      again.uncommit()
      produce(green, m.topic, 2, values("c", 4))
      run()
      assert(again.repeated.nonEmpty && values("c", 4).forall(again.values.contains))
    }
  }

  test("topics that MirrorMaker renames: the metadata have the new name", TestAll) {
    mirrored { m =>
      val former = m.scene.seen
      val copy = s"${m.id}.${m.topic}"
      m.copying(blue, green, identity = false) { _ =>
        m.awaitCheckpoints(green, m.position, copy)
        produce(blue, m.topic, 2, values("b", 6))
        m.awaitCopied(green, values("b", 6), copy)
      }
      m.scene.orders(m.on(green, copy))
      val renamed = m.options.filterNot(_._1 == "mirrorMakerReplicationPolicy")
      m.scene.catchUp(renamed: _*)
      assertContinued(m, former, green, copy)
      assert(values("b", 6).forall(m.scene.seen.map(_.value).contains))
    }
  }

  test(
    "replaces in the metadata: a cluster with another id enters by the checkpoints, while the query runs",
    TestAll
  ) {
    mirrored { m =>
      val query = m.start()
      m.copying(blue, green) { _ =>
        m.awaitCheckpoints(green, m.position)
        produce(blue, m.topic, 2, values("b", 6))
        m.awaitCopied(green, values("b", 6))
        eventually(assert(m.scene.seen.size == 26))
        m.awaitCommitted(blue)
      }
      val former = m.scene.seen
      val standby = s"${m.id}-standby"
      m.scene.change(Entry(standby, green, m.topic).replacing(m.id))
      produce(green, m.topic, 2, values("c", 8))
      eventually(assert(values("c", 8).forall(m.scene.seen.map(_.value).contains)))
      settle(query)
      assertContinued(m.scene.seen, former, stored(standby, green, m.topic))
      assert(m.scene.logged.retained.contains(m.id))
    }
  }

  /** MirrorMaker copies everything, and has checkpoints of these commits of the group, the last of which is on blue. */
  private def committing(m: Mirrored, offsets: Map[Int, Long]*): Unit = m.copying(blue, green) { _ =>
    m.awaitCopied(green, values("a", 20))
    offsets.foreach { committed =>
      blue.commitOffsets(m.id, m.topic, committed)
      m.awaitCheckpoints(green, committed)
    }
  }

  test("a group that was committed behind the query: what follows its offset is read again", TestAll) {
    mirrored { m =>
      val former = m.scene.seen
      committing(m, Map(0 -> 9L, 1 -> 9L))
      m.scene.orders(m.on(green))
      val query = m.start()
      settle(query)
      assertContinued(m, former, green, m.topic)
      // By the offsets of the former cluster: 17 - 9, twice.
      assert(m.scene.metrics(query)("repeatedRecords") == "16")
      assert(m.scene.seen.size >= 20 + 16)
    }
  }

  test("a group that was committed ahead of the query: the checkpoint before it holds", TestAll) {
    mirrored { m =>
      val former = m.scene.seen
      val before = m.position
      m.copying(blue, green) { _ =>
        m.awaitCheckpoints(green, before)
        produce(blue, m.topic, 2, values("b", 6))
        m.awaitCopied(green, values("b", 6))
        blue.commitOffsets(m.id, m.topic, before.map { case (p, at) => p -> (at + 3) })
        m.awaitCheckpoints(green, before.map { case (p, at) => p -> (at + 3) })
      }
      m.scene.orders(m.on(green))
      m.scene.catchUp(m.options: _*)
      assertContinued(m, former, green, m.topic)
      assert(values("b", 6).forall(m.scene.seen.map(_.value).contains))
    }
  }

  test(
    "no checkpoint at or before the position: CLUSTER_REPLACED with the reason, and nothing changes",
    TestAll
  ) {
    mirrored { m =>
      val before = m.position
      def refusedBecause(reason: String) = {
        m.scene.orders(m.on(green))
        val logged = m.scene.loggedText
        val e = refused(m.scene.start(Trigger.AvailableNow(), m.options: _*))
        assert(condition(e) == "CLUSTER_REPLACED" && text(e).contains(reason), text(e))
        assert(m.scene.loggedText == logged)
      }
      // MirrorMaker was stopped before it wrote a checkpoint.
      green.createTopic(m.topic, 2)
      refusedBecause(s"no topic '${m.id}.checkpoints.internal'")
      m.copying(blue, green, groups = Seq("other"))(_ => m.awaitCopied(green, values("a", 20)))
      refusedBecause(s"no checkpoint of group '${m.id}'")

      // Back, the query continues; then the group is ahead of it.
      produce(blue, m.topic, 2, values("b", 6))
      m.scene.orders(m.on(blue))
      m.scene.catchUp(m.options: _*)
      assert(m.scene.seen.size == 26)
      produce(blue, m.topic, 2, values("c", 6))
      val ahead = before.map { case (p, at) => p -> (at + 6) }
      blue.commitOffsets(m.id, m.topic, ahead)
      m.copying(blue, green)(_ => m.awaitCheckpoints(green, ahead))
      refusedBecause("ahead of the query")
    }
  }

  test(
    "MirrorMaker is killed and restarted: what it has copied twice is repeated, and nothing is lost",
    TestAll
  ) {
    mirrored { m =>
      val former = m.scene.seen
      val query = m.start()
      m.copying(blue, green) { mirror: MirrorMaker =>
        m.awaitCheckpoints(green, m.position)
        produce(blue, m.topic, 2, values("b", 10))
        mirror.kill()
        produce(blue, m.topic, 2, values("c", 10))
        mirror.restart()
        m.awaitCopied(green, values("b", 10) ++ values("c", 10))
        eventually(assert(m.scene.seen.size == 40))
        m.awaitCheckpoints(green, m.position)
      }
      val onBlue = m.scene.seen
      assert(former.forall(onBlue.contains))
      m.scene.change(m.on(green))
      produce(green, m.topic, 2, values("d", 4))
      eventually(assert(values("d", 4).forall(m.scene.seen.map(_.value).contains)))
      settle(query)
      assertContinued(m, onBlue, green, m.topic)
    }
  }
}
