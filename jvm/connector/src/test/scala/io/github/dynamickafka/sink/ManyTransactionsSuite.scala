package io.github.dynamickafka.sink

import org.apache.hadoop.conf.Configuration

import io.github.dynamickafka.sink.commit.Journal
import io.github.dynamickafka.source.{Entry, Queries, Target}
import io.github.dynamickafka.testkit.{KafkaCluster, KafkaClusters, TestAll}

/** 200 tasks that write to four clusters. */
class ManyTransactionsSuite extends Queries {
  private val Tasks = 200

  test("200 tasks and 4 clusters: 800 transactions, or 4 with clusterDistribution", TestAll) {
    val more = KafkaClusters.start("gold")
    try target(t => check(t, Seq("blue" -> blue, "green" -> green, "red" -> red, "gold" -> more.head)))
    finally more.foreach(_.stop())
  }

  private def check(t: Target, clusters: Seq[(String, KafkaCluster)]): Unit = {
    val topic = newTopicOn(4, clusters.map(_._2): _*)
    t.out(clusters.map { case (id, cluster) => Entry(id, cluster, topic) }: _*)
    val ids = clusters.map { case (id, _) => s"'$id'" }.mkString("array(", ", ", ")")
    val rows = spark.range(0L, Tasks * 100L, 1L, Tasks).selectExpr(
      "cast(id % 10 as string) as key",
      "cast(id as string) as value",
      s"$ids[cast(id % 4 as int)] as target"
    ).selectExpr("key", "value", "coalesce(target, 'none') as cluster")
    val runs = (1 to 2).flatMap(n => Seq(s"off-$n" -> Tasks * 4, s"auto-$n" -> 4))
    runs.foreach { case (job, transactions) =>
      val place = newFolder().toString
      val ms = elapsedMs(t.save(
        rows,
        "deliveryGuarantee" -> "exactly-once",
        "clusterDistribution" -> job.takeWhile(_ != '-'),
        "checkpointLocation" -> place
      ))
      info(s"$job: $ms ms")
      val decided = Journal.earlier(place, new Configuration).flatMap(_.newest()).map(_._1.transactions.size)
      assert(decided == Seq(transactions), job)
    }
    clusters.zipWithIndex.foreach { case ((_, cluster), n) =>
      val once = (n.toLong until Tasks * 100L by 4L).map(_.toString)
      assert(values(cluster, topic) == runs.flatMap(_ => once).sorted)
    }
  }
}
