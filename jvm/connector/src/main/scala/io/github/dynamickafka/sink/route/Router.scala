package io.github.dynamickafka.sink.route

import scala.collection.mutable

import io.github.dynamickafka.config.ClusterRouting
import io.github.dynamickafka.sink.row.OutputRow
import io.github.dynamickafka.topology.{WriteEntry, WriteStream}

/**
 * Determines the destinations of the rows of one task, with the topology of the batch. Deterministic. Not thread-safe.
 *
 * @param turn determines the cluster of records without a key. It differs by task and batch. All such records of a task
 *             go to one cluster, so that a task waits for few clusters
 */
private[sink] final class Router(
    streams: collection.Map[String, WriteStream],
    routing: ClusterRouting,
    defaultStream: Option[String],
    turn: Long
) {
  import Router._

  // A cache: rows have few different destinations, and mostly the same as the row before.
  private val plans = mutable.HashMap.empty[Named, Plan]
  private var latest: (Named, Plan) = (Named(None, None, None), null)

  /** One element for each record to write. */
  def route(row: OutputRow): Seq[Route] = {
    if (latest._2 == null || !latest._1.in(row)) latest = destinations(row)
    latest._2 match {
      case Every(routes) => routes
      case of: OneOf => of.routes(choice(row.key, of))
    }
  }

  /** The stream of a row; None: neither the row nor the query names one. */
  def stream(row: OutputRow): Option[String] = row.stream.orElse(defaultStream)

  private def destinations(row: OutputRow): (Named, Plan) = {
    // A limit in case that rows contain many invalid names.
    if (plans.size >= MostPlans) plans.clear()
    val named = Named(row.stream, row.cluster, row.topic)
    named -> plans.getOrElseUpdate(named, planned(row))
  }

  private def choice(key: Array[Byte], of: OneOf): Int =
    if (key == null) math.floorMod(turn, of.routes.size.toLong).toInt
    else Rendezvous.choose(key, of.weights)

  private def planned(row: OutputRow): Plan = {
    def no(cluster: Option[String], reason: String) =
      Every(Seq(Left(Unroutable(
        stream(row),
        cluster,
        row.topic,
        reason,
        knownCluster = false
      ))))
    stream(row) match {
      case None => no(row.cluster, "the row has no value in a column 'stream', and 'streamId' is not set")
      case Some(id) => streams.get(id) match {
          case None => no(row.cluster, s"the metadata has no stream '$id'")
          case Some(stream) => row.cluster.fold(byRouting(stream, row, no(None, _)))(own(stream, _, row, no))
        }
    }
  }

  private def own(
      stream: WriteStream,
      cluster: String,
      row: OutputRow,
      no: (Option[String], String) => Plan
  ): Plan =
    stream.entry(cluster) match {
      case None =>
        no(
          Some(cluster),
          s"the cluster does not belong to the stream, which has ${stream.clusters.map(_.cluster).mkString(", ")}"
        )
      case Some(entry) =>
        entry.closed.fold[Plan](Every(Seq(at(stream, entry, row))))(why =>
          no(Some(cluster), s"the cluster takes no writes: $why")
        )
    }

  private def byRouting(stream: WriteStream, row: OutputRow, no: String => Plan): Plan =
    if (stream.writable.isEmpty)
      no(s"no cluster of the stream takes writes (${stream.clusters.map(e =>
          s"${e.cluster}: ${e.closed.getOrElse("")}"
        ).mkString(", ")})")
    else
      routing match {
        case ClusterRouting.Key =>
          OneOf(
            stream.writable.map(entry => Seq(at(stream, entry, row))),
            stream.writable.map(entry => Rendezvous.weight(entry.cluster)).toArray
          )
        case ClusterRouting.First => Every(stream.first.toSeq.map(at(stream, _, row)))
        case ClusterRouting.All => Every(stream.writable.map(at(stream, _, row)))
      }

  private def at(stream: WriteStream, entry: WriteEntry, row: OutputRow): Route = {
    def no(reason: String) =
      Unroutable(Some(stream.id), Some(entry.cluster), row.topic, reason, knownCluster = true)
    row.topic match {
      case Some(topic) if entry.has(topic) =>
        Right(Destination(entry.cluster, topic, entry.partitions(topic)))
      case Some(_) =>
        Left(no(s"the topic does not belong to the stream, which has ${topicsOf(entry)} on this cluster"))
      case None =>
        entry.only.map(topic => Destination(entry.cluster, topic, entry.partitions(topic)))
          .toRight(
            no(
              s"the row has no value in a column 'topic', and the stream has ${topicsOf(entry)} on this cluster"
            )
          )
    }
  }

  private def topicsOf(entry: WriteEntry): String =
    (entry.topics.keys ++ entry.pattern.map(p => s"topics that match '$p'")).mkString(", ")
}

private[sink] object Router {
  type Route = Either[Unroutable, Destination]

  private val MostPlans = 10000

  private final case class Named(stream: Option[String], cluster: Option[String], topic: Option[String]) {
    def in(row: OutputRow): Boolean = stream == row.stream && cluster == row.cluster && topic == row.topic
  }

  private sealed trait Plan
  private final case class Every(routes: Seq[Route]) extends Plan
  private final case class OneOf(routes: IndexedSeq[Seq[Route]], weights: Array[Long]) extends Plan
}
