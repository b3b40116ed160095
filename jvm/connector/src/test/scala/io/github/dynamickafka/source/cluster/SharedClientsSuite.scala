package io.github.dynamickafka.source.cluster

import java.util.concurrent.{CountDownLatch, ExecutionException, TimeUnit}

import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.github.dynamickafka.config.Options
import io.github.dynamickafka.kafka.{ClusterClient, ClusterClients, ClusterRequests, Opening}
import io.github.dynamickafka.testkit.TimeLimit

class SharedClientsSuite extends AnyFunSuite with TimeLimit with Eventually {
  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(60, Seconds), interval = Span(5, Millis))

  private final class Clients(open: Map[String, String] => Opening[ClusterRequests]) {
    private val clients = new ClusterClients(open)
    def connect(properties: Map[String, String]): ClusterClient = clients.connect(properties, 60000L)
  }

  private def config(id: String, properties: (String, String)*) =
    ClusterConfigs(
      Options.parse(),
      Set(id)
    )(id, (("bootstrap.servers" -> "h:1") +: properties).toMap).properties.admin

  private val blue = config("blue")

  test("users with the same address and properties share a client, which closes with the last one") {
    val kafka = ScriptedCluster.led(1)
    val clients = new Clients(_ => kafka.opening())
    val users = Seq(clients.connect(blue), clients.connect(blue), clients.connect(config("same-kafka")))
    assert(kafka.opened.get == 1)
    users(0).close()
    users(0).close()
    users(1).close()
    assert(kafka.closed.get == 0, "a user that closes twice is still one user")
    users(2).close()
    eventually(assert(kafka.closed.get == 1))
    clients.connect(blue).close()
    eventually(assert(kafka.opened.get == 2 && kafka.closed.get == 2))
  }

  test("another address, and other credentials, are another client") {
    val kafka = ScriptedCluster.led(1)
    val clients = new Clients(_ => kafka.opening())
    val others = Seq(config("blue", "sasl.jaas.config" -> "x"), config("blue", "bootstrap.servers" -> "h:2"))
    (blue +: others).foreach(clients.connect)
    assert(kafka.opened.get == 3)
  }

  test("a client that gets no response is replaced for those who connect later, and others keep it") {
    val kafka = ScriptedCluster.led(1)
    val clients = new Clients(_ => kafka.opening())
    val (one, other) = (clients.connect(blue), clients.connect(blue))
    one.abandon()
    one.close()
    assert(kafka.closed.get == 0 && other.clusterId.isDone)
    val next = clients.connect(blue)
    assert(kafka.opened.get == 2)
    other.abandon()
    val third = clients.connect(blue)
    assert(kafka.opened.get == 2, "the newer client is not replaced because of the older one")
    Seq(other, next, third).foreach(_.close())
    eventually(assert(kafka.closed.get == 2))
  }

  test("a client that cannot be opened is opened again by the next user, and blocks no other cluster") {
    val kafka = ScriptedCluster.led(1)
    val (opening, go) = (new CountDownLatch(1), new CountDownLatch(1))
    @volatile var fails = true
    val clients = new Clients(properties =>
      Opening {
        if (properties.get("client.id").contains("slow")) {
          opening.countDown()
          go.await()
        } else if (fails) throw new IllegalStateException("no such host")
        kafka.requests()
      }(_.close())
    )
    val slow = clients.connect(config("slow", "client.id" -> "slow"))
    val waiting = slow.clusterId
    assert(opening.await(60, TimeUnit.SECONDS) && slow.opening.isBeingMade)
    val refused = clients.connect(blue)
    val e = intercept[ExecutionException](refused.clusterId.get(60, TimeUnit.SECONDS))
    assert(e.getCause.getMessage == "no such host" && refused.opening.isBroken)
    fails = false
    val next = clients.connect(blue)
    assert(next.clusterId.get(60, TimeUnit.SECONDS) == "kafka-id" && kafka.opened.get == 1)
    Seq(next, refused, slow).foreach(_.close())
    go.countDown()
    assert(waiting.get(60, TimeUnit.SECONDS) == "kafka-id")
    eventually(assert(kafka.closed.get == 2))
  }
}
