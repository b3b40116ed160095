package io.github.dynamickafka.source

import io.github.dynamickafka.testkit.{KafkaCluster, Record}

/** `parseErrors=dead-letter` on brokers. */
class DeadLetterSuite extends Queries {

  private val Json = Seq("format" -> "json", "schema" -> "id INT", "parseErrors" -> "dead-letter")

  /** Values with their `dynamic-kafka-` headers. */
  private def letters(cluster: KafkaCluster, topic: String): Seq[(String, Map[String, String])] =
    cluster.dump(topic).map(r => r.value -> r.headers)

  test("bad records go to the topic on their cluster, with their headers and the reason") {
    val topic = newTopicOn(1, blue, green)
    val dead = newTopicOn(1, blue, green)
    blue.produce(topic, Seq("1", "secret-text", "2").map(v => Record(0, Some("k"), s"""{"id": $v}""")))
    green.produce(topic, Seq(Record(0, Some("k"), "nothing"), Record(0, Some("k"), """{"id": 3}""")))
    scene { of =>
      of.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      val options = Json :+ ("deadLetterTopic" -> dead)
      val query = of.frame(options: _*).select("id").writeStream.format("memory")
        .queryName(s"letters_${System.nanoTime}")
        .option("checkpointLocation", of.folder.resolve("own").toString).start()
      try {
        settle(query)
        assert(spark.table(query.name).collect().map(_.getInt(0)).toSet == Set(1, 2, 3))
        val Seq((value, headers)) = letters(blue, dead)
        assert(value == """{"id": secret-text}""")
        assert(headers("dynamic-kafka-reason") == "value: it is not valid JSON")
        assert(
          headers.filterNot(_._1.endsWith("reason")) == Map(
            "dynamic-kafka-stream" -> "orders",
            "dynamic-kafka-cluster" -> "blue",
            "dynamic-kafka-topic" -> topic,
            "dynamic-kafka-partition" -> "0",
            "dynamic-kafka-offset" -> "1"
          )
        )
        assert(letters(green, dead).map(_._1) == Seq("nothing"))
        val metrics = query.recentProgress.map(_.sources.head.metrics)
        assert(metrics.exists(m => m.get("deadLetterRecords") == "2" && m.get("droppedRecords") == "0"))
      } finally query.stop()
    }
  }

  test(
    "one cluster for all, which has to be known; a dead letter that is not stored fails the query; no batch reads"
  ) {
    val topic = newTopicOn(1, blue)
    val (other, dead) = (newTopicOn(1, green), newTopicOn(1, green))
    produce(blue, topic, 1, Seq("nothing"))
    scene { of =>
      of.orders(Entry("blue", blue, topic), Entry("green", green, other))
      def run(cluster: String, to: String) =
        of.frame(Json ++ Seq("deadLetterTopic" -> to, "deadLetterCluster" -> cluster): _*)
          .writeStream.format("noop").option("checkpointLocation", newFolder().toString).start()
      val query = run("green", dead)
      try settle(query)
      finally query.stop()
      assert(letters(green, dead).map(_._2("dynamic-kafka-cluster")) == Seq("blue"))

      val unknown = refused(run("gren", dead))
      assert(condition(unknown) == "INVALID_OPTION" && text(unknown).contains("blue, green"))
      val failed = refused(run("green", "not a topic"))
      assert(condition(failed) == "WRITE_FAILED" && text(failed).contains("not a topic"))
      val batch = refused(of.batch(Json :+ ("deadLetterTopic" -> dead): _*).collect())
      assert(condition(batch) == "INVALID_OPTION" && text(batch).contains("dead-letter"))
    }
  }

  test(
    "acks=0 in the metadata is refused, as the sink does; a cluster that drains takes no letters of others"
  ) {
    val topic = newTopicOn(1, blue)
    val (other, dead) = (newTopicOn(1, green), newTopicOn(1, blue, green))
    produce(blue, topic, 1, Seq("nothing"))
    scene { of =>
      def run(more: (String, String)*) =
        of.frame(Json ++ Seq("deadLetterTopic" -> dead) ++ more: _*)
          .writeStream.format("noop").option("checkpointLocation", newFolder().toString).start()
      of.orders(Entry("blue", blue, topic).and("acks", "0"))
      val lossy = refused(run())
      assert(condition(lossy) == "METADATA_INVALID" && text(lossy).contains("'acks'"), text(lossy))
      assert(blue.dump(dead).isEmpty)

      of.orders(Entry("blue", blue, topic), Entry("green", green, other).draining)
      val draining = refused(run("deadLetterCluster" -> "green"))
      assert(condition(draining) == "INVALID_OPTION" && text(draining).contains("draining"), text(draining))
      assert(Seq("'blue'", s"'$topic'", "offset 0").forall(text(draining).contains(_)), text(draining))
    }
  }
}
