package io.github.dynamickafka.option

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit

class MisspellingSuite extends AnyFunSuite with TimeLimit {

  test("slips of typing") {
    Seq(
      "bleu" -> "blue",
      "blu" -> "blue",
      "bluee" -> "blue",
      "blve" -> "blue",
      "lbue" -> "blue",
      "Blue" -> "blue",
      "eu.gren" -> "eu.green",
      "kafka_eu_1" -> "kafka-eu-1",
      "payemnts-2" -> "payments-2"
    ).foreach { case (typed, meant) =>
      assert(Misspelling.of(typed, Seq("red", meant)).contains(meant), typed)
    }
  }

  test("names of different clusters") {
    Seq(
      "eu-2" -> "eu-1",
      "us-west" -> "eu-west",
      "east" -> "west",
      "north" -> "south",
      "pay-b" -> "pay-a",
      "blue2" -> "blue",
      "kafka10" -> "kafka1",
      "green" -> "blue",
      "dev" -> "prod",
      "blue" -> "blue"
    ).foreach { case (a, b) =>
      assert(Misspelling.of(a, Seq(b)).isEmpty && Misspelling.of(b, Seq(a)).isEmpty, s"$a, $b")
    }
  }
}
