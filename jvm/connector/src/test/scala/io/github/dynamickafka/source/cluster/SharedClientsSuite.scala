package io.github.dynamickafka.source.cluster

import java.util.concurrent.{CountDownLatch, TimeUnit}

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.Options
import io.github.dynamickafka.testkit.TimeLimit

class SharedClientsSuite extends AnyFunSuite with TimeLimit {

  private def config(id: String, properties: (String, String)*) =
    ClusterConfigs(
      Options.parse(),
      Set(id)
    )(id, (("bootstrap.servers" -> "h:1") +: properties).toMap).properties.admin

  private val blue = config("blue")

  test("users with the same address and properties share a client, which closes with the last one") {
    val kafka = ScriptedCluster.led(1)
    val clients = new SharedClients(_ => kafka.connect())
    val users = Seq(clients.connect(blue), clients.connect(blue), clients.connect(config("same-kafka")))
    assert(kafka.opened.get == 1)
    users(0).close()
    users(0).close()
    users(1).close()
    assert(kafka.closed.get == 0, "a user that closes twice is still one user")
    users(2).close()
    assert(kafka.closed.get == 1)
    clients.connect(blue).close()
    assert(kafka.opened.get == 2 && kafka.closed.get == 2)
  }

  test("another address, and other credentials, are another client") {
    val kafka = ScriptedCluster.led(1)
    val clients = new SharedClients(_ => kafka.connect())
    val others = Seq(config("blue", "sasl.jaas.config" -> "x"), config("blue", "bootstrap.servers" -> "h:2"))
    (blue +: others).foreach(clients.connect)
    assert(kafka.opened.get == 3)
  }

  test("a client that gets no response is replaced for those who connect later, and others keep it") {
    val kafka = ScriptedCluster.led(1)
    val clients = new SharedClients(_ => kafka.connect())
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
    assert(kafka.closed.get == 2)
  }

  test("a client that cannot be opened is opened again by the next user, and blocks no other cluster") {
    val kafka = ScriptedCluster.led(1)
    val (opening, go) = (new CountDownLatch(1), new CountDownLatch(1))
    @volatile var fails = true
    val clients = new SharedClients(properties =>
      if (properties.get("client.id").contains("slow")) {
        opening.countDown()
        go.await()
        kafka.connect()
      } else if (fails) throw new IllegalStateException("no such host")
      else kafka.connect()
    )
    val slow = new Thread(() => clients.connect(config("slow", "client.id" -> "slow")).close())
    slow.start()
    assert(opening.await(60, TimeUnit.SECONDS))
    intercept[IllegalStateException](clients.connect(blue))
    fails = false
    clients.connect(blue).close()
    assert(kafka.opened.get == 1)
    go.countDown()
    slow.join()
    assert(kafka.closed.get == 2)
  }
}
