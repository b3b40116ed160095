package io.github.dynamickafka.sink

import scala.collection.immutable.SortedMap
import scala.jdk.CollectionConverters._

import org.apache.kafka.common.header.internals.RecordHeader
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.{ClusterRouting, PartitionerChoice}
import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.format.table.DeadLetterOptions
import io.github.dynamickafka.kafka.TaskSender.Record
import io.github.dynamickafka.metadata.{Topology, TopologyCluster, WriteEntry, WriteStream}
import io.github.dynamickafka.testkit.TimeLimit

/** Rows that have a destination, but that Kafka does not accept. */
class RecordRoutingSuite extends AnyFunSuite with TimeLimit {
  private val streams =
    Map("s" -> WriteStream("s", Seq(WriteEntry("a", SortedMap("t" -> None), None, None))))

  private val row = OutputRow(
    null,
    Array[Byte](1),
    Seq(new RecordHeader("h", Array[Byte](2))),
    null,
    None,
    RowTarget(),
    invalid = Some("one of its headers has no key")
  )

  private def sent(
      row: OutputRow,
      deadLetters: Option[DeadLetterOptions],
      refused: Option[String] = None
  ): Seq[(String, Record)] = {
    val router = new Router(streams, ClusterRouting.Key, Some("s"), turn = 0L)
    val picker = new PartitionPicker(PartitionerChoice.Default, (_, _) => 1, (_, _) => 1, 0)
    var all = Vector.empty[(String, Record)]
    new RecordRouting(router, picker, deadLetters, refused).send(row)((cluster, record) =>
      all :+= cluster -> record
    )
    all
  }

  test("it fails the batch with UNROUTABLE_ROW, the destination and the reason") {
    val e = intercept[DynamicKafkaRuntimeException](sent(row, None))
    assert(e.getCondition == "DYNAMIC_KAFKA.UNROUTABLE_ROW")
    assert(e.getMessageParameters.get("stream") == "'s'", e.getMessage)
    assert(Seq("'a'", "'t'", "no key").forall(e.getMessage.contains(_)), e.getMessage)
    assert(sent(row.copy(invalid = None), None).map(s => s._1 -> s._2.topic) == Seq("a" -> "t"))
  }

  test("a row whose cluster is not known is a dead letter only if deadLetterCluster is set") {
    val lost = row.copy(to = RowTarget(None, Some("x"), None), invalid = None)
    val e = intercept[DynamicKafkaRuntimeException](sent(lost, Some(DeadLetterOptions("dead", None))))
    assert(e.getCondition == "DYNAMIC_KAFKA.UNROUTABLE_ROW" && e.getMessage.contains("'x'"))
    val Seq((cluster, record)) = sent(lost, Some(DeadLetterOptions("dead", Some("b"))))
    assert(cluster == "b" && record.topic == "dead" && record.partition == null)
  }

  test(
    "no dead letter is written to a deadLetterCluster that takes no writes; rows with a cluster of their own have theirs"
  ) {
    val lost = row.copy(to = RowTarget(None, Some("x"), None), invalid = None)
    val to = Some(DeadLetterOptions("dead", Some("b")))
    val closed = Some("the cluster takes no writes: it is draining")
    val e = intercept[DynamicKafkaRuntimeException](sent(lost, to, closed))
    assert(e.getCondition == "DYNAMIC_KAFKA.UNROUTABLE_ROW")
    assert(
      Seq("'x'", "'deadLetterCluster' is 'b'", "it is draining").forall(e.getMessage.contains(_)),
      e.getMessage
    )
    assert(sent(row, to, closed).map(s => s._1 -> s._2.topic) == Seq("a" -> "dead"))
  }

  test("a cluster takes writes if a stream takes them on it") {
    def entry(cluster: String, closed: Option[String]) =
      WriteEntry(cluster, SortedMap("t" -> None), None, closed)
    val draining = Some("it is draining")
    val topology = Topology(
      streams = SortedMap(
        "s" -> WriteStream("s", Seq(entry("a", None), entry("b", draining), entry("c", draining))),
        "u" -> WriteStream("u", Seq(entry("b", None)))
      ),
      clusters =
        SortedMap.from(Seq("a", "b", "c").map(id => id -> TopologyCluster(id, SortedMap.empty, Map.empty)))
    )
    assert(Seq("a", "b").flatMap(topology.writeProblem).isEmpty)
    assert(topology.writeProblem("c").exists(_.contains("takes no writes: it is draining")))
    assert(topology.writeProblem("d").exists(_.contains("not in the metadata, which has a, b, c")))
  }

  test("with a dead letter topic it is written there, on its own cluster, with the rest of its headers") {
    val Seq((cluster, record)) = sent(row, Some(DeadLetterOptions("dead", None)))
    val headers = record.headers.asScala.map(h => h.key -> new String(h.value)).toMap
    assert(cluster == "a" && record.topic == "dead" && record.timestamp == null)
    assert(headers.contains("h") && headers("dynamic-kafka-reason").contains("no key"))
    assert(headers("dynamic-kafka-topic") == "t")
  }
}
