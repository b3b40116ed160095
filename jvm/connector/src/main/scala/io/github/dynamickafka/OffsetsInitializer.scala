package io.github.dynamickafka

import java.{util => ju}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper

import io.github.dynamickafka.config.SourceOptionSpecs

/** Where reading starts or ends. Immutable. */
final class OffsetsInitializer private (kind: String, value: String, fallback: Option[String]) {

  private[dynamickafka] def startingOptions: Seq[(String, String)] = options("starting")
  private[dynamickafka] def endingOptions: Seq[(String, String)] = options("ending")

  private def options(side: String) =
    (s"$side$kind" -> value) +: fallback.map(SourceOptionSpecs.CommittedOffsetsFallback.name -> _).toSeq

  override def toString: String = s"OffsetsInitializer($value)"
}

object OffsetsInitializer {
  private val mapper = new ObjectMapper()

  /** The first record that Kafka still holds. */
  def earliest(): OffsetsInitializer = plain("earliest")

  /** After the last record. */
  def latest(): OffsetsInitializer = plain("latest")

  /** What a consumer group has committed; the query fails over a partition without a committed offset. */
  def committedOffsets(): OffsetsInitializer = committedOffsets("fail")

  /**
   * What a consumer group has committed: the one of the option `commitGroupId`, else of `kafka.group.id`.
   *
   * @param fallback for partitions without a committed offset: `fail`, `earliest` or `latest`
   */
  def committedOffsets(fallback: String): OffsetsInitializer =
    new OffsetsInitializer("Offsets", "committed", Some(fallback))

  /** The first record of this time or later, in milliseconds since 1970; the end where there is none. */
  def timestamp(epochMs: Long): OffsetsInitializer =
    new OffsetsInitializer("Timestamp", epochMs.toString, None)

  /** By cluster id, topic and partition; -2 is earliest and -1 latest. */
  def offsets(byCluster: Map[String, Map[String, Map[Int, Long]]]): OffsetsInitializer = {
    val sorted = new ju.TreeMap[String, ju.Map[String, ju.Map[Int, Long]]]
    byCluster.foreach { case (cluster, topics) =>
      val ofCluster = new ju.TreeMap[String, ju.Map[Int, Long]]
      topics.foreach { case (topic, partitions) => ofCluster.put(topic, new ju.TreeMap(partitions.asJava)) }
      sorted.put(cluster, ofCluster)
    }
    plain(mapper.writeValueAsString(sorted))
  }

  def offsets(byCluster: ju.Map[String, ju.Map[String, ju.Map[Integer, java.lang.Long]]])
      : OffsetsInitializer =
    offsets(byCluster.asScala.view.mapValues {
      _.asScala.view.mapValues(_.asScala.map { case (p, o) => p.intValue -> o.longValue }.toMap).toMap
    }.toMap)

  private def plain(value: String) = new OffsetsInitializer("Offsets", value, None)
}
