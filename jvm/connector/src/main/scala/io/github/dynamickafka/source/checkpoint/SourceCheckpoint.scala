package io.github.dynamickafka.source.checkpoint

import java.io.IOException

import scala.collection.immutable.SortedMap

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileAlreadyExistsException, FileSystem, Path}

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.kafka.Redaction
import io.github.dynamickafka.offset.CompositeOffset
import io.github.dynamickafka.storage.AtomicFiles
import io.github.dynamickafka.topology.{Topology, TopologyCluster}

/**
 * What the source keeps in its part of the query's checkpoint, beside Spark's offset log: where batch 0 starts,
 * and how the clusters that logged batches name are reached.
 *
 * Files are written whole under another name and renamed, never changed: a driver that is killed leaves the old
 * state or the new one.
 *
 * @param location the path that Spark gave this source; it is not always `sources/N`
 */
private[source] final class SourceCheckpoint(location: String, hadoop: Configuration) {
  import SourceCheckpoint._

  private val root = new Path(location)
  private val home = new Path(root, "dynamic-kafka")
  private val initialFile = new Path(home, "initial.json")
  private val topologies = new Path(home, "topology")
  private lazy val fs: FileSystem = root.getFileSystem(hadoop)
  private lazy val files = new AtomicFiles(fs, hadoop)

  private var lastTopology: Option[(Long, RememberedTopology)] = None
  private var topologyRead = false

  /** @throws DynamicKafkaRuntimeException `PLAIN_KAFKA_CHECKPOINT` where Spark's own source has been here */
  def refusePlainKafka(): Unit =
    // Spark's source keeps its first offsets as batch 0 of a log in just this folder.
    if (fs.exists(new Path(root, "0")) && !fs.exists(home)) throw Errors.plainKafkaCheckpoint(location)

  def initial: Option[InitialOffset] = files.read(initialFile).map(SourceCheckpointJson.readInitial)

  def writeInitial(initial: InitialOffset): Unit = write(initialFile, SourceCheckpointJson.write(initial))

  /** The newest one that was remembered, by this run or an earlier one. */
  def topology: Option[RememberedTopology] = {
    if (!topologyRead) {
      lastTopology =
        numbered().lastOption.flatMap(n =>
          files.read(file(n)).map(text => n -> SourceCheckpointJson.readTopology(text))
        )
      topologyRead = true
    }
    lastTopology.map(_._2)
  }

  /**
   * Before a batch is logged: what is needed to plan it again. Returns when it is durable; does nothing where
   * nothing has changed.
   *
   * @param end the offset that is about to be logged
   */
  def remember(current: Topology, end: CompositeOffset): Unit =
    remember(RememberedTopology.next(topology, current, end))

  /** A cluster of the last topology, or a former one that offsets still name. */
  def cluster(id: String): Option[TopologyCluster] =
    topology.flatMap(t => t.current.clusters.get(id).orElse(t.former.clusters.get(id)))

  /** The stream that a (cluster, topic) was read for; the cluster's id would tell nothing, so the topic's name. */
  def streamOf(id: String, topic: String): String =
    topology.toSeq.flatMap(t => Seq(t.current, t.former)).flatMap(_.clusters.get(id)).flatMap(_.topics.get(
      topic
    ))
      .headOption.fold(topic)(_.stream)

  private def remember(next: RememberedTopology): Unit =
    if (!topology.contains(next)) {
      val number = lastTopology.fold(0L)(_._1 + 1)
      write(file(number), SourceCheckpointJson.write(next))
      lastTopology = Some(number -> next)
      val _ = fs.delete(file(number - Kept), false)
    }

  private def file(number: Long) = new Path(topologies, s"$number.json")

  private def numbered(): Seq[Long] =
    if (!fs.exists(topologies)) Nil
    else fs.listStatus(topologies).toSeq.flatMap(_.getPath.getName.stripSuffix(".json").toLongOption).sorted

  private def write(path: Path, text: String): Unit =
    try files.create(path, text)
    catch {
      case e: FileAlreadyExistsException =>
        throw new IOException(
          s"could not write $path: the file exists, so another query uses this checkpoint",
          e
        )
    }
}

private[source] object SourceCheckpoint {
  private val Kept = 10L
}

/**
 * @param offset where batch 0 starts
 * @param unresolved clusters that were named then but could not be reached: their topics still start at
 *                   `startingOffsets`, not as new ones
 */
private[source] final case class InitialOffset(offset: CompositeOffset, unresolved: Set[String])

/**
 * What the checkpoint knows of the clusters that a composite offset can name. Properties are those of an
 * allow-list, so no secret is among them.
 *
 * @param current the last topology that a batch was made with
 * @param former clusters and topics that are not in it (any more) but in the offsets
 */
private[source] final case class RememberedTopology(current: Topology, former: Topology)

private[source] object RememberedTopology {

  /** After a batch with this topology that ends at this offset. What neither has any more is forgotten. */
  def next(
      before: Option[RememberedTopology],
      topology: Topology,
      end: CompositeOffset
  ): RememberedTopology = {
    val current = Topology(topology.clusters.map { case (id, cluster) =>
      id -> cluster.copy(properties = Redaction.safe(cluster.properties))
    })
    val old = before.toSeq.flatMap(b => Seq(b.former, b.current)).flatMap(_.clusters)
    val named = end.clusters.keySet ++ end.retained.keySet ++ end.draining.keySet
    val former =
      old.groupMapReduce(_._1)(_._2)((older, newer) => newer.copy(topics = older.topics ++ newer.topics))
        .collect {
          case (id, cluster) if named(id) => id -> without(cluster, current.clusters.get(id), topics(end, id))
        }
        .filter(_._2.topics.nonEmpty)
    RememberedTopology(current, Topology(SortedMap.from(former)))
  }

  private def topics(end: CompositeOffset, id: String): Set[String] =
    end.position(id).topics ++ end.retained.get(id).fold(Set.empty[String])(_.positions.topics)

  private def without(cluster: TopologyCluster, current: Option[TopologyCluster], named: Set[String]) =
    cluster.copy(
      topics = cluster.topics.filter { case (t, _) => named(t) && !current.exists(_.topics.contains(t)) },
      patterns = Nil
    )
}
