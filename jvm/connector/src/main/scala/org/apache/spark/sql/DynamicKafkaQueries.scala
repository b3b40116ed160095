package org.apache.spark.sql

import java.time.Instant
import java.util.UUID

import scala.util.control.NonFatal

import org.apache.spark.sql.streaming.StreamingQuery

/**
 * Streaming queries that run, for a job in the `foreachBatch` of one and for its sources. In a package of Spark because only the
 * session that started a query has a public list of it, and `foreachBatch` and sources get another one.
 */
object DynamicKafkaQueries {

  /** The local property of Spark on the thread of a streaming query. */
  private val Query = "sql.streaming.queryId"

  /** The id of the query on whose thread this is called. */
  def current(session: SparkSession): Option[UUID] =
    Option(session.sparkContext.getLocalProperty(Query)).map(UUID.fromString)

  /** None: the query does not run in this driver. */
  def checkpoint(session: SparkSession, query: String): Option[String] =
    try active(session, query).map(_.resolvedCheckpointRoot)
    catch { case NonFatal(_) | _: LinkageError => None }

  /**
   * The watermark of the last batch of the query on whose thread this is called, in milliseconds since the epoch.
   *
   * @return None: there is no such query, or it has no watermark
   */
  def watermarkMs(session: SparkSession): Option[Long] =
    try
      for {
        query <- Option(session.sparkContext.getLocalProperty(Query))
        running: StreamingQuery <- active(session, query)
        progress <- Option(running.lastProgress)
        watermark <- Option(progress.eventTime.get("watermark"))
      } yield Instant.parse(watermark).toEpochMilli
    catch { case NonFatal(_) | _: LinkageError => None }

  private def active(session: SparkSession, query: String) = session match {
    case of: classic.SparkSession =>
      Option(of.sharedState.activeStreamingQueries.get(UUID.fromString(query)))
    case _ => None
  }
}
