package io.github.dynamickafka.source.report

import java.util.concurrent.CompletableFuture

import scala.jdk.CollectionConverters._

import io.github.dynamickafka.source.{Queries, ScriptedRun}

/** Commits to a group of a Kafka cluster that has taken the place of another one. */
class GroupOfReplacedClusterSuite extends Queries {

  test("positions of the former cluster are not committed to the group on the new one") {
    spark.version
    val run = new ScriptedRun(
      "replacedClusterPolicy" -> "earliest",
      "commitOffsets" -> "true",
      "commitGroupId" -> "g"
    )
    def committed = run.kafka.commits.asScala.toSeq.map(_(("t", 0)))
    try {
      val first = run.next(run.begin())
      run.stream.commit(first)
      eventually(assert(committed == Seq(10L)))
      run.kafka.id = () => CompletableFuture.completedFuture("other")
      run.kafka.ends = Map(("t", 0) -> 6L)
      run.moves()
      val second = run.next(first)
      assert(second.position("blue").get("t", 0).contains(6L))
      run.stream.commit(second)
      eventually(assert(committed.lastOption.contains(6L)))
      assert(committed == Seq(10L, 6L))
    } finally run.close()
  }

  test("a group gets no positions without a response of the cluster that has their log") {
    assertCompiles("""
      import io.github.dynamickafka.offset._
      import io.github.dynamickafka.source.cluster._
      (streams: ClusterStreams, reached: CompositeOffset, view: ClusterView.Reachable) =>
        streams.commit("blue", reached, view, new CommitCounter)
    """)
    assertTypeError("""
      import io.github.dynamickafka.offset._
      import io.github.dynamickafka.source.cluster._
      (streams: ClusterStreams, reached: Positions) => streams.commit("blue", reached, new CommitCounter)
    """)
  }
}
