package io.github.dynamickafka.source.replacement

import io.github.dynamickafka.offset.Continuation
import io.github.dynamickafka.offset.mirror.MirrorContinuation
import io.github.dynamickafka.offset.replacement.{Replacement, SameOffsets}
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

  private def sameOffsets(of: Replacement): Option[Either[String, Continuation]] =
    SameOffsets.questions(of) match {
      case Left(reason) => Some(Left(reason))
      case Right(questions) if questions.isEmpty => Some(SameOffsets.continuation(of, Map.empty))
      case Right(questions) =>
        streams.readOne(of.id)(records(_, questions)).map(SameOffsets.continuation(of, _))
    }
}
