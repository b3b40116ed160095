package io.github.dynamickafka.offset.mirror

import io.github.dynamickafka.offset.replacement.Replacement
import io.github.dynamickafka.offset.{Continuation, Positions}
import io.github.dynamickafka.topology.MirroredTopics

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
          s"topic '$topic' of the former cluster does not continue: the metadata have no topic '${names.mirrored(alias, topic)}'"
        )
      )
    }
  }

  /** The topics of the former cluster with their names in the new one; None: they are read no more. */
  private lazy val former: Seq[(String, Either[String, Option[String]])] =
    of.positions.topics.toSeq.sorted.map { topic =>
      val there = names.mirrored(alias, topic)
      topic -> (if (of.topics(there)) Right(Some(there))
                else if (of.topics(topic))
                  Left(
                    s"MirrorMaker copies topic '$topic' of '$alias' to topic '$there', which the metadata of the new cluster lack"
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
