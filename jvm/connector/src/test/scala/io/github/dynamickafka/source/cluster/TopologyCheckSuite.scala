package io.github.dynamickafka.source.cluster

import scala.collection.immutable.SortedMap
import scala.util.{Random, Try}

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.config.Options.parse
import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException
import io.github.dynamickafka.metadata.{
  OffsetsPolicy,
  Removal,
  Topology,
  TopologyCluster,
  TopologyPattern,
  TopologyTopic
}
import io.github.dynamickafka.offset.{ClusterView, Positions}
import io.github.dynamickafka.source.Logs
import io.github.dynamickafka.testkit.TimeLimit

class TopologyCheckSuite extends AnyFunSuite with TimeLimit {

  private val committed = Some(OffsetsPolicy.Committed(None))

  private def topology(ids: String*) = of(TopologyTopic("orders"), ids: _*)
  private def of(topic: TopologyTopic, ids: String*) = Topology(SortedMap.from(ids.map { id =>
    id -> TopologyCluster(id, SortedMap("t" -> topic), Map("bootstrap.servers" -> "b:1"))
  }))

  private def refusal(topology: Topology, options: (String, String)*): String = {
    val e = intercept[DynamicKafkaIllegalArgumentException](new TopologyCheck(parse(options: _*))(topology))
    assert(e.getCondition == "DYNAMIC_KAFKA.METADATA_INVALID")
    e.getMessage
  }

  test("committed offsets in the metadata need a consumer group of the query") {
    val start = of(TopologyTopic("orders", startingOffsets = committed), "blue")
    val text = refusal(start)
    Seq("'orders'", "'blue'", "starting_offsets", "commitGroupId").foreach(s =>
      assert(text.contains(s), text)
    )
    val end = of(TopologyTopic("orders", stoppingOffsets = committed), "blue", "green")
    assert(refusal(
      end,
      "cluster.blue.kafka.group.id" -> "g"
    ).contains("cluster 'green', key 'stopping_offsets'"))
    val pattern = TopologyPattern("or.*", TopologyTopic("orders", startingOffsets = committed))
    val byPattern = topology("blue").clusters("blue").copy(topics = SortedMap.empty, patterns = Seq(pattern))
    assert(refusal(Topology(SortedMap("blue" -> byPattern))).contains("starting_offsets"))
    Seq(
      Seq("kafka.group.id" -> "g"),
      Seq("cluster.blue.kafka.group.id" -> "g"),
      Seq("cluster.blue.startingOffsets" -> "earliest")
    ).foreach(options => new TopologyCheck(parse(options: _*))(start))
    val group = start.clusters("blue").properties + ("group.id" -> "g")
    new TopologyCheck(parse())(Topology(SortedMap("blue" -> start.clusters("blue").copy(properties = group))))
  }

  test(
    "options of clusters that are not in the metadata: one warning per set of clusters, with a suggestion"
  ) {
    val check = new TopologyCheck(parse(
      "cluster.blu.startingOffsets" -> "latest",
      "cluster.eu.gren.kafka.client.id" -> "x",
      "cluster.blue.startingOffsets" -> "latest",
      "cluster.off.kafka.client.id" -> "x"
    ))
    val inactive = topology("blue", "eu.green").copy(removals = SortedMap("off" -> Removal.OfCluster))
    val first = Logs.during(classOf[TopologyCheck]) {
      check(inactive)
      check(inactive)
      check(inactive.copy(clusters = inactive.clusters.map { case (id, c) =>
        id -> c.copy(properties = Map.empty)
      }))
    }
    assert(first.size == 1, first)
    Seq("cluster.blu.startingOffsets", "'blue'", "cluster.eu.gren.kafka.client.id", "'eu.green'").foreach(s =>
      assert(first.head.contains(s), first)
    )
    assert(!first.head.contains("cluster.blue.") && !first.head.contains("cluster.off."))
    assert(Logs.during(classOf[TopologyCheck])(check(topology("blue", "red"))).size == 1)
    assert(Logs.during(classOf[TopologyCheck])(check(topology("blu", "eu.gren", "blue", "off"))).isEmpty)
  }

