package io.github.dynamickafka.source.report

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.offset.{CompositeOffset, Positions}

/** Computes lags once for the same objects: Spark requests the metrics of an idle query in each trigger. */
private[source] final class Lags {
  private var last: Option[(CompositeOffset, SortedMap[String, Positions], SortedMap[String, Seq[Long]])] =
    None

  /** As [[Lags.of]]. */
  def of(consumed: CompositeOffset, ends: SortedMap[String, Positions]): SortedMap[String, Seq[Long]] =
    last.collect { case (at, of, lags) if (at eq consumed) && (of eq ends) => lags }.getOrElse {
      val lags = Lags.of(consumed, ends)
      last = Some((consumed, ends, lags))
      lags
    }
}

private[source] object Lags {

  /**
   * The lag of each partition behind its last known latest offset, by cluster.
   *
   * @param ends the latest offsets, by cluster
   */
  def of(consumed: CompositeOffset, ends: SortedMap[String, Positions]): SortedMap[String, Seq[Long]] =
    consumed.clusters.map { case (id, positions) =>
      id -> positions.iterator.map { case (topic, p, at) =>
        ends.get(id).flatMap(_.get(topic, p)).fold(0L)(end => math.max(0L, end - at))
      }.toSeq
    }
}
