package io.github.dynamickafka.metadata.watch

import java.{util => ju}

import scala.collection.immutable.SortedSet
import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.Subscription
import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException
import io.github.dynamickafka.metadata.Streams._
import io.github.dynamickafka.metadata.{
  ClusterMetadata,
  KafkaStream,
  OffsetsPolicy,
  Removal,
  StreamHistory,
  Topology,
  TopologyHistory,
  TopologyTopic
}
import io.github.dynamickafka.testkit.TimeLimit

class ResolutionSuite extends AnyFunSuite with TimeLimit {

  test("topics by pattern are resolved against the cluster's list of topics, and removed likewise") {
    val servers = ju.Map.of("bootstrap.servers", "b:9092")
    val pattern =
      new KafkaStream("b", ju.Map.of("blue", ClusterMetadata.of(servers).withTopicPattern("or.*")))
    val listed =
      new KafkaStream("a", ju.Map.of("blue", ClusterMetadata.of(servers).withTopics(ju.List.of("orders"))))
    val some = new KafkaStream(
      "c",
      ju.Map.of(
        "blue",
        ClusterMetadata.of(servers).withPartitions(ju.Map.of("audit", ju.List.of[Integer](0, 2)))
      )
    )
    val ids = Subscription.Ids(Seq("a", "b", "c"))
    val streams = Map("a" -> listed, "b" -> pattern, "c" -> some)
    val blue = Resolution.resolve(ids, false, streams, _ => true).clusters("blue")
    assert(blue.topics.keySet == Set("orders", "audit"))
    assert(blue.topics("audit").partitions.contains(Set(0, 2)))
    val first = blue.matching(Set("orders", "orders-eu", "reorders"))
    assert(first.topics.map { case (t, topic) => t -> topic.stream } ==
      Map("audit" -> "c", "orders" -> "a", "orders-eu" -> "b"))
    assert(first.topics("orders-eu").matched && !first.topics("orders").matched)
    assert(first.matching(Set("orders", "or")).topics.keySet == Set("audit", "or", "orders"))
  }

  test("partitions of several streams are merged; an entry without partitions means all of them") {
    val one = TopologyTopic("a", partitions = Some(SortedSet(0)))
    val other = TopologyTopic("b", partitions = Some(SortedSet(2)))
    assert(TopologyTopic.merge(Seq(other, one)).partitions.contains(SortedSet(0, 2)))
    assert(TopologyTopic.merge(Seq(other, one, TopologyTopic("c"))).partitions.isEmpty)
  }

  test("the topics of a cluster are given in exactly one way") {
    val servers = ju.Map.of("bootstrap.servers", "b:9092")
    def judge(cluster: ClusterMetadata) = intercept[Exception](Resolution.resolve(
      Subscription.Ids(Seq("a")),
      false,
      Map("a" -> new KafkaStream("a", ju.Map.of("blue", cluster))),
      _ => true
    )).getMessage
    def both(pattern: String, topics: String*) =
      ClusterMetadata.of(servers).withTopics(ju.Arrays.asList(topics: _*)).withTopicPattern(pattern)
    assert(judge(both("x", "t")).contains("key 'topic_pattern': it is specified together with 'topics'"))
    assert(judge(both("(")).contains("not a valid regular expression"))
    assert(judge(ClusterMetadata.of(servers).withPartitions(ju.Map.of(
      "t",
      ju.List.of[Integer](-1)
    ))).contains("at least 0"))
  }

  test(
    "a cluster cannot replace one that is active in the same stream; one that drains, or is unknown, it can"
  ) {
    val servers = ju.Map.of("bootstrap.servers", "b:9092")
    def replacing(id: String) =
      ClusterMetadata.of(servers).withTopics(ju.List.of("t")).withReplaces(id)
    def resolved(state: String, former: String = "blue") = {
      val blue = ClusterMetadata.of(servers).withTopics(ju.List.of("t")).withState(state)
      val stream = new KafkaStream("a", ju.Map.of("blue", blue, "green", replacing(former)))
      Resolution.resolve(Subscription.Ids(Seq("a")), false, Map("a" -> stream), _ => true)
    }
    assert(resolved("draining").clusters("green").replaces.contains("blue"))
    assert(resolved("active", "gone").clusters("green").replaces.contains("gone"))
    val active = intercept[DynamicKafkaIllegalArgumentException](resolved("active"))
    assert(active.getCondition.endsWith("METADATA_INVALID"))
    assert(active.getMessage.contains("stream 'a', cluster 'green', key 'replaces'"), active.getMessage)
    assert(intercept[Exception](resolved("draining", "a/b")).getMessage.contains("the cluster id is invalid"))
  }

