package io.github.dynamickafka.admin

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.kafka.BrokerSocket

/** The order of the checks, and what the checks of several clusters mean together. */
class DoctorChecksSuite extends AnyFunSuite {

  test("behind a failed check of the connection, the others are skipped") {
    val found =
      Check.run("blue", name => if (name == "tcp") Finding.failed("no", "fix") else Finding.ok("yes"))
    assert(found.map(_.name) == Check.Names)
    assert(found.map(_.result.status) == Seq("ok", "failed") ++ Seq.fill(9)("skipped"))
    assert(found.drop(2).map(_.result.message).distinct == Seq("behind 'tcp'"))
    val later =
      Check.run("blue", name => if (name == "topics") Finding.failed("no", "fix") else Finding.ok("yes"))
    assert(later.count(_.result.status == "ok") == 10)
  }

  test("a second id of one Kafka cluster is a warning") {
    def ids(clusters: (String, String)*) = clusters.map { case (id, kafka) =>
      Check(id, "cluster_id", Finding.ok(kafka))
    }
    val found = Check.withDuplicates(ids("blue" -> "k1", "green" -> "k2", "b" -> "k1"))
    assert(found.map(_.result.status) == Seq("ok", "ok", "warning"))
    assert(found.last.result.message == "k1, as cluster blue: two ids of one Kafka cluster")
  }

  test("addresses") {
    assert(BrokerSocket.addresses("a:1, SSL://b:2,[::1]:3") == Some(Seq("a" -> 1, "b" -> 2, "::1" -> 3)))
    Seq("", "a", "a:", ":1", "a:x", "a:0", "a:70000", "a:1,b", "a:1 b:2").foreach(text =>
      assert(BrokerSocket.addresses(text).isEmpty, text)
    )
  }
}
