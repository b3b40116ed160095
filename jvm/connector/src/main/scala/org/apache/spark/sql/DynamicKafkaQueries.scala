package org.apache.spark.sql

import java.time.Instant
import java.util.UUID

import scala.util.control.NonFatal

import org.apache.spark.SparkEnv
import org.apache.spark.scheduler.ExecutorCacheTaskLocation
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}

/**
 * Streaming queries that run, for their sources and sinks, and the executors. In a package of Spark because only the session that started a
 * query has a public list of it, and sources get another one; and because the ids of executors are private.
 */
object DynamicKafkaQueries {

  /** The local property of Spark on the thread of a streaming query. */
  private val Query = "sql.streaming.queryId"

  /** The id of the query on whose thread this is called. */
  def current(session: SparkSession): Option[UUID] =
    Option(session.sparkContext.getLocalProperty(Query)).map(UUID.fromString)

  /** Whether this is called on the thread of a query in real-time mode. */
  def isRealTime(session: SparkSession): Boolean =
    current(session).flatMap(active(session, _)).exists(query => isRealTime(query.trigger))

  /** Compares the name of the class, which Spark 4.0 does not have. */
  def isRealTime(trigger: Trigger): Boolean = trigger.getClass.getSimpleName == "RealTimeTrigger"

  /**
   * The watermark of the last batch of the query on whose thread this is called, in milliseconds since the epoch.
   *
   * @return None: there is no such query, or it has no watermark
   */
  def watermarkMs(session: SparkSession): Option[Long] =
    try
      for {
        query <- current(session)
        running: StreamingQuery <- active(session, query)
        progress <- Option(running.lastProgress)
        watermark <- Option(progress.eventTime.get("watermark"))
      } yield Instant.parse(watermark).toEpochMilli
    catch { case NonFatal(_) | _: LinkageError => None }

  /**
   * The executors as preferred locations of tasks, as Spark's Kafka source lists them, in a stable order; empty if all tasks run in this
   * process.
   */
  def executors(session: SparkSession): IndexedSeq[String] =
    if (session.sparkContext.isLocal) IndexedSeq.empty
    else {
      val own = SparkEnv.get.blockManager
      own.master.getPeers(own.blockManagerId).map(of =>
        ExecutorCacheTaskLocation(of.host, of.executorId).toString
      )
        .distinct.sorted.toIndexedSeq
    }

  private def active(session: SparkSession, query: UUID) = session match {
    case of: classic.SparkSession => Option(of.sharedState.activeStreamingQueries.get(query))
    case _ => None
  }
}
