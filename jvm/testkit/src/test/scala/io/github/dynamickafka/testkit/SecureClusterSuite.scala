package io.github.dynamickafka.testkit

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.kafka.clients.admin.Admin
import org.apache.kafka.common.acl.AclOperation
import org.apache.kafka.common.errors.{
  SaslAuthenticationException,
  SslAuthenticationException,
  TopicAuthorizationException
}
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

class SecureClusterSuite extends AnyFunSuite with TimeLimit with OnBrokers with BeforeAndAfterAll
    with InTestAll {
  private var clusters: Seq[KafkaCluster] = Nil
  private def scram: KafkaCluster = clusters(0)
  private def tls: KafkaCluster = clusters(1)

  override def beforeAll(): Unit = clusters = KafkaClusters.together(
    () => KafkaClusters.start(SecureCluster.scram("scram", Map("reader" -> "first"), acls = true)).head,
    // Also with the oldest version.
    () => KafkaCluster.start("tls", BrokerVersions.all.last, security = Security.MutualTls(acls = true))
  )

  override def afterAll(): Unit = clusters.foreach(_.stop())

  test("the testkit is allowed everything") {
    clusters.foreach { cluster =>
      cluster.createTopic("own")
      cluster.produce("own", Seq(Record(0, None, "a")))
      assert(cluster.dump("own").map(_.value) === Seq("a"))
    }
  }

  test("passwords: only the correct one, and only the current one") {
    scram.createTopic("passwords")
    scram.addAcl("reader", "passwords", AclOperation.READ)
    assert(partitions(scram.scramClient("reader", "first"), "passwords") === 1)
    intercept[SaslAuthenticationException](partitions(scram.scramClient("reader", "wrong"), "passwords"))
    scram.alterPassword("reader", "second")
    assert(partitions(scram.scramClient("reader", "second"), "passwords") === 1)
    intercept[SaslAuthenticationException](partitions(scram.scramClient("reader", "first"), "passwords"))
    scram.alterPassword("reader", "first")
  }

  test("certificates: only of the cluster's own authority, and none that has expired") {
    tls.createTopic("certificates")
    tls.addAcl(KafkaCluster.TlsUser, "certificates", AclOperation.READ)
    assert(partitions(tls.tlsClient(), "certificates") === 1)
    intercept[SslAuthenticationException](partitions(tls.tlsClient(expired = true), "certificates"))
    val foreign = tls.tlsClient() ++ scram.scramClient("reader", "first").filter(_._1.startsWith("ssl.trust"))
    intercept[SslAuthenticationException](partitions(foreign, "certificates"))
  }

  test("permissions: none without an ACL, also after a restart") {
    scram.createTopic("rights")
    intercept[TopicAuthorizationException](partitions(scram.scramClient("reader", "first"), "rights"))
    scram.addAcl("reader", "rights", AclOperation.DESCRIBE)
    scram.kill()
    scram.restart()
    assert(partitions(scram.scramClient("reader", "first"), "rights") === 1)
  }

  test("an unsecured cluster has no client properties with credentials") {
    Using.resource(KafkaClusters.start(1).head) { open =>
      val error = intercept[IllegalStateException](open.tlsClient())
      assert(error.getMessage === "cluster-1 is open to all")
    }
  }

  private def partitions(client: Map[String, String], topic: String): Int =
    Using.resource(Admin.create((client: Map[String, AnyRef]).asJava)) { admin =>
      AdminClients.result(admin.describeTopics(Seq(topic).asJava).allTopicNames()).get(topic).partitions.size
    }
}
