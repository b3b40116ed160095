package io.github.dynamickafka.source.plan

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.source.spark.{ClusterPartition, ClusterReader}
import io.github.dynamickafka.testkit.TimeLimit

/** What is read with Spark's own reader. */
class SparkPlannerSuite extends AnyFunSuite with TimeLimit {

  test("the task metrics of Spark's own reader are forwarded") {
    final case class Count(name: String, value: Long) extends CustomTaskMetric
    val counts = Array[CustomTaskMetric](Count("dataLoss", 3L), Count("offsetOutOfRange", 2L))
    val inner = new PartitionReader[InternalRow] {
      override def next(): Boolean = false
      override def get(): InternalRow = throw new NoSuchElementException
      override def close(): Unit = ()
      override def currentMetricsValues(): Array[CustomTaskMetric] = counts
    }
    val reader: PartitionReaderFactory = _ => throw new UnsupportedOperationException
    val partition = ClusterPartition("a", "h:1", "s", Set("t"), new InputPartition {}, reader, Nil)
    assert(new ClusterReader(partition, inner).currentMetricsValues.toSeq == counts.toSeq)
  }

  test("the same partition of many clusters is spread over executors") {
    val places = IndexedSeq("executor_a", "executor_b", "executor_c")
    val inner = new InputPartition {}
    val reader: PartitionReaderFactory = _ => throw new UnsupportedOperationException
    def at(id: String, place: String) = ClusterPartition(id, "h:1", "s", Set("t"), inner, reader, Seq(place))
    def located(ids: Seq[String]) =
      SparkPlanner.rotate(places.flatMap(place => ids.map(at(_, place)))).collect {
        case p: ClusterPartition =>
          (p.cluster, p.locations)
      }.groupMap(_._1)(_._2.head)
    val ids = (0 until 30).map(i => s"c$i")
    val found = located(ids)
    assert(
      found.values.forall(_.toSet == places.toSet),
      "each partition of a cluster is on an executor of its own"
    )
    val first = found.values.groupBy(_.head).values.map(_.size)
    assert(first.size == 3 && first.forall(_ >= 5), first)
    assert(located("a" +: ids).removed("a") == found, "a new cluster moves no other one")
    assert(SparkPlanner.rotate(Seq(at("a", "one"), at("b", "one"))).flatMap(_.preferredLocations) == Seq(
      "one",
      "one"
    ))
  }
}
