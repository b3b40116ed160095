package io.github.dynamickafka.source.read

import scala.collection.immutable.SortedMap

import com.fasterxml.jackson.databind.ObjectMapper

import io.github.dynamickafka.kafka.ConsumerSettings
import io.github.dynamickafka.offset.OffsetRange

/**
 * Measures the planning of tasks, without Spark: `PlanBenchmark <clusters> <partitions of each> <rounds>`. Prints JSON with
 * the nanoseconds of each round, after the same number of warm-up rounds, and how well executors are used.
 */
object PlanBenchmark {
  private val Cores = 64
  private val Records = 10L

  def main(args: Array[String]): Unit = {
    val Array(clusters, partitions, rounds) = args.map(_.toInt)
    val settings = ReadSettings(includeHeaders = false, failOnDataLoss = true, 1000L)
    val consumers = (0 until clusters).map(c =>
      f"cluster-$c%04d" -> new ConsumerSettings(
        f"cluster-$c%04d",
        Map("bootstrap.servers" -> s"host-$c:9092")
      )
    ).toMap
    val ranges = SortedMap.from(consumers.keys.map(id =>
      id -> (0 until partitions).map(p => OffsetRange(s"orders-${p % 4}", p / 4, 0L, Records))
    ))
    var tasks = 0
    def round(): Long = {
      val begin = System.nanoTime()
      tasks = BatchPlanner.partitions(
        ranges,
        consumers,
        (_, topic) => topic,
        settings,
        Splits.none,
        Cores,
        executors(Cores / 4)
      ).length
      System.nanoTime() - begin
    }
    (1 to rounds).foreach(_ => round())
    val kept = (1 to rounds).map(_ => round())
    val mapper = new ObjectMapper
    val root =
      mapper.createObjectNode().put("clusters", clusters).put("partitions", ranges.values.map(_.size).sum)
    root.put("tasks", tasks)
    val nanos = root.putArray("nanos")
    kept.foreach(nanos.add(_))
    val places = root.putArray("places")
    (1 to 600).foreach { n =>
      val busiest = perExecutor(n)
      places.addObject().put("executors", n).put("used", busiest.size)
        .put("fewest", busiest.min).put("most", busiest.max)
    }
    println(mapper.writeValueAsString(root))
  }

  private def executors(n: Int) = (0 until n).map(i => f"executor_host-${i % 7}_$i%04d").sorted

  /** How many partitions prefer each executor: 16 clusters with a topic of two partitions for each executor. */
  private def perExecutor(n: Int): Seq[Int] = {
    val places = new Places(executors(n))
    val chosen =
      for (cluster <- 0 until 16; p <- 0 until 2 * n) yield places(s"cluster-$cluster", "orders", p)
    chosen.groupBy(identity).values.map(_.size).toSeq
  }
}
