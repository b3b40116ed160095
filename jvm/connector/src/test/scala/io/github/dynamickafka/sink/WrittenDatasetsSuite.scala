package io.github.dynamickafka.sink

import scala.collection.immutable.SortedMap

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.metadata.{Topology, WriteEntry, WriteStream}
import io.github.dynamickafka.testkit.TimeLimit

class WrittenDatasetsSuite extends AnyFunSuite with TimeLimit {

  private def stream(id: String, entries: (String, String)*) = id -> WriteStream(
    id,
    entries.map { case (cluster, topic) =>
      WriteEntry(cluster, SortedMap(topic -> None), Some(s"$topic-.*"), None)
    }
  )

  test("the topics that tasks have written, with their streams") {
    val topology = Topology(
      streams = SortedMap(stream("s", "blue" -> "a", "green" -> "a"), stream("t", "green" -> "b")),
      clusters = SortedMap.empty
    )
    val written = Seq(
      Map("green" -> Set("b", "a-1"), "blue" -> Set("a")),
      Map("blue" -> Set("a", "letters")),
      Map.empty[String, Set[String]],
      Map("gone" -> Set("a"))
    )
    val address = Map("blue" -> "b:1,c:2", "green" -> "g:1")
    val found = WrittenDatasets(topology, address.get(_), written)
    assert(found.map(d => (d.namespace, d.topic, d.cluster, d.stream)) == Seq(
      ("kafka://b:1", "a", "blue", Some("s")),
      ("kafka://b:1", "letters", "blue", None),
      ("kafka://g:1", "a-1", "green", Some("s")),
      ("kafka://g:1", "b", "green", Some("t"))
    ))
    assert(WrittenDatasets(topology, address.get(_), Nil).isEmpty)
  }
}
