package io.github.dynamickafka.offset.replacement

import java.nio.ByteBuffer

import scala.util.Try

import org.apache.kafka.common.TopicPartition
import org.apache.kafka.connect.mirror.{Checkpoint, CheckpointBytes}
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

/** Checkpoints, compared with MirrorMaker's own class. */
class MirrorCheckpointSuite extends AnyFunSuite with ScalaCheckPropertyChecks {
  implicit override val generatorDrivenConfig: PropertyCheckConfiguration =
    PropertyCheckConfiguration(minSuccessful = 500)

  // Kafka's strings may have 32767 bytes.
  private val texts = Gen.oneOf(
    Gen.asciiPrintableStr,
    Gen.const(""),
    Gen.listOf(Gen.oneOf("ä", "€", "😀", "x")).map(_.mkString)
  )
  private val checkpoints = for {
    group <- texts
    topic <- texts
    partition <- Gen.choose(0, Int.MaxValue)
    upstream <- Gen.choose(0L, Long.MaxValue)
    downstream <- Gen.choose(0L, Long.MaxValue)
    metadata <- texts
  } yield new Checkpoint(group, new TopicPartition(topic, partition), upstream, downstream, metadata)

  test("every checkpoint that MirrorMaker writes is read") {
    forAll(checkpoints) { written =>
      val key = MirrorCheckpoint.key(CheckpointBytes.key(written))
      assert(key == MirrorCheckpoint.Key(
        written.consumerGroupId,
        written.topicPartition.topic,
        written.topicPartition.partition
      ))
      assert(MirrorCheckpoint(key, CheckpointBytes.value(written)) == MirrorCheckpoint(
        written.topicPartition.topic,
        written.topicPartition.partition,
        written.upstreamOffset,
        written.downstreamOffset
      ))
    }
  }

  test("another version, and anything else, is refused by name") {
    val key = MirrorCheckpoint.Key("g", "orders", 0)
    def refused(value: Array[Byte]) =
      intercept[IllegalArgumentException](MirrorCheckpoint(key, value)).getMessage
    val later = ByteBuffer.allocate(32).putShort(1.toShort).array
    assert(refused(later) == "its version is 1 instead of 0")
    assert(refused(Array[Byte](0, 0, 1)) == "it ends after 3 bytes")
    forAll(Gen.containerOf[Array, Byte](Gen.choose(Byte.MinValue, Byte.MaxValue))) { bytes =>
      assert(Try(MirrorCheckpoint.key(bytes)).fold(_.isInstanceOf[IllegalArgumentException], _ => true))
    }
  }
}
