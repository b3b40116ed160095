package io.github.dynamickafka.source

import scala.collection.immutable.SortedMap
import scala.util.{Random, Try}

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.config.Options
import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException
import io.github.dynamickafka.metadata.{Topology, TopologyCluster, TopologyTopic}
import io.github.dynamickafka.source.cluster.{ClusterConfigs, ClusterStream, ClusterStreams, ScriptedCluster}
import io.github.dynamickafka.testkit.TimeLimit

/** A dead letter of a reading query is stored, or an error says why it cannot be: wherever the properties of its cluster are written. */
class DeadLetterClustersSuite extends AnyFunSuite with TimeLimit {

  test("random properties, states and choices of clusters: a letter is acknowledged, or refused by name") {
    val first = TestSeed()
    val kinds = (first until first + 400).map(run).groupMapReduce(identity)(_ => 1)(_ + _)
    assert(kinds.size == 4 && kinds.values.forall(_ > 20), kinds)
  }

  private def run(seed: Long): String = {
    val random = new Random(seed)
    def one[A](all: A*): A = all(random.nextInt(all.size))
    val ids = Seq("blue", "eu.green", "red").take(1 + random.nextInt(3))
    // One that has left the metadata, and whose records a logged batch has.
    val left = ids.filter(_ == "red").filter(_ => random.nextBoolean())
    val known = ids.diff(left)
    val acks = ids.map(_ -> one(None, None, Some("all"), Some("1"), Some("0"), Some(" 0 "))).toMap
    val place = one("metadata", "cluster.<id>.kafka.", "cluster.<id>.")
    val all = one(None, None, None, Some("0"))
    val draining = known.map(_ -> one(0, 1, 2)).toMap
    val chosen = one(None, None, known.headOption, known.lastOption, Some("nowhere"))
    val options = Seq("format" -> "json", "schema" -> "id INT", "parseErrors" -> "dead-letter") ++
      Seq("deadLetterTopic" -> "dead") ++ chosen.map("deadLetterCluster" -> _) ++ all.map(
        "kafka.acks" -> _
      ) ++
      (for ((id, value) <- acks; v <- value if place != "metadata")
        yield s"${place.replace("<id>", id)}acks" -> v)
    def properties(id: String) = Map("bootstrap.servers" -> s"$id:1") ++
      acks(id).filter(_ => place == "metadata").map("acks" -> _)
    // 0: none of its topics drains, 1: one of them does, 2: all do.
    val topology = Topology(SortedMap.from(known.map { id =>
      val topics = Seq("t", "u").zipWithIndex.map { case (topic, n) =>
        topic -> TopologyTopic("orders", draining = n < draining(id))
      }
      id -> TopologyCluster(id, SortedMap.from(topics), properties(id))
    }))
    val where = s"DYNAMIC_KAFKA_SEED=$seed: ${options.mkString(", ")}, $acks in $place, $draining"
    val targets = Try {
      val parsed = Options.parse(options: _*)
      val configs = new ClusterConfigs.ByScope(parsed)
      val streams = new ClusterStreams(
        (id, config) => new ClusterStream(id, config, Clock.System, ScriptedCluster.led(1).clients),
        skipUnreachable = true,
        failureTimeoutMs = -1,
        Clock.System,
        maxAgeMs = 1000L
      )
      try {
        streams.set(ids.map(id => id -> configs(ids.toSet)(id, properties(id))).toMap)
        DeadLetterClusters(parsed.records.format.deadLetters.get, topology, streams, configs)
      } finally streams.close()
    }
    val used = chosen.fold(ids)(Seq(_))
    // What has left has no properties of producers any more.
    val lossy = used.filter(id => known.contains(id) && acks(id).orElse(all).exists(_.trim == "0"))
    def error = targets.failed.toOption
      .collect { case e: DynamicKafkaIllegalArgumentException => e }.getOrElse(fail(s"$where: $targets"))
    if (chosen.contains("nowhere")) {
      assert(error.getMessage.contains("'nowhere'") && error.getMessage.contains("deadLetterCluster"), where)
      "unknown"
    } else if (lossy.nonEmpty) {
      assert(error.getMessage.contains("acks") && error.getMessage.contains("lost record"), s"$where: $error")
      assert(lossy.exists(id => error.getMessage.contains(s"'$id'")), s"$where: $error")
      "lossy"
    } else {
      val found = targets.getOrElse(fail(s"$where: $targets"))
      assert(used.forall(id => !found.producers(id).properties.get("acks").map(_.trim).contains("0")), where)
      assert(found.refused.isDefined == chosen.exists(draining(_) == 2), where)
      if (found.refused.isDefined) "draining" else "written"
    }
  }
}
