package org.apache.spark.sql

import java.util.UUID

import scala.util.control.NonFatal

/**
 * The checkpoint of a streaming query that runs, for a job in its `foreachBatch`. In a package of Spark because only the session
 * that started a query has a public list of it, and `foreachBatch` gets another one.
 */
object DynamicKafkaQueries {

  /** None: the query does not run in this driver. */
  def checkpoint(session: SparkSession, query: String): Option[String] =
    try session match {
        case of: classic.SparkSession =>
          Option(
            of.sharedState.activeStreamingQueries.get(UUID.fromString(query))
          ).map(_.resolvedCheckpointRoot)
        case _ => None
      }
    catch { case NonFatal(_) | _: LinkageError => None }
}
