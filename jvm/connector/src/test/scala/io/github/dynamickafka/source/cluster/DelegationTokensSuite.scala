package io.github.dynamickafka.source.cluster

import java.util.Base64

import scala.concurrent.duration._

import org.apache.kafka.clients.admin.Admin
import org.apache.kafka.clients.consumer.KafkaConsumer
import org.apache.kafka.common.acl.AclOperation
import org.apache.kafka.common.errors.AuthenticationException
import org.apache.spark.kafka010.TestTokens
import org.scalatest.BeforeAndAfterAll

import io.github.dynamickafka.kafka.ConsumerSettings
import io.github.dynamickafka.source.{Entry, Queries}
import io.github.dynamickafka.testkit.{KafkaCluster, KafkaClusters, SecureCluster}

/** Tasks authenticate with the delegation tokens that Spark gives them. */
class DelegationTokensSuite extends Queries with BeforeAndAfterAll {
  // The user of the metadata may describe topics, and only the owner of the token may read them.
  private lazy val guarded: KafkaCluster = KafkaClusters.start(
    SecureCluster.scram("guarded", Map("planner" -> "pw-planner", "reader" -> "pw-reader"), acls = true)
  ).head

  override def beforeAll(): Unit = { val _ = guarded }
  override def afterAll(): Unit = guarded.stop()

  private def client(user: String) = guarded.scramClient(user, s"pw-$user")

  private lazy val settings = new ConsumerSettings("guarded", client("planner"))

  /** A new token of the reader, which the broker accepts: it learns of a token after the controller has created it. */
  private def setToken(): Unit = {
    val properties = new java.util.HashMap[String, AnyRef]
    client("reader").foreach { case (name, value) => properties.put(name, value) }
    val admin = Admin.create(properties)
    try {
      val token = admin.createDelegationToken().delegationToken().get()
      TestTokens.set(
        client("reader")("bootstrap.servers"),
        token.tokenInfo.tokenId,
        Base64.getEncoder.encodeToString(token.hmac)
      )
    } finally admin.close()
    eventually(timeout(1.minute)) {
      val consumer = new KafkaConsumer[Array[Byte], Array[Byte]](settings.withToken.forConsumer)
      try consumer.listTopics()
      catch { case e: AuthenticationException => fail(e) }
      finally consumer.close()
    }
  }

  test("a cluster is read with the token, also after it is replaced, beside a cluster without one") {
    scene { s =>
      val topic = newTopicOn(2, guarded, blue)
      guarded.addAcl("planner", topic, AclOperation.DESCRIBE)
      guarded.addAcl("reader", topic, AclOperation.READ)
      s.orders(Entry("guarded", client("planner"), Seq(topic)), Entry("blue", blue, topic))
      def write(from: Int): Unit = Seq(guarded, blue).foreach(c =>
        produce(c, topic, 2, (from until from + 10).map(n => s"${c.name}-$n"))
      )
      assert(settings.withToken == settings)
      write(0)
      setToken()
      try {
        val before = settings.withToken
        val query = s.start()
        settle(query)
        setToken()
        assert(
          settings.withToken != before && before != settings,
          "consumers of the former token are not used"
        )
        write(10)
        settle(query)
        assertSame(
          s.seen,
          Seq("guarded" -> guarded, "blue" -> blue).flatMap { case (id, c) => stored(id, c, topic) }
        )
      } finally TestTokens.unset()
    }
  }

  test("without a token for the cluster, the user of its properties reads it, who must not") {
    scene { s =>
      val topic = newTopicOn(1, guarded)
      guarded.addAcl("planner", topic, AclOperation.DESCRIBE)
      s.orders(Entry("guarded", client("planner"), Seq(topic)))
      produce(guarded, topic, 1, Seq("a"))
      val query = s.start()
      assert(condition(failure(query)) == "CLUSTER_AUTHORIZATION_FAILED")
    }
  }
}
