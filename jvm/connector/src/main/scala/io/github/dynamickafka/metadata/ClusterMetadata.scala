package io.github.dynamickafka.metadata

import java.{util => ju}

import scala.jdk.CollectionConverters._

/**
 * What a stream has on one cluster. Immutable. `toString` prints no property but the bootstrap servers.
 *
 * @param topics topics of the stream on this cluster
 * @param properties Kafka client properties, without the `kafka.` prefix; `bootstrap.servers` is required
 * @param startingOffsets where the topics start when they are new to the query, in the forms of the option
 *                        `startingOffsets`; null: the query's option decides
 * @param stoppingOffsets where reading ends, in the forms of the option `endingOffsets`; null: the option decides
 * @param state `active` or `draining`
 */
final class ClusterMetadata(
    topics: ju.Collection[String],
    properties: ju.Map[_, _],
    val startingOffsets: String,
    val stoppingOffsets: String,
    val state: String
) extends Serializable {

  def this(topics: ju.Collection[String], properties: ju.Map[_, _]) =
    this(topics, properties, null, null, ClusterMetadata.Active)

  def this(topics: ju.Collection[String], properties: ju.Map[_, _], startingOffsets: String) =
    this(topics, properties, startingOffsets, null, ClusterMetadata.Active)

  private val topicSet = new ju.LinkedHashSet[String](topics)
  private val propertyMap = {
    val copy = new ju.LinkedHashMap[String, String]
    properties.asScala.foreach { case (k, v) => copy.put(String.valueOf(k), String.valueOf(v)) }
    copy
  }

  def getTopics: ju.Set[String] = ju.Collections.unmodifiableSet(topicSet)
  def getProperties: ju.Map[String, String] = ju.Collections.unmodifiableMap(propertyMap)
  def getStartingOffsets: String = startingOffsets
  def getStoppingOffsets: String = stoppingOffsets
  def getState: String = state

  private def identity = (getTopics, getProperties, startingOffsets, stoppingOffsets, state)

  override def equals(other: Any): Boolean = other match {
    case that: ClusterMetadata => identity == that.identity
    case _ => false
  }
  override def hashCode: Int = identity.hashCode
  override def toString: String =
    s"ClusterMetadata(topics=${topicSet.asScala.mkString("[", ",", "]")}, " +
      s"bootstrap.servers=${propertyMap.get("bootstrap.servers")}, state=$state)"
}

object ClusterMetadata {
  val Active = "active"
  val Draining = "draining"
}
