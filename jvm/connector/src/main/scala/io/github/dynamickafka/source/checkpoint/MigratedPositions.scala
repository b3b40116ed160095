package io.github.dynamickafka.source.checkpoint

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.{Removal, Topology}
import io.github.dynamickafka.offset.CompositeOffset
import io.github.dynamickafka.option.Suggestions

/**
 * The positions of a checkpoint that the command `migrate` has written, before the first batch of this source. Their cluster ids are
 * those that a user has given to the command, and nothing else is known of the clusters. So an id that the metadata lack is a mistake,
 * and not a cluster that was removed: under its right id it would be a new one, and be read a second time. Pure.
 *
 * @param start the positions
 * @param selected whether the metadata have a topic of a cluster, by cluster id
 * @param replaced the ids of clusters whose place others take
 */
private[dynamickafka] final case class MigratedPositions(
    start: CompositeOffset,
    selected: Map[String, String => Boolean],
    replaced: Set[String]
) {

  /** A cluster whose `cluster.id` is known is recognized under another id. */
  private val named =
    start.clusters.filter { case (id, _) => !replaced(id) && start.identity(id).kafkaId.isEmpty }

  /** What the metadata lack, for users. */
  def missing: Seq[String] = named.keys.toSeq.flatMap(id =>
    if (missingClusters.contains(id)) Seq(s"cluster '$id'")
    else missingTopics(id).map(topic => s"topic '$topic' on cluster '$id'")
  )

  def missingClusters: Seq[String] = named.keys.filterNot(selected.contains).toSeq

  /** The topics of a cluster that the metadata have. */
  def missingTopics(id: String): Seq[String] = (for {
    position <- named.get(id).toSeq
    has <- selected.get(id).toSeq
    topic <- position.topics.filterNot(has)
  } yield topic).sorted

  /** The id of the metadata that was probably meant. */
  def suggestion: Option[String] =
    named.keys.find(!selected.contains(_))
      .flatMap(Suggestions.closest(_, selected.keySet -- start.clusters.keySet))

  /** @throws DynamicKafkaRuntimeException `MIGRATION_MISMATCH` */
  def check(): Unit = if (missing.nonEmpty)
    throw Errors.migrationMismatch(
      missing,
      start.clusters.keys.toSeq.sorted,
      selected.keys.toSeq.sorted,
      suggestion
    )
}

private[dynamickafka] object MigratedPositions {

  /** What the metadata remove explicitly is in them. */
  def apply(start: CompositeOffset, topology: Topology): MigratedPositions = {
    val ids = topology.clusters.keySet.toSet ++ topology.removals.keySet
    MigratedPositions(
      start,
      ids.map { id =>
        val cluster = topology.clusters.get(id)
        val removal = topology.removals.getOrElse(id, Removal.none)
        id -> ((topic: String) =>
          removal(topic) || cluster.exists(c =>
            c.topics.contains(topic) || c.patterns.exists(_.matches(topic))
          )
        )
      }.toMap,
      topology.clusters.values.flatMap(_.replaces).toSet
    )
  }
}
