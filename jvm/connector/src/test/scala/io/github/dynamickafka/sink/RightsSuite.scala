package io.github.dynamickafka.sink

import org.apache.kafka.common.acl.AclOperation
import org.scalatest.BeforeAndAfterAll

import io.github.dynamickafka.source.{Entry, Queries}
import io.github.dynamickafka.testkit.{KafkaCluster, KafkaClusters, SecureCluster, TestAll}

/** The permissions that a user needs for writing, on a cluster that grants none by default. */
class RightsSuite extends Queries with BeforeAndAfterAll {
  private val Password = "pw-of-the-writer"

  private lazy val guarded: KafkaCluster =
    KafkaClusters.start(SecureCluster.scram(
      "guarded",
      Map("writer" -> Password, "idler" -> Password),
      acls = true
    )).head

  override def afterAll(): Unit = guarded.stop()

  private def as(user: String, topic: String) =
    Entry("guarded", guarded.scramClient(user, Password), Seq(topic))

  test("without transactions, WRITE on the topic is sufficient", TestAll) {
    target { t =>
      val topic = newTopicOn(2, guarded)
      t.out(as("idler", topic))
      val refusal = refused(t.save(rows(0, 1), "kafka.max.block.ms" -> "20000"))
      assert(condition(refusal) == "WRITE_FAILED")
      assert(text(refusal).contains("'guarded'") && text(refusal).contains("Authorization"))
      guarded.addAcl("idler", topic, AclOperation.WRITE)
      t.save(rows(0, 10))
      assert(values(guarded, topic) == (0 until 10).map(_.toString).sorted)
    }
  }

  test("exactly-once also needs WRITE on the transactional ids of its prefix, and nothing on the cluster") {
    target { t =>
      val topic = newTopicOn(2, guarded)
      guarded.addAcl("writer", topic, AclOperation.WRITE)
      t.out(as("writer", topic))
      val once = Seq("deliveryGuarantee" -> "exactly-once", "kafka.max.block.ms" -> "20000")
      val refusal = refused(t.save(rows(0, 1), once: _*))
      assert(condition(refusal) == "WRITE_FAILED" && text(refusal).contains("TransactionalIdAuthorization"))
      guarded.addTransactionalIdAcl("writer", "dynamic-kafka", AclOperation.WRITE)
      t.save(rows(0, 10), once: _*)
      assert(values(guarded, topic) == (0 until 10).map(_.toString).sorted)
      // A query also looks for transactions that earlier runs left open.
      scene { s =>
        val from = newTopicOn(1, blue)
        s.orders(Entry("blue", blue, from))
        Seq("a", "b").foreach { value =>
          produce(blue, from, 1, Seq(value))
          t.catchUp(s.frame().select("key", "value"), once: _*)
        }
        assert(values(guarded, topic) == ((0 until 10).map(_.toString) ++ Seq("a", "b")).sorted)
      }
      val others = refused(t.save(rows(0, 1), once :+ ("transactionalIdPrefix" -> "other"): _*))
      assert(condition(others) == "WRITE_FAILED" && text(others).contains("TransactionalIdAuthorization"))
    }
  }
}
