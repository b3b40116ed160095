package io.github.dynamickafka.source.subscription

import io.github.dynamickafka.source.{Entry, Queries}

/** Options of clusters that the metadata does not have, when the DataFrame is created. */
class UnknownClusterSuite extends Queries {
  private val failing = "unknownClusterOptions" -> "fail"
  private val bleu = "cluster.bleu.kafka.client.id" -> "me"

  test("with unknownClusterOptions=fail, a misspelled id fails the creation of the DataFrame") {
    scene { s =>
      s.orders(Entry.at("blue", "b:1", "t"))
      val e = refused(s.frame(failing, bleu))
      assert(condition(e) == "UNKNOWN_CLUSTER" && text(e).contains("Did you mean 'blue'?"), text(e))
    }
  }

  test("the default, a cluster that may be added, and a service without an answer fail nothing") {
    scene { s =>
      s.orders(Entry.at("blue", "b:1", "t"))
      val _ = s.frame(bleu)
      val _ = s.frame(failing, "cluster.red.kafka.client.id" -> "me")
      s.service.behave = () => throw new IllegalStateException("the service is down")
      val _ = s.frame(failing, bleu)
      assert(s.service.callCount == 2)
    }
  }
}
