package io.github.dynamickafka.source.report

import scala.collection.immutable.SortedMap

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.offset.{CompositeOffset, Positions, ReadUntil, Retained, TopicEnds}
import io.github.dynamickafka.testkit.TimeLimit

class OffsetChangeTextSuite extends AnyFunSuite with TimeLimit {

  private def positions(all: (String, Int, Long)*) = Positions.from(all)

  test("a change of the topology is one line: what enters, leaves and drains, with offsets") {
    val start =
      CompositeOffset(SortedMap("blue" -> positions(("t", 0, 4L)), "red" -> positions(("t", 0, 1L))))
    val end = CompositeOffset(
      clusters = SortedMap("green" -> positions(("t", 0, 3L)), "red" -> positions(("t", 0, 1L))),
      entered = SortedMap("green" -> positions(("t", 0, 2L))),
      retained = SortedMap("blue" -> Retained.at(1L, positions(("t", 0, 4L)))),
      until = ReadUntil(
        SortedMap("red" -> positions(("t", 0, 8L))),
        SortedMap("green" -> SortedMap("t" -> TopicEnds("latest", SortedMap(0 -> 9L))))
      )
    )
    assert(
      OffsetChangeText.describe(OffsetChangeText.changes(start, end)).contains(
        """Topology change: cluster 'green' enters at {"t":{"0":2}}; cluster 'blue' leaves at {"t":{"0":4}}; cluster 'red' drains up to {"t":{"0":8}}; cluster 'green' stops at {"t":{"0":9}}"""
      )
    )
    assert(OffsetChangeText.describe(OffsetChangeText.changes(start, start)).isEmpty)
  }
}
