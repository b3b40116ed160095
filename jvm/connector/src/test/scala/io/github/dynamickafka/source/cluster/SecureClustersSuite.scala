package io.github.dynamickafka.source.cluster

import java.io.{PrintWriter, StringWriter}
import java.nio.file.Files

import org.apache.kafka.common.acl.AclOperation
import org.apache.spark.sql.streaming.Trigger
import org.scalatest.BeforeAndAfterAll

import io.github.dynamickafka.source.{Entry, Logs, Queries}
import io.github.dynamickafka.testkit.{KafkaCluster, KafkaClusters, SecureCluster, TestAll}

/** Clusters with different authentication and permissions. */
class SecureClustersSuite extends Queries with BeforeAndAfterAll {

  private lazy val clusters = KafkaClusters.start(
    SecureCluster.scram("scram", Map("reader" -> First)),
    SecureCluster.mutualTls("tls"),
    SecureCluster.scram("guarded", Map("auditor" -> Auditors), acls = true)
  )
  private def scram: KafkaCluster = clusters(0)
  private def tls: KafkaCluster = clusters(1)
  private def guarded: KafkaCluster = clusters(2)

  override def beforeAll(): Unit = { val _ = clusters }
  override def afterAll(): Unit = clusters.foreach(_.stop())

  private val First = "pw-reader-first"
  private val Second = "pw-reader-second"
  private val Wrong = "pw-wrong"
  private val Auditors = "pw-auditors"
  private val skip = "clusterFailurePolicy" -> "skip"

  private def entry(id: String, client: Map[String, String], topic: String) = Entry(id, client, Seq(topic))
  private def reader(password: String, topic: String) =
    entry("scram", scram.scramClient("reader", password), topic)
  private def asOptions(id: String, client: Map[String, String]) =
    client.map { case (k, v) => s"cluster.$id.kafka.$k" -> v }.toSeq
  private def auditor(topic: String) = entry("guarded", guarded.scramClient("auditor", Auditors), topic)
  private def certified(topic: String) = entry("tls", tls.tlsClient(), topic)

  test("three clusters, three kinds of credentials, three places to set them: one exact stream") {
    scene { s =>
      val topic = newTopicOn(2, clusters: _*)
      guarded.addAcl("auditor", topic, AclOperation.READ)
      val file = Files.writeString(s.folder.resolve("secrets.properties"), s"password=$Auditors\n")
      val byReference = guarded.scramClient("auditor", s"$${file:$file:password}")
      val byOption = asOptions("tls", tls.tlsClient())
      s.orders(reader(First, topic), Entry("tls", tls, topic), entry("guarded", byReference, topic))
      clusters.foreach(c => produce(c, topic, 2, values(s"${c.name}-a", 6)))
      // No permission on the group is granted, and none is needed.
      val query = s.start(byOption :+ "kafka.group.id" -> "of-the-user": _*)
      settle(query)
      clusters.foreach(c => produce(c, topic, 2, values(s"${c.name}-b", 6)))
      settle(query)
      assertSame(s.seen, clusters.flatMap(c => stored(c.name, c, topic)))
      assert(s.batch(byOption: _*).count() == 36L)
    }
  }

  test("a password is rotated in the metadata while the query runs: no record is lost or duplicated") {
    scene { s =>
      val topic = newTopicOn(2, scram, tls)
      def publish(round: String) =
        Seq(scram, tls).foreach(c => produce(c, topic, 2, values(round + c.name, 4)))
      s.orders(reader(First, topic), certified(topic))
      publish("a")
      val query = s.start("kafka.group.id" -> "of-the-user")
      settle(query)
      scram.alterPassword("reader", Second)
      try {
        publish("b")
        // With another client id, so that it does not share the client of the query, which is authenticated.
        val other = s.batch("clientIdPrefix" -> "after-the-rotation")
        assert(
          condition(refused(other.count())) == "CLUSTER_AUTHENTICATION_FAILED",
          "the old password is invalid"
        )
        s.change(reader(Second, topic), certified(topic))
        publish("c")
        settle(query)
        // Authenticated connections stay open; after a restart of the broker all are new.
        scram.kill()
        scram.restart()
        publish("d")
        settle(query)
        query.stop()
        s.uncommit()
        publish("e")
        s.catchUp("kafka.group.id" -> "of-the-user")
        assertSame(s.seen, stored("scram", scram, topic) ++ stored("tls", tls, topic))
      } finally scram.alterPassword("reader", First)
    }
  }