  test(
    "unknownClusterOptions=fail: an id with a typing error is refused, a cluster that may be added is not"
  ) {
    def check(options: (String, String)*) = TopologyCheck.refuseMisspelled(
      parse(options :+ ("unknownClusterOptions" -> "fail"): _*),
      topology("blue", "eu.green").copy(removals = SortedMap("off" -> Removal.OfCluster))
    )
    for (
      (option, id, meant) <- Seq(
        ("cluster.bleu.kafka.client.id", "bleu", "blue"),
        ("cluster.eu.gren.startingOffsets", "eu.gren", "eu.green")
      )
    ) {
      val e = intercept[DynamicKafkaIllegalArgumentException](check(option -> "latest"))
      assert(e.getCondition == "DYNAMIC_KAFKA.UNKNOWN_CLUSTER")
      Seq(s"'$option'", s"'$id'", s"Did you mean '$meant'?", "blue, eu.green, off").foreach(s =>
        assert(e.getMessage.contains(s), e.getMessage)
      )
    }
    check(
      "cluster.blue.kafka.client.id" -> "x",
      "cluster.blue2.kafka.client.id" -> "x",
      "cluster.red.kafka.client.id" -> "x",
      "cluster.off.kafka.client.id" -> "x"
    )
  }

  test("starting offsets of a cluster or topic that the metadata does not have are refused") {
    val pattern = TopologyPattern("or.*", TopologyTopic("orders"))
    val known = topology("blue", "green").copy(removals = SortedMap("off" -> Removal.OfCluster))
    val all = known.copy(clusters =
      known.clusters.updated("green", known.clusters("green").copy(patterns = Seq(pattern)))
    )
    def check(in: Topology, option: String, json: String) =
      ClusterConfigs(parse(option -> json), in.clusters.keySet.toSet).checkFirst(in)
    for {
      (option, offset) <- Seq("startingOffsets" -> 5, "startingOffsetsByTimestamp" -> 1767225600000L)
      (json, said) <- Seq(
        s"""{"bleu": {"t": {"0": $offset}}}""" -> "the metadata does not have cluster 'bleu'. Did you mean 'blue'? It has blue, green.",
        s"""{"blue": {"t": {"0": $offset}}, "red": {"t": {"0": $offset}}}""" -> "the metadata does not have cluster 'red'. It has",
        s"""{"blue": {"tt": {"0": $offset}}}""" -> "the metadata does not have topic 'tt' of cluster 'blue'",
        s"""{"green": {"dr": {"0": $offset}}}""" -> "the metadata does not have topic 'dr' of cluster 'green'"
      )
    } {
      val e = intercept[DynamicKafkaIllegalArgumentException](check(all, option, json))
      assert(e.getCondition == "DYNAMIC_KAFKA.INVALID_OPTION" && e.getMessage.contains(said), e.getMessage)
    }
    check(
      all,
      "startingOffsets",
      """{"blue": {"t": {"0": 5}}, "green": {"orders": {"0": 5}}, "off": {"x": {"0": 5}}}"""
    )
    val one = topology("blue")
    check(one, "startingOffsets", """{"t": {"0": 5}}""")
    val e =
      intercept[DynamicKafkaIllegalArgumentException](check(one, "startingOffsets", """{"u": {"0": 5}}"""))
    assert(
      e.getMessage.contains("the metadata does not have topic 'u' of cluster 'blue'. It has t."),
      e.getMessage
    )
  }