  private def archived(history: StreamHistory, clusters: String*) = {
    val servers = ju.Map.of("bootstrap.servers", "b:9092")
    val of = clusters.map(id => id -> ClusterMetadata.of(servers).withTopics(ju.List.of("t"))).toMap.asJava
    Map("a" -> new KafkaStream("a", of, ju.Map.of[String, String](), history))
  }

  private def historyOf(history: StreamHistory, clusters: String*) =
    Resolution.resolve(
      Subscription.Ids(Seq("a")),
      false,
      archived(history, clusters: _*),
      _ => true
    ).histories("a")

  test("a history belongs to the cluster of the metadata, or to the only cluster of the stream") {
    val plain = new StreamHistory("parquet", "/archive")
    assert(historyOf(plain, "blue").cluster.contains("blue"))
    assert(historyOf(plain, "blue", "green").cluster.isEmpty)
    val named = new StreamHistory("json", "/archive", ju.Map.of("multiLine", "true"), "old")
    assert(
      historyOf(named, "blue") == TopologyHistory("json", "/archive", Map("multiLine" -> "true"), Some("old"))
    )
  }

  test("a history without format or path, or with what may be a secret, is refused without its value") {
    def refusal(format: String, path: String, option: String = "x", cluster: String = null) = {
      val history = new StreamHistory(format, path, ju.Map.of(option, "hunter2"), cluster)
      val e = intercept[DynamicKafkaIllegalArgumentException](historyOf(history, "blue"))
      assert(e.getCondition == "DYNAMIC_KAFKA.METADATA_INVALID" && !e.getMessage.contains("hunter2"))
      e.getMessage
    }
    assert(refusal(
      null,
      "/archive"
    ).contains("stream 'a', key 'history', key 'format': it is missing or blank"))
    assert(refusal("json", " ").contains("key 'path': it is missing or blank"))
    Seq("fs.s3a.access.key", "fs.azure.x", "myPassword", "apiToken").foreach { name =>
      assert(refusal(
        "json",
        "/archive",
        option = name
      ).contains(s"key 'options': '$name' is or may be a secret"))
    }
    assert(refusal("json", "ftp://me:hunter2@host/archive").contains("key 'path': the part before '@'"))
    assert(refusal("json", "/archive", cluster = "no id").contains("key 'cluster'"))
    assert(historyOf(new StreamHistory("json", "abfss://box@account/archive"), "blue").path.contains("box@"))
  }

  private val orders = Subscription.Ids(Seq("orders"))
  private val both = Subscription.Ids(Seq("payments", "orders"))

  private def resolve(
      subscription: Subscription,
      streams: Map[String, KafkaStream],
      allowMissing: Boolean = false,
      active: String => Boolean = _ => true
  ) = Resolution.resolve(subscription, allowMissing, streams, active)

  private def failure(subscription: Subscription, streams: Map[String, KafkaStream], says: String*): Unit = {
    val e = intercept[DynamicKafkaIllegalArgumentException](resolve(subscription, streams))
    assert(e.getCondition == "DYNAMIC_KAFKA.METADATA_INVALID")
    says.foreach(s => assert(e.getMessage.contains(s)))
  }

  private def names(topology: Topology) =
    topology.clusters.toSeq.map { case (id, c) => id -> c.topics.keys.toSeq }

  test("clusters and topics of all subscribed streams, and of no other stream") {
    val streams = byId(
      stream("orders", "green" -> cluster("b", "a"), "blue" -> cluster("a")),
      stream("payments", "blue" -> cluster("p")),
      stream("other", "red" -> cluster("x"))
    )
    assert(names(resolve(orders, streams)) == Seq("blue" -> Seq("a"), "green" -> Seq("a", "b")))
    assert(names(resolve(both, streams)) == Seq("blue" -> Seq("a", "p"), "green" -> Seq("a", "b")))
    assert(resolve(both, streams).clusters("blue").topics("p") == TopologyTopic("payments"))
    assert(resolve(orders, streams).clusters("blue").properties == Map("bootstrap.servers" -> "b:9092"))
  }

