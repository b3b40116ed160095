package io.github.dynamickafka.testkit

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.kafka.clients.admin.Admin
import org.apache.kafka.clients.producer.{KafkaProducer, ProducerRecord}
import org.apache.kafka.common.config.ConfigResource
import org.apache.kafka.common.serialization.StringSerializer
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.{BeforeAndAfterAll, BeforeAndAfterEach, Tag}

/** A cluster with three nodes, of which one fails after the other. Sessions of nodes expire in most tests, which takes time. */
class FailoverSuite extends FailoverTests(BrokerVersions.all.head)

class OldBrokersFailoverSuite extends FailoverTests(BrokerVersions.all.last, TestAll)

abstract class FailoverTests(version: String, chosen: Tag*)
    extends AnyFunSuite
    with TimeLimit
    with OnBrokers
    with BeforeAndAfterAll
    with BeforeAndAfterEach {
  private val all = Set(1, 2, 3)
  private lazy val cluster = KafkaCluster.start("three", version, nodes = 3, racks = Seq("a", "b", "c"))

  override def beforeAll(): Unit = assert(cluster.isAlive)

  override def afterAll(): Unit = cluster.stop()

  /** A test that failed must not fail the next one. */
  override def afterEach(): Unit = {
    cluster.nodes.filter(_.isFrozen).foreach(_.thaw())
    cluster.nodes.filterNot(_.isAlive).foreach(_.restart())
  }

  test("every node has a rack, and a replica of each partition by default", chosen: _*) {
    assert(cluster.nodes.map(n => (n.id, n.rack)) === Seq((1, Some("a")), (2, Some("b")), (3, Some("c"))))
    assert(cluster.bootstrapServers === cluster.nodes.map(n => s"127.0.0.1:${n.listenerPort}").mkString(","))
    cluster.createTopic("replicated", partitions = 3)
    (0 to 2).foreach(p => assert(cluster.inSync("replicated", p) === all))
    assert(configured("replicated")("min.insync.replicas") === "2")
    cluster.createTopic("chosen", partitions = 2, replicas = Seq(3, 1))
    (0 to 1).foreach(p => assert(cluster.inSync("chosen", p) === Set(1, 3)))
    (0 to 1).foreach(p => assert(cluster.leader("chosen", p).exists(Set(1, 3))))
    assertThrows[IllegalArgumentException](cluster.createTopic("impossible", replicas = Seq(4)))
  }

  test("internal topics have one partition and a replica on every node", TestAll) {
    cluster.createTopic("internal")
    cluster.commitOffsets("readers", "internal", Map(0 -> 7L))
    Using.resource(transactional("internal")) { producer =>
      producer.initTransactions()
      producer.beginTransaction()
      producer.send(new ProducerRecord("internal", "committed")).get()
      producer.commitTransaction()
    }
    Seq("__consumer_offsets", "__transaction_state").foreach { topic =>
      assert(cluster.endOffsets(topic).keySet === Set(0))
      Poll.until(s"replicas of $topic")(cluster.inSync(topic, 0) == all)
      assert(configured(topic)("min.insync.replicas") === "2")
    }
    assert(cluster.dump("internal", committedOnly = true).map(_.value) === Seq("committed"))
  }

  test("after the kill of a leader another node leads, with all records", TestAll) {
    leaderFails("killed", _.kill(), _.restart())
  }

  test("while a leader is frozen another node leads, and no record is duplicated", TestAll) {
    leaderFails("frozen", _.freeze(), _.thaw())
  }

  /** Produces before and after the leader of a new topic fails, and expects each record once when it is back. */
  private def leaderFails(topic: String, fail: KafkaNode => Unit, recover: KafkaNode => Unit): Unit = {
    cluster.createTopic(topic)
    produce(topic, "before")
    val leader = leaderOf(topic)
    fail(leader)
    assert(cluster.isAlive)
    produce(topic, "meanwhile")
    assert(leaderOf(topic) !== leader)
    assert(cluster.inSync(topic, 0) === all - leader.id)
    recover(leader)
    assert(cluster.inSync(topic, 0) === all)
    assert(values(topic) === Seq("before", "meanwhile"))
    ()
  }

  test("after the kill of the active controller another one creates topics", TestAll) {
    cluster.createTopic("former")
    val controller = cluster.controller()
    cluster.node(controller).kill()
    assert(cluster.controller() !== controller)
    cluster.createTopic("meanwhile")
    produce("meanwhile", "a record")
    cluster.deleteTopic("former")
    cluster.node(controller).restart()
    assert(cluster.topics().contains("meanwhile") && !cluster.topics().contains("former"))
    assert(cluster.inSync("meanwhile", 0) === all)
  }

  test("after the kill of a coordinator the offsets of its groups are known", TestAll) {
    cluster.createTopic("consumed")
    cluster.commitOffsets("members", "consumed", Map(0 -> 7L))
    val coordinator = leaderOf("__consumer_offsets")
    coordinator.kill()
    assert(cluster.committedOffsets("members") === Map("consumed" -> Map(0 -> 7L)))
    cluster.commitOffsets("members", "consumed", Map(0 -> 8L))
    coordinator.restart()
    assert(cluster.committedOffsets("members") === Map("consumed" -> Map(0 -> 8L)))
  }

  test("the nodes are restarted one after the other", TestAll) {
    cluster.createTopic("rolling", partitions = 3)
    cluster.nodes.foreach { node =>
      val pid = node.pid
      node.restart()
      assert(node.pid !== pid)
      (0 to 2).foreach(p => assert(cluster.inSync("rolling", p) === all))
      produce("rolling", node.toString)
    }
    assert(values("rolling") === cluster.nodes.map(_.toString))
  }

  test("a partition has no leader while its only replica is down, and other nodes serve", TestAll) {
    cluster.createTopic("only", configs = Map("min.insync.replicas" -> "1"), replicas = Seq(2))
    produce("only", "before")
    cluster.node(2).kill()
    Poll.until("no leader")(cluster.leader("only", 0).isEmpty)
    // The remaining node is no majority.
    cluster.node(1).kill()
    assert(intercept[IllegalStateException](cluster.topics()).getMessage === "three is down")
    cluster.node(1).restart()
    assert(cluster.leader("only", 0) === None)
    cluster.createTopic("others", replicas = Seq(1, 3))
    produce("others", "a record")
    cluster.node(2).restart()
    assert(cluster.leader("only", 0) === Some(2))
    assert(values("only") === Seq("before"))
  }

  test("an unclean election loses records, and without it a partition waits for its leader", TestAll) {
    val one = Map("min.insync.replicas" -> "1")
    cluster.createTopic(
      "unclean",
      configs = one + ("unclean.leader.election.enable" -> "true"),
      replicas = Seq(1, 2)
    )
    cluster.createTopic("clean", configs = one, replicas = Seq(1, 2))
    val topics = Seq("unclean", "clean")
    topics.foreach(produce(_, "replicated"))
    cluster.node(2).kill()
    topics.foreach(topic => Poll.until(s"$topic has one replica")(cluster.inSync(topic, 0) == Set(1)))
    topics.foreach(produce(_, "on one node"))

    cluster.node(1).kill()
    cluster.node(2).restart()
    Poll.until("an unclean election")(cluster.leader("unclean", 0).contains(2))
    Poll.until("no clean election")(cluster.leader("clean", 0).isEmpty)
    assert(values("unclean") === Seq("replicated"))
    assert(cluster.produce("unclean", Seq(Record(0, None, "in its place"))) === Seq(0 -> 1L))

    cluster.node(1).restart()
    topics.foreach(topic => assert(cluster.inSync(topic, 0) === Set(1, 2)))
    assert(values("unclean") === Seq("replicated", "in its place"))
    assert(values("clean") === Seq("replicated", "on one node"))
  }

  test("all nodes are killed and restart, and move with their data", TestAll) {
    cluster.createTopic("kept")
    produce("kept", "before")
    cluster.kill()
    assert(!cluster.isAlive)
    assert(intercept[IllegalStateException](cluster.topics()).getMessage === "three is down")
    // One node alone waits for another one.
    cluster.node(1).restart()
    assert(intercept[IllegalStateException](cluster.topics()).getMessage === "three is down")
    cluster.node(2).restart()
    assert(cluster.topics().contains("kept"))
    // A node that was killed is not in sync until it has met the one that was killed last (KIP-966).
    cluster.node(3).restart()
    assert(values("kept") === Seq("before"))
    cluster.node(3).kill()
    cluster.node(1).freeze()
    assert(intercept[IllegalStateException](cluster.topics()).getMessage === "three is frozen")
    val address = cluster.bootstrapServers
    cluster.restartOnNewPort()
    assert(cluster.bootstrapServers !== address)
    assert(cluster.inSync("kept", 0) === all)
    assert(values("kept") === Seq("before"))
  }

  private def leaderOf(topic: String): KafkaNode =
    cluster.node(cluster.leader(topic, 0).getOrElse(fail(s"$topic has no leader")))

  private def produce(topic: String, value: String): Unit =
    cluster.produce(topic, Seq(Record(0, None, value)))

  private def values(topic: String): Seq[String] = cluster.dump(topic).map(_.value)

  private def transactional(id: String): KafkaProducer[String, String] = {
    val properties = Map[String, AnyRef](
      "bootstrap.servers" -> cluster.bootstrapServers,
      "transactional.id" -> id
    )
    new KafkaProducer(properties.asJava, new StringSerializer, new StringSerializer)
  }

  /** The configuration of a topic. */
  private def configured(topic: String): Map[String, String] = {
    val properties = Map[String, AnyRef]("bootstrap.servers" -> cluster.bootstrapServers)
    Using.resource(Admin.create(properties.asJava)) { admin =>
      val resource = new ConfigResource(ConfigResource.Type.TOPIC, topic)
      val found = admin.describeConfigs(java.util.List.of(resource)).all().get().get(resource)
      found.entries.asScala.map(entry => entry.name -> entry.value).toMap
    }
  }
}