  test(
    "random starting offsets with one slip: the cluster, topic or partition that does not exist is named"
  ) {
    val first = TestSeed()
    var slips = Map.empty[String, Int].withDefaultValue(0)
    (first until first + 300).foreach { seed =>
      val random = new Random(seed)
      def one[A](all: Seq[A]): A = all(random.nextInt(all.size))
      val ids = Seq("blue", "green", "eu.red").take(1 + random.nextInt(3))
      // The topics of each cluster, with the number of their partitions.
      val there = ids.map(id =>
        id -> Seq("orders", "payments", "a.b").take(1 + random.nextInt(3)).map(_ -> (1 + random.nextInt(3)))
      ).toMap
      val pattern = TopologyPattern("by-.*", TopologyTopic("orders", matched = true))
      val topology = Topology(SortedMap.from(ids.map { id =>
        val topics = SortedMap.from(there(id).map(_._1 -> TopologyTopic("orders")))
        val patterns = Seq(pattern).filter(_ => random.nextInt(4) == 0)
        id -> TopologyCluster(id, topics, Map("bootstrap.servers" -> "b:1"), patterns)
      }))
      val views = there.map { case (id, topics) =>
        val (silent, known) = (for ((t, n) <- topics; p <- 0 until n) yield (t, p))
          .partition(_ => random.nextInt(8) == 0)
        id -> (if (random.nextInt(10) == 0) ClusterView.Unreachable
               else
                 ClusterView.Reachable(
                   Positions.from(known.map { case (t, p) => (t, p, 9L) }),
                   Positions.empty,
                   unanswered = silent.map(_ -> "no leader").toMap
                 ))
      }
      val right =
        (for {
          (id, topics) <- there.toSeq
          (topic, n) <- topics
          p <- 0 until n if random.nextInt(4) > 0
        } yield (id, topic, p)) ++ Seq((ids.head, there(ids.head).head._1, 0))
      val slip = one(Seq("", "cluster", "topic", "partition"))
      val (id, topic, partition) = one(right)
      def misspelt(name: String) = name.patch(random.nextInt(name.length), "q", random.nextInt(2))
      val wrong = slip match {
        case "cluster" => (misspelt(id), topic, partition)
        case "topic" => (id, misspelt(topic), partition)
        case "partition" => (id, topic, 3 + random.nextInt(20))
        case _ => (id, topic, partition)
      }
      val entries = random.shuffle((right.toSet - ((id, topic, partition)) + wrong).toSeq)
      def json(of: Seq[(String, String, Int)], levels: Int): String =
        if (levels == 0) one(Seq("5", "1767225600000"))
        else
          of.groupBy(e => Seq(e._3.toString, e._2, e._1)(levels - 1)).map { case (name, in) =>
            s""""$name": ${json(in, levels - 1)}"""
          }.mkString("{", ", ", "}")
      val withClusters = ids.size > 1 || slip == "cluster" || random.nextBoolean()
      val text = json(entries, if (withClusters) 3 else 2)
      val option = one(Seq("startingOffsets", "startingOffsetsByTimestamp"))
      val configs = ClusterConfigs(parse(option -> text), ids.toSet)
      val error = Try {
        configs.checkFirst(topology)
        configs.checkFirst(topology, views)
      }.failed.toOption
      val where = s"DYNAMIC_KAFKA_SEED=$seed: $slip, $option=$text: $error"
      val isSilent = slip == "partition" && (views(id) match {
        case view: ClusterView.Reachable => view.ends.of(topic).isEmpty && view.unanswered.isEmpty
        case _ => true
      })
      if (slip.isEmpty || isSilent) assert(error.isEmpty, where)
      else {
        slips += slip -> (slips(slip) + 1)
        val e = error.collect { case e: DynamicKafkaIllegalArgumentException => e }.getOrElse(fail(where))
        assert(e.getCondition == "DYNAMIC_KAFKA.INVALID_OPTION", where)
        val named = slip match {
          case "cluster" => Seq(s"cluster '${wrong._1}'")
          case "topic" => Seq(s"topic '${wrong._2}'", s"cluster '$id'")
          case _ => Seq(s"partition ${wrong._3}", s"topic '$topic'", s"cluster '$id'")
        }
        named.foreach(part => assert(e.getMessage.contains(part), where))
      }
    }
    assert(slips.size == 3 && slips.values.forall(_ > 30), slips)
  }

  test("the configuration of a cluster is resolved once for each change of its properties") {
    val configs = ClusterConfigs(parse(), Set("blue"))
    val one = configs("blue", Map("bootstrap.servers" -> "b:1"))
    assert(configs("blue", Map("bootstrap.servers" -> "b:1")) eq one)
    val other = configs("blue", Map("bootstrap.servers" -> "b:2"))
    assert(other.bootstrapServers == "b:2" && (configs("blue", Map("bootstrap.servers" -> "b:2")) eq other))
  }

  test("clusters that need secrets that neither the checkpoint nor an option has") {
    val stored = Topology(topology("blue", "green").clusters.map { case (id, c) =>
      id -> c.copy(withheld = if (id == "blue") Set("sasl.jaas.config") else Set.empty)
    })
    assert(ClusterConfigs.incomplete(parse(), stored) == Set("blue"))
    assert(ClusterConfigs.incomplete(parse("clusterFailurePolicy" -> "skip"), stored).isEmpty)
    assert(ClusterConfigs.incomplete(parse("cluster.blue.kafka.sasl.jaas.config" -> "x"), stored).isEmpty)
  }
}