  test("a pattern matches the whole stream id") {
    val streams = byId(
      stream("orders-eu", "blue" -> cluster("a")),
      stream("orders", "red" -> cluster("a")),
      stream("old-orders-us", "red" -> cluster("a"))
    )
    assert(names(resolve(Subscription.Pattern("orders-.*"), streams)) == Seq("blue" -> Seq("a")))
  }

  test("a missing subscribed stream is a failure, with allowMissingStreams a removal") {
    val streams = byId(stream("orders", "blue" -> cluster("a")))
    failure(both, streams, "stream 'payments'", "allowMissingStreams")
    assert(names(resolve(both, streams, allowMissing = true)) == Seq("blue" -> Seq("a")))
  }

  test("an empty answer is a failure, with allowMissingStreams a removal of everything") {
    failure(orders, Map.empty, "stream 'orders'")
    val any = Subscription.Pattern(".*")
    failure(any, Map.empty, "streamPattern '.*'", "returned no stream")
    failure(
      Subscription.Pattern("x"),
      byId(stream("y", "blue" -> cluster("a"))),
      "matches no whole stream id"
    )
    assert(resolve(orders, Map.empty, allowMissing = true) == Topology.empty)
    assert(resolve(any, Map.empty, allowMissing = true) == Topology.empty)
  }

  test("a stream without clusters is handled like a missing stream") {
    failure(orders, byId(stream("orders")), "stream 'orders'", "it has no cluster")
    assert(resolve(orders, byId(stream("orders")), allowMissing = true) == Topology.empty)
  }

  test("a topic of two streams belongs to the first in sorted order, and drains only if both drain it") {
    val draining = stated(ClusterMetadata.Draining, "latest", "a")
    val earliest = stated(ClusterMetadata.Active, "earliest", "a")
    def topic(ofOrders: ClusterMetadata, ofPayments: ClusterMetadata) = {
      val streams = byId(stream("payments", "blue" -> ofPayments), stream("orders", "blue" -> ofOrders))
      resolve(both, streams).clusters("blue").topics("a")
    }
    assert(topic(draining, earliest) == TopologyTopic("orders", false, Some(OffsetsPolicy.Latest)))
    assert(topic(cluster("a"), earliest) == TopologyTopic("orders", false, Some(OffsetsPolicy.Earliest)))
    assert(topic(draining, draining).draining)
  }

  test("whether a cluster takes writes is in its entries, but not in the topology") {
    def orders(write: Boolean) =
      stream("orders", "blue" -> cluster("a").withWrite(write), "green" -> cluster("a"))
    assert(AnswerCheck.entries(orders(write = false)).map(e => e.cluster -> e.named.closed.isEmpty) ==
      Seq("blue" -> false, "green" -> true))
    assert(resolve(this.orders, byId(orders(write = false))) == resolve(
      this.orders,
      byId(orders(write = true))
    ))
  }

  test("an inactive cluster is left out, even if none is left") {
    val streams = byId(stream("orders", "blue" -> cluster("a"), "green" -> cluster("a")))
    assert(names(resolve(orders, streams, active = _ != "blue")) == Seq("green" -> Seq("a")))
    assert(resolve(orders, streams, active = _ => false).clusters.isEmpty)
    assert(resolve(orders, streams, active = _ != "blue").removals == Map("blue" -> Removal.OfCluster))
  }

