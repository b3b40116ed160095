package io.github.dynamickafka.sink.commit

import org.apache.kafka.common.errors.SaslAuthenticationException
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.base.ManualClock
import io.github.dynamickafka.testkit.TimeLimit

class ClustersSuite extends AnyFunSuite with TimeLimit {
  import CommitScene.properties

  private final class Scene(requestTimeoutMs: Long = 2000L) {
    val kafka = new ScriptedKafka(new ManualClock, 1L)
    val clusters = new Clusters(properties, requestTimeoutMs, commitTimeoutMs = 1234L, kafka.connect(_, _))
    clusters.set(Map("blue" -> properties("blue")))
  }

  private def decision(known: (String, Map[String, String])*) =
    JournalEntry(
      Claim("q", "r", "i", 1L, "l"),
      1L,
      0,
      BatchInput.Empty,
      Nil,
      known.map(k => k._1 -> JournalCluster(None, k._2)).toMap
    )

  test("clusters of a decision are added with their address, those in the metadata keep what it says") {
    val clusters = new Scene().clusters
    clusters.remember(decision(
      "old" -> Map("bootstrap.servers" -> "old:1"),
      "blue" -> Map("bootstrap.servers" -> "former:1")
    ))
    assert(clusters.ids == Seq("blue", "old"))
    assert(clusters.properties("old").bootstrapServers == "old:1")
    assert(clusters.properties("blue").bootstrapServers == "x:1")
  }

  test("the metadata replaces all clusters") {
    val clusters = new Scene().clusters
    clusters.set(Map("red" -> properties("red"), "green" -> properties("green")))
    assert(clusters.ids == Seq("green", "red"))
  }

  test("what may be stored: no secret, and no name of a client") {
    val clusters = new Scene().clusters
    clusters.set(Map("blue" -> properties(
      "blue",
      Map("client.id" -> "writer", "ssl.key.password" -> "a secret", "security.protocol" -> "SASL_SSL")
    )))
    val safe = clusters.safe("blue")
    assert(safe("bootstrap.servers") == "x:1" && safe("security.protocol") == "SASL_SSL")
    assert(!safe.contains("client.id") && !safe.contains("ssl.key.password"))
  }

  test("an admin client is reused until the properties of its cluster change") {
    val scene = new Scene()
    val first = scene.clusters.admin("blue")
    assert(scene.clusters.admin("blue") eq first)
    scene.clusters.set(Map("blue" -> properties("blue", Map("bootstrap.servers" -> "y:1"))))
    val second = scene.clusters.admin("blue")
    assert((second ne first) && (scene.clusters.admin("blue") eq second))
    assert(scene.kafka.requests == Seq("blue connect 2000", "blue close", "blue connect 2000"))
  }

  test("the admin client of a cluster that leaves the metadata is closed") {
    val scene = new Scene()
    scene.clusters.set(Map("blue" -> properties("blue"), "red" -> properties("red")))
    Seq("blue", "red").foreach(scene.clusters.admin)
    scene.clusters.set(Map("red" -> properties("red")))
    assert(scene.kafka.requests == Seq("blue connect 2000", "red connect 2000", "blue close"))
    scene.clusters.close()
    assert(scene.kafka.requests.count(_.endsWith("close")) == 2)
  }

  test("a cluster that does not respond or refuses the credentials has a problem, until it responds") {
    val scene = new Scene()
    def problem = scene.clusters.problem("blue", 100L).map(_.getMessage)
    assert(problem.isEmpty)
    scene.kafka.setDown("blue")
    assert(problem.exists(_.contains("does not respond")))
    assert(!scene.kafka.requests.contains("blue close"))
    scene.kafka.setDown()
    scene.kafka.setRefusing("blue")
    assert(problem.exists(_.contains("CLUSTER_AUTHENTICATION_FAILED")))
    // The next client reads the credentials again.
    assert(scene.kafka.requests.last == "blue close")
    scene.kafka.setRefusing()
    assert(problem.isEmpty)
  }

  test("credentials that were rotated: a client that was open is replaced once, which reads them again") {
    val scene = new Scene()
    assert(scene.clusters.ask("blue")(_.maxTimeoutMs()).isDefined)
    scene.kafka.rotateCredentials("blue")
    assert(scene.clusters.ask("blue")(_.maxTimeoutMs()).isDefined)
    def connects = scene.kafka.requests.count(_.contains("connect"))
    assert(connects == 2)
    scene.kafka.setRefusing("blue")
    Seq(3, 4).foreach { n =>
      intercept[SaslAuthenticationException](scene.clusters.ask("blue")(_.open(_ => true)))
      assert(connects == n && scene.kafka.requests.last == "blue close")
    }
  }

  test("a request takes as long as the option says, and at most 15 seconds") {
    assert(new Scene(14999L).clusters.ask("blue")(_.maxTimeoutMs()).contains(14999L))
    assert(new Scene(60000L).clusters.ask("blue")(_.maxTimeoutMs()).contains(15000L))
  }

  test("producers that only commit wait as long as a commit may take") {
    val settings = new Scene().clusters.committing("blue")
    assert(settings.cluster == "blue" && settings.bootstrapServers == "x:1")
    assert(settings.properties("max.block.ms") == "1234")
    assert(settings.properties("request.timeout.ms") == "1234")
    assert(settings.properties("transaction.timeout.ms") == "10000")
  }

  test("closing closes each admin client once") {
    val scene = new Scene()
    scene.clusters.admin("blue").open(_ => true)
    scene.clusters.close()
    scene.clusters.close()
    assert(scene.kafka.requests == Seq("blue connect 2000", "blue list", "blue close"))
  }
}