  test("a logged batch of a removed cluster is read again with credentials from options") {
    scene { s =>
      val topic = newTopicOn(1, scram, tls)
      Seq(scram, tls).foreach(c => produce(c, topic, 1, values(c.name, 3)))
      s.orders(reader(First, topic), certified(topic))
      s.catchUp()
      s.uncommit()
      s.orders(certified(topic))
      // The checkpoint contains the address and no secret.
      val e = refused(s.start(Trigger.AvailableNow()))
      assert(condition(e) == "UNREACHABLE_REPLAY" && text(e).contains("'cluster.scram.kafka.'"), text(e))
      s.catchUp(asOptions("scram", scram.scramClient("reader", First)): _*)
      assert(s.repeated.nonEmpty)
      assertSame(s.seen, stored("scram", scram, topic) ++ stored("tls", tls, topic))
      assert(!s.files.values.exists(_.contains(First)))
    }
  }

  test("a wrong password fails the query at once, and the error says where to correct it") {
    val topic = newTopicOn(1, scram)
    refusedAtOnce("CLUSTER_AUTHENTICATION_FAILED", reader(Wrong, topic))(
      "'scram'",
      scram.bootstrapServers,
      "invalid credentials",
      "'cluster.scram.kafka.'"
    )
  }

  test("an expired certificate fails the query at once, and the error says what to check") {
    val expired = entry("tls", tls.tlsClient(expired = true), newTopicOn(1, tls))
    refusedAtOnce("CLUSTER_AUTHENTICATION_FAILED", expired)("'tls'", "expired", "'cluster.tls.kafka.'")
  }

  test("a key store that cannot be opened, and a trust store of another authority") {
    val topic = newTopicOn(1, tls)
    val locked = certified(topic).and("ssl.keystore.password", Wrong)
    refusedAtOnce("CLUSTER_AUTHENTICATION_FAILED", locked)("'tls'", "password was incorrect")
    val foreign = scram.scramClient("reader", First).filter(_._1.startsWith("ssl.truststore"))
    val stranger = entry("tls", tls.tlsClient() ++ foreign, topic)
    refusedAtOnce("CLUSTER_AUTHENTICATION_FAILED", stranger)("'tls'", "PKIX")
  }

  test("a client without TLS gets no response: the cluster counts as unreachable") {
    scene { s =>
      s.orders(Entry("tls", tls, newTopicOn(1, tls)))
      val e = refused(s.start(Trigger.AvailableNow(), "clusterRequestTimeoutMs" -> "1500"))
      assert(condition(e) == "CLUSTER_UNREACHABLE" && text(e).contains("'security.protocol'"), text(e))
    }
  }

  test("a missing ACL fails the query at once, and the error names the topic") {
    val topic = newTopicOn(1, guarded)
    refusedAtOnce("CLUSTER_AUTHORIZATION_FAILED", auditor(topic))("'guarded'", s"topic '$topic'", "ACL")
  }

  test("DESCRIBE without READ: the task fails with the topic, and reads that batch once READ is granted") {
    scene { s =>
      val topic = newTopicOn(1, guarded)
      produce(guarded, topic, 1, values("a", 3))
      guarded.addAcl("auditor", topic, AclOperation.DESCRIBE)
      s.orders(auditor(topic))
      val e = refused(s.start(Trigger.AvailableNow()))
      assert(condition(e) == "CLUSTER_AUTHORIZATION_FAILED" && text(e).contains("'guarded'"), text(e))
      assert(text(e).contains(topic), text(e))
      guarded.addAcl("auditor", topic, AclOperation.READ)
      s.catchUp()
      assertSame(s.seen, stored("guarded", guarded, topic))
    }
  }

  test("startingOffsets=committed fails without an ACL on the group") {
    val topic = newTopicOn(1, guarded)
    guarded.addAcl("auditor", topic, AclOperation.READ)
    val committed = Seq("startingOffsets" -> "committed", "commitGroupId" -> s"group-$topic")
    refusedAtOnce("CLUSTER_AUTHORIZATION_FAILED", auditor(topic), committed: _*)("'guarded'", s"group-$topic")
  }

  test(
    "commits without permission on the group: counted and logged, the query continues; accepted with READ"
  ) {
    scene { s =>
      val topic = newTopicOn(1, guarded)
      val group = s"group-$topic"
      guarded.addAcl("auditor", topic, AclOperation.READ)
      s.orders(auditor(topic))
      produce(guarded, topic, 1, values("a", 2))
      val lines = Logs.during(classOf[CommitCounter]) {
        val query = s.start("commitOffsets" -> "true", "commitGroupId" -> group)
        eventually {
          produce(guarded, topic, 1, values("b", 1))
          settle(query)
          assert(s.metrics(query)("commitsFailed").toLong >= 2L)
        }
        assert(query.isActive && guarded.committedOffsets(group).isEmpty)
        guarded.addGroupAcl("auditor", group, AclOperation.READ)
        eventually {
          produce(guarded, topic, 1, values("c", 1))
          settle(query)
          assert(guarded.committedOffsets(group).get(topic).contains(guarded.endOffsets(topic)))
        }
        assertSame(s.seen, stored("guarded", guarded, topic))
      }
      // One line, however often it failed.
      assert(lines.size == 2, lines)
      assert(
        Seq("'guarded'", s"not authorized to access group '$group'").forall(lines.head.contains),
        lines.head
      )
      assert(lines.last.contains("again") && !lines.exists(_.contains(Auditors)))
    }
  }

