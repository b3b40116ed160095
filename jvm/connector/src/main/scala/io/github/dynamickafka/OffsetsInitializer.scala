package io.github.dynamickafka

import java.{util => ju}

import scala.collection.immutable.SortedMap
import scala.jdk.CollectionConverters._

import io.github.dynamickafka.base.Json
import io.github.dynamickafka.config.{OffsetsFunctions, SourceOptionSpecs}

/** A start or stopping position for `setStartingOffsets` and `setEndingOffsets`. Immutable. */
final class OffsetsInitializer private (kind: String, value: String, fallback: Option[String]) {

  private[dynamickafka] def startingOptions: Seq[(String, String)] = options("starting")
  private[dynamickafka] def endingOptions: Seq[(String, String)] = options("ending")

  private def options(side: String) =
    (s"$side$kind" -> value) +: fallback.map(SourceOptionSpecs.CommittedOffsetsFallback.name -> _).toSeq

  override def toString: String = s"OffsetsInitializer($value)"
}

object OffsetsInitializer {

  /** The earliest available offset of each partition. Valid only as a start position. */
  def earliest(): OffsetsInitializer = plain("earliest")

  /** The latest offset of each partition, which is the offset after its last record. */
  def latest(): OffsetsInitializer = plain("latest")

  /** The committed offsets of a consumer group. The query fails if a partition has no committed offset. */
  def committedOffsets(): OffsetsInitializer = committedOffsets("fail")

  /**
   * The committed offsets of a consumer group: the group of the option `commitGroupId`, or of `kafka.group.id` if it is
   * not set.
   *
   * @param fallback the position of a partition without a committed offset: `fail`, `earliest` or `latest`
   */
  def committedOffsets(fallback: String): OffsetsInitializer =
    new OffsetsInitializer("Offsets", "committed", Some(fallback))

  /**
   * The first record of each partition with this timestamp or a later one. As a start position, it is the latest offset
   * if there is no such record.
   *
   * @param epochMs milliseconds since 1970-01-01 UTC
   */
  def timestamp(epochMs: Long): OffsetsInitializer =
    new OffsetsInitializer("Timestamp", epochMs.toString, None)

  /** Offsets by cluster id, topic and partition. -2 is earliest (only as a start position), -1 is latest. */
  def offsets(byCluster: Map[String, Map[String, Map[Int, Long]]]): OffsetsInitializer =
    plain(Json.write(byCluster.map { case (cluster, topics) =>
      cluster -> topics.map { case (topic, partitions) => topic -> SortedMap.from(partitions) }
    }))

  def offsets(byCluster: ju.Map[String, ju.Map[String, ju.Map[Integer, java.lang.Long]]])
      : OffsetsInitializer =
    offsets(byCluster.asScala.view.mapValues {
      _.asScala.view.mapValues(_.asScala.map { case (p, o) => p.intValue -> o.longValue }.toMap).toMap
    }.toMap)

  /**
   * Offsets that a function determines, of cluster id, topic and partitions: an offset for each of these partitions, where -2 is
   * earliest (only as a start position) and -1 is latest. It is called on the driver, once for what a query finds at its first start.
   */
  def of(function: (String, String, Seq[Int]) => Map[Int, Long]): OffsetsInitializer =
    plain(OffsetsFunctions.register(function))

  private def plain(value: String) = new OffsetsInitializer("Offsets", value, None)
}
