package io.github.dynamickafka.admin

import java.nio.file.Files

import io.github.dynamickafka.source.{Entry, Queries}
import io.github.dynamickafka.testkit.{KafkaClusters, SecureCluster}

/** `doctor`, on brokers that are healthy, absent, or secured. */
class DoctorProcedureSuite extends Queries {

  /** By cluster and check: status, message and remedy. */
  private def diagnosed(entries: Entry*): Map[(String, String), (String, String, String)] = target { t =>
    t.streams("orders" -> entries)
    val call = s"CALL ${catalog(t.options("clusterRequestTimeoutMs" -> "8000"))}.system.doctor()"
    val found = spark.sql(call)
    assert(
      found.schema.toDDL == "cluster STRING,check STRING,status STRING,message STRING,remedy STRING"
    )
    val all = found.collect().toSeq.map(_.toSeq.map(value => Option(value).fold("")(_.toString)))
    assert(all.groupBy(_.head).values.forall(_.map(_(1)) == Check.Names))
    all.map(row => (row(0), row(1)) -> ((row(2), row(3), row(4)))).toMap
  }

  test("each fault has a name, a cause and a remedy") {
    val topic = newTopicOn(1, blue, green)
    val found = diagnosed(
      Entry("blue", blue, topic),
      Entry("green", green, topic, "absent").and("transaction.timeout.ms", "86400000"),
      Entry.at("gone", "127.0.0.1:1", topic),
      Entry.at("unknown", "no.such.host.invalid:9092", topic),
      Entry("tls", blue, topic).and("security.protocol", "SSL")
    )
    def status(id: String, check: String) = found(id -> check)._1
    Check.Names.filter(_ != "transactional_ids").foreach(check =>
      assert(status("blue", check) == "ok", found("blue" -> check))
    )
    assert(status("blue", "transactional_ids") == "skipped")
    assert(found("green" -> "topics")._2 == "topic absent does not exist" && status(
      "green",
      "topics"
    ) == "failed")
    assert(found("green" -> "transaction_timeout")._3.startsWith("lower transaction.timeout.ms"))
    assert(status("gone", "dns") == "ok" && status("gone", "tcp") == "failed" && status(
      "gone",
      "login"
    ) == "skipped")
    assert(found("gone" -> "tcp")._2.contains("127.0.0.1:1 (") && found("gone" -> "tcp")._3.nonEmpty)
    assert(found("unknown" -> "dns")._2 == "no address for no.such.host.invalid" && status(
      "unknown",
      "dns"
    ) == "failed")
    assert(status("tls", "tls") == "failed" && status("tls", "versions") == "skipped")
  }

  test(
    "a checkpoint: other clusters than those that the query has read, by its policy, and migrated positions"
  ) {
    val topic = newTopicOn(1, blue, green)
    produce(blue, topic, 1, Seq("a"))
    scene { s =>
      s.orders(Entry("blue", blue, topic))
      s.catchUp()
      def check(name: String, id: String = "blue"): (String, String) = {
        val call = s"CALL ${catalog(s.options())}.system.doctor(checkpoint => '${s.checkpoint}')"
        val Seq(found) = rows(call).filter(row => row.take(2) == Seq(id, name))
        found(2).toString -> found(3).toString
      }
      val (ok, own) = check("cluster_id")
      assert(ok == "ok" && own.endsWith(", as in the checkpoint"))
      s.orders(Entry("blue", green, topic))
      val (failed, other) = check("cluster_id")
      assert(failed == "failed" && other.endsWith(s"but the checkpoint has read ${own.takeWhile(_ != ',')}"))
      s.orders(Entry("blue", blue, topic))
      val home = s.checkpoint.resolve("sources/0/dynamic-kafka")
      Files.move(home, home.resolveSibling("away"))
      s.rewriteLogged(_ => s"""{"version":2,"clusters":{"bleu":{"$topic":{"0":1}}}}""")
      assert(check("cluster_id", "bleu")._2.endsWith("MIGRATION_MISMATCH. Did you mean 'blue'?"))
      s.rewriteLogged(_ => """{"version":2,"clusters":{"blue":{"other":{"0":1}}}}""")
      assert(check("cluster_id")._1 == "warning")
      assert(check("topics")._2 == "no stream has other of the migrated checkpoint: MIGRATION_MISMATCH")
    }
  }

  test("a cluster with a log-in: passwords and rights") {
    val Seq(guarded) =
      KafkaClusters.start(SecureCluster.scram("guarded", Map("reader" -> "pw-reader"), acls = true))
    try {
      guarded.createTopic("secret-orders", 1)
      def entry(id: String, password: String) =
        new Entry(id, guarded.scramClient("reader", password), Seq("secret-orders"))
      val (right, wrong) = ("pw-reader", "pw-wrong")
      val found = diagnosed(entry("right", right), entry("wrong", wrong))
      assert(found("right" -> "login")._1 == "ok" && found("right" -> "topics")._1 == "failed")
      assert(found("right" -> "topics")._2 == "topic secret-orders: no right to Describe")
      assert(found("wrong" -> "login")._1 == "failed" && found(
        "wrong" -> "login"
      )._2.startsWith("the credentials are refused"))
      assert(!found.toString.contains("pw-"))
    } finally guarded.close()
  }
}
