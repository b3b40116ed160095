package io.github.dynamickafka.offset

import java.util.Base64

import scala.collection.immutable.SortedMap
import scala.util.Random

import com.fasterxml.jackson.databind.ObjectMapper

import io.github.dynamickafka.metadata.{
  OffsetsPolicy,
  ReplacedClusterPolicy,
  Topology,
  TopologyCluster,
  TopologyTopic
}

/**
 * Measures the operations of a trigger on a composite offset, without Kafka and Spark's engine: `OffsetBenchmark
 * <clusters> <partitions> <rounds>`. Prints JSON with the nanoseconds of each round, after the same number of warm-up
 * rounds.
 */
object OffsetBenchmark {
  private val Topics = 4

  def main(args: Array[String]): Unit = {
    val Array(clusters, partitions, rounds) = args.map(_.toInt)
    val bench = new OffsetBenchmark(clusters, partitions)
    (1 to rounds).foreach(_ => bench.round())
    val kept = (1 to rounds).map(_ => bench.round())
    System.gc()
    val used = Runtime.getRuntime.totalMemory() - Runtime.getRuntime.freeMemory()
    val mapper = new ObjectMapper
    val root = mapper.createObjectNode()
      .put("clusters", clusters)
      .put("partitions", bench.size)
      .put("json_bytes", bench.start.json.length)
      .put("heap_mib", used / 1024 / 1024)
    val nanos = root.putObject("nanos")
    bench.parts.foreach { case (name, _) =>
      val values = nanos.putArray(name)
      kept.foreach(round => values.add(round(name)))
    }
    println(mapper.writeValueAsString(root))
  }

  private val random = new Random(1)

  /** An offset as random as after a long time: offsets cannot be compressed. */
  private def anyOffset(): Long = (random.nextDouble() * 1e12).toLong

  private def anyId(): String = {
    val bytes = new Array[Byte](16)
    random.nextBytes(bytes)
    Base64.getUrlEncoder.withoutPadding.encodeToString(bytes)
  }

  private def identity(of: Positions): ClusterIdentity =
    ClusterIdentity(Some(anyId()), SortedMap.from(of.topics.map(_ -> anyId())), epochs(of))

  /** Leaders have been elected at different times. */
  private def epochs(of: Positions): Positions =
    Positions.from(of.iterator.map { case (topic, p, _) => (topic, p, random.nextInt(20).toLong) })

  /** `total` partitions, evenly distributed over clusters and their topics. */
  private def positions(clusters: Int, total: Int): SortedMap[String, Positions] = {
    def share(of: Int, among: Int, index: Int) = of / among + (if (index < of % among) 1 else 0)
    SortedMap.from((0 until clusters).map { c =>
      val own = share(total, clusters, c)
      f"cluster-$c%03d" -> Positions((0 until Topics).map { t =>
        s"orders-$t" -> SortedMap.from((0 until share(own, Topics, t)).map(p => p -> anyOffset()))
      })
    })
  }
}

private final class OffsetBenchmark(clusters: Int, partitions: Int) {
  val start: CompositeOffset = {
    val all = OffsetBenchmark.positions(clusters, partitions)
    CompositeOffset(
      all,
      identities = all.map { case (id, positions) => id -> OffsetBenchmark.identity(positions) }
    )
  }
  val size: Int = start.clusters.valuesIterator.map(_.size).sum

  private val end = start.copy(clusters = start.clusters.map { case (id, all) =>
    id -> Positions.from(all.iterator.map { case (topic, p, offset) => (topic, p, offset + 10) })
  })
  private val topology = Topology(start.clusters.map { case (id, all) =>
    id -> TopologyCluster(id, SortedMap.from(all.topics.map(_ -> TopologyTopic("orders"))), Map.empty)
  })
  private val views: Map[String, ClusterView] = end.clusters.map { case (id, all) =>
    val known = start.identity(id)
    id -> ClusterView.Reachable(
      ends = all,
      earliest = start.position(id),
      identity = known
    )
  }
  private val rules = Reconcile.Rules(-1, drainRemoved = false, (_, _, _, _) => OffsetsPolicy.Earliest)
  private val transition = Reconcile(start, topology, 0L, rules)
  private val text = start.json

  val parts: Seq[(String, () => Any)] = Seq(
    "encode" -> (() => CompositeOffsetJson.write(start)),
    "decode" -> (() => CompositeOffsetJson.read(text)),
    "reconcile" -> (() => Reconcile(start, topology, 0L, rules)),
    "advance" -> { () =>
      val advance = NextOffset(start, transition, views, ReplacedClusterPolicy.Fail, _ => false)
      advance.offset(BudgetShare(advance.spans.map(_.lag), size.toLong * 5))
    },
    "between" -> (() => OffsetRange.between(start, end))
  )

  /** The last results, volatile so that the compiler cannot eliminate the computation. */
  @volatile var sink: Any = null

  def round(): Map[String, Long] = parts.map { case (name, part) =>
    val begin = System.nanoTime()
    sink = part()
    name -> (System.nanoTime() - begin)
  }.toMap
}
