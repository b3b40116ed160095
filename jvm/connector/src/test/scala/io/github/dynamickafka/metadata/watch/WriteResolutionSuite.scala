package io.github.dynamickafka.metadata.watch

import java.{util => ju}

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.Subscription
import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException
import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaStream}
import io.github.dynamickafka.testkit.TimeLimit

class WriteResolutionSuite extends AnyFunSuite with TimeLimit {
  private def on(server: String, topics: String*) =
    ClusterMetadata(topics, Map("bootstrap.servers" -> server))

  private def stream(id: String, clusters: (String, ClusterMetadata)*) = {
    val map = new ju.LinkedHashMap[String, ClusterMetadata]
    clusters.foreach { case (cluster, metadata) => map.put(cluster, metadata) }
    id -> new KafkaStream(id, map)
  }

  private def resolve(ids: Seq[String], streams: (String, KafkaStream)*)(active: String => Boolean = _ =>
    true) =
    Resolution.forWriting(Subscription.Ids(ids), streams.toMap, active)

  private def refused(body: => Any): String =
    intercept[DynamicKafkaIllegalArgumentException](body).getMessage

  test("clusters keep the order of the metadata; those that are not writable are listed with the reason") {
    val orders = stream(
      "orders",
      "z" -> on("z:1", "t").withState(ClusterMetadata.Draining),
      "m" -> on("m:1", "t", "u"),
      "a" -> on("a:1", "t"),
      "r" -> on("r:1", "t").withWrite(false),
      "i" -> on("i:1", "t"),
      "x" -> on("x:1", "t").withState(ClusterMetadata.Removed)
    )
    val found = resolve(Seq("orders"), orders)(_ != "i").streams("orders")
    assert(found.clusters.map(_.cluster) == Seq("z", "m", "a", "r", "i", "x"))
    assert(found.first.map(_.cluster).contains("m"))
    assert(found.writable.map(_.cluster) == Seq("a", "m"))
    assert(found.clusters.map(_.closed) == Seq(
      Some("it is draining"),
      None,
      None,
      Some("'write' is false in the metadata"),
      Some("it is not active according to the metadata service"),
      Some("its state in the metadata is 'removed'")
    ))
    assert(found.entry("m").flatMap(_.only).isEmpty && found.entry("a").flatMap(_.only).contains("t"))
  }

  test("a missing or empty stream is a failure of the service") {
    assert(refused(resolve(Seq("x"), stream("orders", "a" -> on("a:1", "t")))()).contains("stream 'x'"))
    assert(refused(resolve(Seq("x"), stream("x"))()).contains("stream 'x'"))
    assert(refused(Resolution.forWriting(
      Subscription.Pattern(".*"),
      Map.empty,
      _ => true
    )).contains("returned no stream"))
  }

  test("all streams if rows name theirs; a cluster must have the same properties in each") {
    val one = stream("one", "a" -> on("a:1", "t"))
    val all = Resolution.forWriting(
      Subscription.Pattern(".*"),
      Map(one, stream("two", "a" -> on("a:1", "u"), "b" -> on("b:1", "u"))),
      _ => true
    )
    assert(all.streams.keySet == Set("one", "two") && all.clusters.keySet == Set("a", "b"))
    assert(refused(Resolution.forWriting(
      Subscription.Pattern(".*"),
      Map(one, stream("two", "a" -> on("other:1", "u"))),
      _ => true
    )).contains("different properties for it: bootstrap.servers"))
  }
}
