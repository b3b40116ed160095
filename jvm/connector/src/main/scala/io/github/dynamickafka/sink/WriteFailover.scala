package io.github.dynamickafka.sink

import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.config.{ClusterRouting, ProducerProperties, SinkOptions}
import io.github.dynamickafka.topology.{Topology, WriteStream}

/**
 * `writeFailover=next`: finds the clusters that do not respond when a batch starts, so that the batch is written without them.
 * Asks only clusters that determine where records go, all at once. One that did not respond is not asked again for
 * [[WriteFailover.HoldMs]]: otherwise each batch would wait for it, and a cluster that comes and goes would move its keys with
 * each batch. Not thread-safe.
 *
 * @param ask returns why a cluster does not respond; None: it does
 */
private[sink] final class WriteFailover(
    routing: ClusterRouting,
    ask: Seq[String] => Map[String, Option[Throwable]],
    clock: Clock
) {
  import WriteFailover._

  private var failed = Map.empty[String, Failed]

  /** @param properties of all clusters: one that has others now is asked again at once */
  def notResponding(topology: Topology, properties: Map[String, ProducerProperties]): Set[String] = {
    val streams = topology.streams.values.toSeq
    val now = clock.monotonicMs()
    val before = failed
    failed = failed.filter { case (id, f) => properties.get(id).contains(f.properties) }
    val held = failed.collect { case (id, f) if now - f.atMs < HoldMs => id -> false }
    val known = asked(streams, held, properties)
    // A stream without a cluster is worse than another question.
    val again =
      streams.filter(_.open.forall(known.get(_).contains(false))).flatMap(_.open).filter(held.contains)
    val all = if (again.isEmpty) known else asked(streams, known -- again, properties)
    val out = all.collect { case (id, false) => id }.toSet
    tell(before, all)
    out
  }

  @annotation.tailrec
  private def asked(
      streams: Seq[WriteStream],
      known: Map[String, Boolean],
      properties: Map[String, ProducerProperties]
  ): Map[String, Boolean] = {
    val ids = unknown(streams, routing, known).toSeq.sorted
    if (ids.isEmpty) known
    else {
      val answers = ask(ids)
      val now = clock.monotonicMs()
      answers.foreach {
        case (id, Some(why)) => failed += id -> Failed(properties(id), now, why)
        case (id, None) => failed -= id
      }
      asked(streams, known ++ answers.map { case (id, why) => id -> why.isEmpty }, properties)
    }
  }

  private def tell(before: Map[String, Failed], known: Map[String, Boolean]): Unit = {
    for ((id, f) <- failed.toSeq.sortBy(_._1) if !before.contains(id))
      log.warn(
        s"Kafka cluster '$id' does not respond; batches are written without it ('writeFailover'): ${f.why.getMessage}"
      )
    for (id <- before.keys.toSeq.sorted if known.getOrElse(id, false))
      log.info(s"Kafka cluster '$id' responds again; batches are written to it")
  }
}

private[sink] object WriteFailover {
  private val log = LoggerFactory.getLogger(classOf[WriteFailover])

  /** A frozen cluster delays a batch by [[LongestMs]] in this time. */
  val HoldMs = 30000L
  private val LongestMs = 5000L

  /** How long a cluster may take to respond, in milliseconds. */
  def limitMs(options: SinkOptions): Long = math.min(LongestMs, options.clusters.requestTimeoutMs)

  private final case class Failed(properties: ProducerProperties, atMs: Long, why: Throwable)

  /**
   * The clusters to ask next: with `key` all that take writes; with `first` the first one of each stream, and if it does not
   * respond, all others at once. None: it is known where records go.
   *
   * @param known whether a cluster responds
   */
  def unknown(streams: Seq[WriteStream], routing: ClusterRouting, known: Map[String, Boolean]): Set[String] =
    streams.flatMap { stream =>
      val ids = stream.open
      routing match {
        case ClusterRouting.First if ids.headOption.exists(!known.contains(_)) => ids.take(1)
        case ClusterRouting.First if ids.find(known.getOrElse(_, true)).exists(known.contains) => Nil
        case _ => ids.filterNot(known.contains)
      }
    }.toSet
}