  test("state removed: what it names is omitted, in contrast to what is missing") {
    def removed(topics: String*) = stated(ClusterMetadata.Removed, null, topics: _*)
    val asked = Seq.newBuilder[String]
    val one = resolve(
      orders,
      byId(stream("orders", "blue" -> removed("a"), "green" -> cluster("a"))),
      active = id => { asked += id; true }
    )
    assert(names(one) == Seq("green" -> Seq("a")) && one.removals == Map("blue" -> Removal.OfCluster))
    assert(asked.result() == Seq("green"), "no call is needed for a removed cluster")
    val shared = resolve(
      both,
      byId(stream("orders", "blue" -> removed("a", "b")), stream("payments", "blue" -> cluster("b", "c")))
    )
    assert(names(shared) == Seq("blue" -> Seq("b", "c")))
    assert(shared.removes("blue", "a") && !shared.removes("blue", "c") && !shared.removals("blue").all)
    assert(resolve(orders, byId(stream("orders", "blue" -> removed("a")))).clusters.isEmpty)
  }

  test("isClusterActive is called once per cluster, and only for clusters of the subscription") {
    val asked = Seq.newBuilder[String]
    val streams = byId(
      stream("orders", "blue" -> cluster("a"), "green" -> cluster("a")),
      stream("payments", "blue" -> cluster("a")),
      stream("other", "red" -> cluster("a"))
    )
    resolve(both, streams, active = id => { asked += id; true })
    assert(asked.result() == Seq("blue", "green"))
  }

  test("conflicting properties of a cluster: both streams are named, the values are not") {
    val streams = byId(
      stream("orders", "blue" -> cluster(Map("sasl.jaas.config" -> "hunter2", "x" -> "1"), "a")),
      stream("payments", "blue" -> cluster(Map("sasl.jaas.config" -> "hunter3"), "b"))
    )
    val e = intercept[DynamicKafkaIllegalArgumentException](resolve(both, streams))
    Seq("cluster 'blue'", "'orders'", "'payments'", "sasl.jaas.config", "x").foreach { s =>
      assert(e.getMessage.contains(s))
    }
    assert(!e.getMessage.contains("hunter"))
  }

  private def plain(topics: String*)(properties: (String, String)*) = {
    val map = new ju.HashMap[String, String]
    properties.foreach { case (k, v) => map.put(k, v) }
    ClusterMetadata.of(map).withTopics(ju.Arrays.asList(topics: _*))
  }

  private val b = "bootstrap.servers" -> "b:1"

  Seq[(String, KafkaStream, Seq[String])](
    ("no bootstrap.servers", stream("orders", "blue" -> plain("a")()), Seq("key 'bootstrap.servers'")),
    ("blank bootstrap", stream("orders", "blue" -> plain("a")(b._1 -> " ")), Seq("key 'bootstrap.servers'")),
    ("no topics", stream("orders", "blue" -> plain()(b)), Seq("key 'topics'", "no topic")),
    ("bad topic", stream("orders", "blue" -> plain("a/b")(b)), Seq("key 'topics'", "'a/b'")),
    ("topic '..'", stream("orders", "blue" -> plain("..")(b)), Seq("'..' is not a valid topic name")),
    ("long topic", stream("orders", "blue" -> plain("a" * 250)(b)), Seq("not a valid topic name")),
    ("null topic", stream("orders", "blue" -> plain(null)(b)), Seq("not a valid topic name")),
    ("null cluster", stream("orders", "blue" -> null), Seq("it is null")),
    ("bad state", stream("orders", "blue" -> stated("gone", null, "a")), Seq("key 'state'", "'gone'")),
    ("null state", stream("orders", "blue" -> stated(null, null, "a")), Seq("key 'state'")),
    (
      "bad offsets",
      stream("orders", "blue" -> stated("active", "soon", "a")),
      Seq("starting_offsets", "'soon'")
    )
  ).foreach { case (title, answer, says) =>
    test(s"invalid answer: $title") {
      failure(orders, byId(answer), Seq("stream 'orders'", "cluster 'blue'") ++ says: _*)
    }
  }

  Seq("", "a b", "a/b", "ä", "x" * 129, null).foreach { id =>
    test(s"invalid answer: cluster id '$id'") {
      failure(
        orders,
        byId(stream("orders", id -> cluster("a"))),
        "stream 'orders'",
        "the cluster id is invalid"
      )
    }
  }

  test("invalid answer: a stream under the key of another one, or null") {
    failure(
      orders,
      Map("orders" -> stream("payments", "blue" -> cluster("a"))),
      "stream 'orders'",
      "'payments'"
    )
    failure(orders, Map("orders" -> null), "stream 'orders'", "it is null")
  }
}