  test(
    "kafka.group.id: committed offsets need permission on the group, reading under a suffix needs none",
    TestAll
  ) {
    scene { s =>
      val topic = newTopicOn(2, guarded, tls)
      Seq(tls, guarded).foreach(c => produce(c, topic, 2, values(c.name, 8)))
      guarded.addAcl("auditor", topic, AclOperation.READ)
      guarded.addGroupAcl("auditor", s"group-$topic", AclOperation.DESCRIBE)
      Seq(tls, guarded).foreach(_.commitOffsets(s"group-$topic", topic, Map(0 -> 1L, 1 -> 3L)))
      s.orders(certified(topic), auditor(topic))
      s.catchUp(
        "startingOffsets" -> "committed",
        "kafka.group.id" -> s"group-$topic",
        "groupIdPrefix" -> "other"
      )
      assertSame(
        s.seen,
        (stored("tls", tls, topic) ++ stored("guarded", guarded, topic))
          .filter(r => r.offset >= (if (r.partition == 0) 1 else 3))
      )
    }
  }

  test(
    "skip: a cluster that refuses the query is unreachable until it accepts it, and loses no record",
    TestAll
  ) {
    scene { s =>
      val topic = newTopicOn(2, tls, guarded)
      Seq(tls, guarded).foreach(c => produce(c, topic, 2, values(c.name, 4)))
      s.orders(certified(topic), auditor(topic))
      val query = s.start(skip)
      eventually(assert(s.seen.size == 4))
      // It answers, but refuses what matters: that must not count as reachable.
      val before = query.recentProgress.length
      (0 until 5).foreach { i =>
        produce(tls, topic, 2, values(s"more$i", 2))
        settle(query)
      }
      val counted = query.recentProgress.drop(before).map(_.sources.head.metrics.get("unreachableClusters"))
      assert(counted.toSet == Set("1"))
      guarded.addAcl("auditor", topic, AclOperation.READ)
      eventually(assert(s.seen.size == 18))
      settle(query)
      assertSame(s.seen, stored("tls", tls, topic) ++ stored("guarded", guarded, topic))
      eventually(assert(s.metrics(query)("unreachableClusters") == "0"))
    }
  }

  test("skip: a cluster that rejects the password is read as soon as the password is valid", TestAll) {
    scene { s =>
      val topic = newTopicOn(1, scram, tls)
      Seq(scram, tls).foreach(c => produce(c, topic, 1, values(c.name, 3)))
      s.orders(reader(Second, topic), certified(topic))
      val query = s.start(skip)
      eventually(assert(s.seen.map(_.cluster) == Seq.fill(3)("tls")))
      scram.alterPassword("reader", Second)
      try {
        eventually(assert(s.seen.size == 6))
        settle(query)
        assertSame(s.seen, stored("scram", scram, topic) ++ stored("tls", tls, topic))
      } finally scram.alterPassword("reader", First)
    }
  }

  test(
    "skip: after clusterFailureTimeoutMs a refusal fails the query with the condition of the refusal",
    TestAll
  ) {
    scene { s =>
      val topic = newTopicOn(1, tls, guarded)
      s.orders(certified(topic), auditor(topic))
      val e = failure(s.start(skip, "clusterFailureTimeoutMs" -> "10000"))
      assert(condition(e) == "CLUSTER_AUTHORIZATION_FAILED" && text(e).contains(s"topic '$topic'"), text(e))
    }
  }

  /** Fails well before `clusterRequestTimeoutMs`, and no text contains a secret. */
  private def refusedAtOnce(expected: String, entry: Entry, options: (String, String)*)(says: String*): Unit =
    scene { s =>
      s.orders(entry)
      val from = System.nanoTime()
      val e = refused(s.start(Trigger.AvailableNow(), options: _*))
      val seconds = (System.nanoTime() - from) / 1000000000L
      assert(seconds < 30, "the default limit is a minute")
      assert(condition(e) == expected, text(e))
      says.foreach(part => assert(text(e).contains(part), text(e)))
      val out = new StringWriter
      e.asInstanceOf[Throwable].printStackTrace(new PrintWriter(out))
      val secrets = entry.properties.collect { case (k, v) if k.endsWith("password") => v }
      (Seq(First, Wrong, Auditors) ++ secrets).foreach(secret => assert(!out.toString.contains(secret)))
    }
}
