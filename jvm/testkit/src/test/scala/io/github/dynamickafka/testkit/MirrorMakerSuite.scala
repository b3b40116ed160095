package io.github.dynamickafka.testkit

import java.nio.file.{Files, Paths}

import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

class MirrorMakerSuite extends AnyFunSuite with TimeLimit with OnBrokers with BeforeAndAfterAll {
  private lazy val Seq(source, target) = KafkaClusters.start("source", "target")

  override def beforeAll(): Unit = assert(source.isAlive)

  override def afterAll(): Unit = Seq(source, target).foreach(_.stop())

  private def values(prefix: String, n: Int) = (1 to n).map(i => Record(0, None, s"$prefix$i"))

  test("topics and the offsets of groups are copied, also after a kill; nothing is lost", TestAll) {
    source.createTopic("orders")
    target.createTopic("orders")
    target.produce("orders", values("other ", 5))
    source.produce("orders", values("expired ", 3))
    source.deleteRecords("orders", 0, 3)
    source.produce("orders", values("a", 10))
    source.commitOffsets("readers", "orders", Map(0 -> 13L))
    val mirror = MirrorMaker.start(source, target, "blue", Seq("orders"), Seq("readers"), identity = true)
    try {
      // Offset 13 of the source is offset 15 of the target.
      Poll.until("the group has the target's offset") {
        target.committedOffsets("readers").get("orders").contains(Map(0 -> 15L))
      }
      assert(target.topics()("blue.checkpoints.internal"))
      mirror.kill()
      assert(!mirror.isAlive)
      source.produce("orders", values("b", 10))
      mirror.restart()
      def copied = target.dump("orders").map(_.value)
      Poll.until("the rest is copied")(copied.contains("b10"))
      assert((values("a", 10) ++ values("b", 10)).map(_.value).toSet.subsetOf(copied.toSet))
    } finally mirror.close()
    assert(!mirror.isAlive)
  }

  test("by default the alias of the source precedes the names of topics", TestAll) {
    source.createTopic("payments", partitions = 2)
    source.produce("payments", Seq(Record(1, Some("k"), "v")))
    val mirror = MirrorMaker.start(source, target, "blue", Seq("payments"), Nil, targetAlias = "green")
    try Poll.until("the topic is copied") {
        target.topics()("blue.payments") && target.endOffsets("blue.payments") == Map(0 -> 0L, 1 -> 1L)
      }
    finally mirror.close()
  }

  test("nothing is left behind") {
    val mirror = MirrorMaker.start(source, target, "blue", Seq("orders"), Nil)
    val folder = Paths.get(s"/proc/${mirror.pid}/cwd").toRealPath()
    mirror.close()
    assert(!mirror.isAlive && !Files.exists(folder))
  }
}
