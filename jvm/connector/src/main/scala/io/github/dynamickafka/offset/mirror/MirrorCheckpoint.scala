package io.github.dynamickafka.offset.mirror

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.{BufferUnderflowException, ByteBuffer}

/**
 * A checkpoint of MirrorMaker 2: what a consumer group had read when its offset on the source was `upstream` is before
 * `downstream` on the target.
 *
 * @param topic the topic on the target
 */
private[dynamickafka] final case class MirrorCheckpoint(
    topic: String,
    partition: Int,
    upstream: Long,
    downstream: Long
)

private[dynamickafka] object MirrorCheckpoint {

  /** What a checkpoint is about; a later one about the same replaces it. */
  final case class Key(group: String, topic: String, partition: Int)

  /** @throws IllegalArgumentException if it is no key of a checkpoint */
  def key(bytes: Array[Byte]): Key = read(bytes)(in => Key(text(in), text(in), in.getInt))

  /**
   * The checkpoint in a record of the checkpoint topic. The format is that of `Checkpoint` in Kafka's `connect-mirror-client`,
   * which has had one version since Kafka 2.4.
   *
   * @throws IllegalArgumentException if the value has another version, or none
   */
  def apply(key: Key, value: Array[Byte]): MirrorCheckpoint = read(value) { in =>
    val version = in.getShort
    if (version != 0) throw new IllegalArgumentException(s"its version is $version instead of 0")
    MirrorCheckpoint(key.topic, key.partition, in.getLong, in.getLong)
  }

  private def read[A](bytes: Array[Byte])(body: ByteBuffer => A): A =
    try body(ByteBuffer.wrap(bytes))
    catch {
      case _: BufferUnderflowException =>
        throw new IllegalArgumentException(s"it ends after ${bytes.length} bytes")
    }

  private def text(in: ByteBuffer): String = {
    val length = in.getShort.toInt
    if (length < 0) throw new IllegalArgumentException(s"a text has the length $length")
    if (length > in.remaining) throw new BufferUnderflowException
    val bytes = new Array[Byte](length)
    in.get(bytes)
    new String(bytes, UTF_8)
  }
}
