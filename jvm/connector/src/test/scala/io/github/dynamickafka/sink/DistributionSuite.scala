package io.github.dynamickafka.sink

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.connector.distributions.ClusteredDistribution
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, RequiresDistributionAndOrdering, Write}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.sink.commit.Journal
import io.github.dynamickafka.source.{Entry, Queries, Target}

/** `clusterDistribution=auto`: rows are distributed to tasks by their column `cluster`. */
class DistributionSuite extends Queries {
  private val Auto = "clusterDistribution" -> "auto"

  private def write(t: Target, frame: DataFrame, more: (String, String)*): Write = {
    val all = new java.util.HashMap[String, String]
    t.options(more: _*).foreach { case (k, v) => all.put(k, v) }
    val info = new LogicalWriteInfo {
      override def options(): CaseInsensitiveStringMap = new CaseInsensitiveStringMap(all)
      override def queryId(): String = "q"
      override def schema(): StructType = frame.schema
    }
    new DynamicKafkaSinkTable(frame.schema, identity).newWriteBuilder(info).build()
  }

  private def clustering(write: Write): Seq[String] = write match {
    case r: RequiresDistributionAndOrdering => r.requiredDistribution() match {
        case c: ClusteredDistribution =>
          assert(r.requiredOrdering().isEmpty && r.requiredNumPartitions() == 0)
          assert(!r.distributionStrictlyRequired())
          c.clustering().toSeq.map(_.describe())
        // Spark would analyze the plan of each batch once more for nothing.
        case other => fail(s"$other")
      }
    case _ => Nil
  }

  private def named(frame: DataFrame): DataFrame =
    frame.selectExpr("*", "if(cast(value as int) % 2 = 0, 'blue', 'green') as cluster")

  test(
    "auto: by the column, with exactly-once and if each row has a cluster; otherwise and by default not at all"
  ) {
    target { t =>
      t.out(Entry("blue", blue, "t"))
      val each = named(rows(0, 1))
      assert(clustering(write(t, each, ExactlyOnce, Auto)) == Seq("cluster"))
      assert(clustering(write(t, each, ExactlyOnce)).isEmpty)
      assert(clustering(write(t, each, ExactlyOnce, "clusterDistribution" -> "off")).isEmpty)
      assert(clustering(write(t, each, Auto)).isEmpty)
      assert(clustering(write(t, rows(0, 1), ExactlyOnce, Auto)).isEmpty)
      val some = rows(0, 1).selectExpr("*", "if(value = '0', 'blue', null) as cluster")
      assert(clustering(write(t, some, ExactlyOnce, Auto)).isEmpty)
    }
  }

  test(
    "a job has one transaction for each cluster instead of one for each task and cluster, and the same records"
  ) {
    target { t =>
      val topic = newTopicOn(2, blue, green)
      t.out(Entry("blue", blue, topic), Entry("green", green, topic))
      // Without adaptive execution, which would merge the tasks of a few rows.
      spark.conf.set("spark.sql.adaptive.enabled", "false")
      try
        Seq("off" -> 8, "auto" -> 2).foreach { case (distribution, transactions) =>
          val place = newFolder().toString
          t.save(
            named(rows(0, 400).repartition(4)),
            ExactlyOnce,
            "clusterDistribution" -> distribution,
            "checkpointLocation" -> place
          )
          val decided = Journal.earlier(place, new Configuration).flatMap(_.newest()).map(_._1)
          assert(decided.map(_.transactions.size) == Seq(transactions), distribution)
        }
      finally spark.conf.unset("spark.sql.adaptive.enabled")
      val (even, odd) = (0 until 400).partition(_ % 2 == 0)
      Seq(blue -> even, green -> odd).foreach { case (cluster, numbers) =>
        assert(values(cluster, topic) == (numbers ++ numbers).map(_.toString).sorted)
      }
    }
  }

  test("a streaming query likewise, in the order of each key") {
    target { t =>
      scene { s =>
        val (from, topic) = (newTopicOn(4, blue), newTopicOn(1, blue, green))
        s.orders(Entry("blue", blue, from))
        t.out(Entry("blue", blue, topic), Entry("green", green, topic))
        val keyed = s.frame().selectExpr("cast(partition as string) as key", "cast(value as string) as value")
        val auto = t.start(named(keyed), ExactlyOnce, Auto)
        Seq(0 until 200, 200 until 400).foreach { numbers =>
          produce(blue, from, 4, numbers.map(_.toString))
          settle(auto)
          val last = auto.recentProgress.filter(_.numInputRows > 0).last
          assert(last.sink.metrics.get("committedTransactions") == "2")
        }
        val both = Seq(blue, green).map(committed(_, topic))
        assert(both.flatten.map(_.value.toInt).sorted == (0 until 400))
        both.foreach(_.groupBy(_.key).values.foreach { of =>
          val inOrder = of.map(_.value.toInt)
          assert(inOrder == inOrder.sorted)
        })
      }
    }
  }
}
