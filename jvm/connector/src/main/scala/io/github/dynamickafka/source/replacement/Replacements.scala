package io.github.dynamickafka.source.replacement

import org.apache.kafka.common.TopicPartition

import io.github.dynamickafka.offset.Continuation
import io.github.dynamickafka.offset.mirror.MirrorContinuation
import io.github.dynamickafka.offset.replacement.{ByTime, GroupOffsets, Replacement, SameOffsets}
import io.github.dynamickafka.source.cluster.ClusterStreams
import io.github.dynamickafka.topology.ReplacedClusterPolicy

/**
 * Finds out where the query continues in a Kafka cluster that replaces another one: asks the new cluster what the
 * policy needs. The decisions are in [[io.github.dynamickafka.offset.replacement]]. Used only by the thread of the query, which
 * waits for the responses, once for each replacement.
 *
 * @param records reads single records of the new cluster
 * @param checkpoints reads checkpoints of MirrorMaker there
 */
private[source] final class Replacements(
    policy: ReplacedClusterPolicy,
    streams: ClusterStreams,
    records: RecordsAt = RecordsAt.Consumer,
    checkpoints: MirrorCheckpoints = MirrorCheckpoints.Consumer
) {

  /**
   * @return None if the cluster does not respond; left: why the positions cannot be found
   * @throws DynamicKafkaRuntimeException `CLUSTER_UNREACHABLE` and others of this cluster
   */
  def apply(of: Replacement): Option[Either[String, Continuation]] = policy match {
    case ReplacedClusterPolicy.Fail => Some(Left("the offsets in the checkpoint do not apply to it"))
    case ReplacedClusterPolicy.Earliest => Some(Right(Continuation(of.view.earliest)))
    case ReplacedClusterPolicy.Latest => Some(Right(Continuation(of.view.ends)))
    case ReplacedClusterPolicy.Timestamp(overlapMs) => byTime(of, overlapMs).map(Right(_))
    case ReplacedClusterPolicy.GroupOffsets(group, overlapMs) =>
      for {
        timed <- byTime(of, overlapMs)
        committed <- streams.askOne(of.id)(_.committed(group))
      } yield Right(GroupOffsets.continuation(
        of,
        timed,
        committed.map { case (tp, at) => (tp.topic, tp.partition) -> at }
      ))
    case ReplacedClusterPolicy.SameOffsets => sameOffsets(of)
    case ReplacedClusterPolicy.MirrorMaker(group, alias, topics) =>
      mirrored(new MirrorContinuation(of, group, alias.getOrElse(of.former), topics), of.id)
  }

  private def mirrored(mirror: MirrorContinuation, id: String): Option[Either[String, Continuation]] =
    mirror.question match {
      case Left(reason) => Some(Left(reason))
      case Right(question) =>
        streams.readOne(id)(config => checkpoints(config, mirror.checkpoints, question))
          .map(_.flatMap(mirror.continuation))
    }

  private def byTime(of: Replacement, overlapMs: Long): Option[Continuation] = {
    val bounds = ByTime.bounds(of, overlapMs)
    for {
      from <- offsets(of, bounds.from)
      until <- offsets(of, bounds.until)
    } yield ByTime.continuation(of, bounds, from, until)
  }

  /** The first offsets of these times or later, of partitions with such a record. */
  private def offsets(of: Replacement, times: Map[(String, Int), Long]): Option[Map[(String, Int), Long]] =
    if (times.isEmpty) Some(Map.empty)
    else {
      val asked = times.map { case ((topic, p), ms) => new TopicPartition(topic, p) -> ms }
      streams.timesNow(Map(of.id -> asked)).get(of.id).flatten
        // A partition whose leader does not respond is not one without such a record.
        .filter(_.keySet == asked.keySet)
        .map(_.collect { case (tp, found) if found.offset >= 0 => (tp.topic, tp.partition) -> found.offset })
    }

  private def sameOffsets(of: Replacement): Option[Either[String, Continuation]] =
    SameOffsets.questions(of) match {
      case Left(reason) => Some(Left(reason))
      case Right(questions) if questions.isEmpty => Some(SameOffsets.continuation(of, Map.empty))
      case Right(questions) =>
        streams.readOne(of.id)(records(_, questions)).map(SameOffsets.continuation(of, _))
    }
}
