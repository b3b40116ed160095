package io.github.dynamickafka.offset.replacement

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.{BufferUnderflowException, ByteBuffer}

import io.github.dynamickafka.metadata.MirroredTopics
import io.github.dynamickafka.offset.{Continuation, Positions}

/**
 * `replacedClusterPolicy=mirror-maker`: where the checkpoints of MirrorMaker 2 say. Pure.
 *
 * @param alias how MirrorMaker calls the former cluster
 */
private[dynamickafka] final class MirrorContinuation(
    of: Replacement,
    group: String,
    alias: String,
    names: MirroredTopics
) {

  /** The topic with the checkpoints. */
  val checkpoints: String = names.checkpoints(alias)

  /** What has to be looked for, or why a position of the former cluster has none in the new one. */
  def question: Either[String, MirrorTranslation] =
    former.collectFirst { case (_, Left(reason)) => reason }.toLeft {
      MirrorTranslation(
        group,
        Positions(former.collect { case (topic, Right(Some(there))) => there -> of.positions.of(topic) })
      )
    }

  /** @param read the checkpoints of [[question]] */
  def continuation(read: MirrorTranslation): Either[String, Continuation] = {
    // Nothing has been read below the first offset, so all of the new log is unread. MirrorMaker has no checkpoint of a partition without
    // records.
    val positions = read.positions.iterator.filter(_._3 > 0).toSeq
    val found = positions.map { case (topic, p, at) =>
      checkpoint(read, topic, p, at).map(checkpoint => (topic, p, at, checkpoint))
    }
    found.collectFirst { case Left(reason) => reason }.toLeft {
      val all = found.collect { case Right(entry) => entry }
      Continuation(
        Positions.from(all.map { case (topic, p, _, checkpoint) => (topic, p, checkpoint.downstream) }),
        all.map { case (_, _, at, checkpoint) => at - checkpoint.upstream }.sum,
        gone.map(topic =>
          s"topic '$topic' of the former cluster does not continue: the metadata has no topic '${names.mirrored(alias, topic)}'"
        ),
        former.collect { case (topic, Right(Some(there))) if there != topic => topic }.toSet
      )
    }
  }

  /**
   * The topics of the former cluster with their names in the new one; None: they are read no more. Topics that the new cluster does not have
   * yet are decided when it has them.
   */
  private lazy val former: Seq[(String, Either[String, Option[String]])] =
    of.positions.topics.toSeq.sorted.filterNot(topic => of.view.missing(names.mirrored(alias, topic))).map {
      topic =>
        val there = names.mirrored(alias, topic)
        topic -> (if (of.topics(there)) Right(Some(there))
                  else if (of.topics(topic))
                    Left(
                      s"MirrorMaker copies topic '$topic' of '$alias' to topic '$there', which the metadata of the new cluster lacks"
                    )
                  else names.upstream(topic).filter(of.topics) match {
                    case Some(origin) =>
                      Left(s"topic '$topic' of the former cluster was copied from topic '$origin', and MirrorMaker does not translate " +
                        "offsets back to where they came from")
                    case None => Right(None)
                  })
    }

  private def gone = former.collect { case (topic, Right(None)) => topic }

  private def checkpoint(
      read: MirrorTranslation,
      topic: String,
      partition: Int,
      at: Long
  ): Either[String, MirrorCheckpoint] = {
    val where = s"topic '$topic', partition $partition"
    (read.found.get((topic, partition)), read.ahead.get((topic, partition))) match {
      case (Some(found), _) =>
        val (first, end) = (of.view.earliest.get(topic, partition), of.view.ends.get(topic, partition))
        first.filter(_ > found.downstream).map(first => s"the earliest available offset is $first")
          .orElse(end.filter(_ < found.downstream).map(end => s"the latest offset is $end"))
          .map(but => s"$where: the checkpoint of MirrorMaker has the offset ${found.downstream}, but $but")
          .toLeft(found)
      case (None, Some(ahead)) =>
        Left(
          s"$where: group '$group' was committed ahead of the query. The checkpoint of MirrorMaker is of offset ${ahead.upstream}, " +
            s"but the next offset to read was $at"
        )
      case (None, None) =>
        Left(
          s"$where: topic '$checkpoints' has no checkpoint of group '$group' for an offset up to $at, the next one to read"
        )
    }
  }
}

/**
 * The checkpoint of MirrorMaker 2 that holds for each position of a query. Records of the checkpoint topic are added in their order.
 * Pure.
 *
 * MirrorMaker translates the offsets that a group has committed, and no others. A checkpoint of an offset at or before the
 * position loses nothing: what the query has not read is behind it. One of a later offset would lose the records between, and the
 * group may be ahead of the query: its checkpoint was restored or reset, or another consumer has the same group. So the newest of the
 * former holds; what lies between it and the position is read again.
 *
 * @param positions positions on the replaced cluster, by the names of the topics on the target
 * @param found the newest checkpoint at or before the position
 * @param ahead the newest checkpoint behind the position, for error messages
 */
private[dynamickafka] final case class MirrorTranslation private (
    group: String,
    positions: Positions,
    found: Map[(String, Int), MirrorCheckpoint],
    ahead: Map[(String, Int), MirrorCheckpoint]
) {

  /**
   * @param value null: all earlier records with this key are void
   * @throws IllegalArgumentException if the record is no checkpoint
   */
  def add(key: Array[Byte], value: Array[Byte]): MirrorTranslation = {
    val about = MirrorCheckpoint.key(key)
    val at = (about.topic, about.partition)
    positions.get(about.topic, about.partition).filter(_ => about.group == group).fold(this) { position =>
      if (value == null) copy(found = found - at, ahead = ahead - at)
      else {
        val checkpoint = MirrorCheckpoint(about, value)
        if (checkpoint.upstream <= position) copy(found = found.updated(at, checkpoint))
        else copy(ahead = ahead.updated(at, checkpoint))
      }
    }
  }
}

private[dynamickafka] object MirrorTranslation {
  def apply(group: String, positions: Positions): MirrorTranslation =
    new MirrorTranslation(group, positions, Map.empty, Map.empty)
}

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
