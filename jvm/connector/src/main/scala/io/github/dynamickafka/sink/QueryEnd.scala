package io.github.dynamickafka.sink

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.streaming.StreamingQueryListener.QueryTerminatedEvent

/** Spark does not tell a sink that its query is over; its listeners are told. */
private[sink] object QueryEnd {

  /** What Spark has as the job group of a query is the id of its run. */
  private val RunId = "spark.jobGroup.id"

  /** To be called on the query's thread. */
  def whenOver(spark: SparkContext, queryId: String)(close: => Unit): Unit = {
    val runId = spark.getLocalProperty(RunId)
    spark.addSparkListener(new SparkListener {
      override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
        // The event of an earlier run of the query may come late.
        case over: QueryTerminatedEvent if over.id.toString == queryId && over.runId.toString == runId =>
          spark.removeSparkListener(this)
          close
        case _ =>
      }
    })
  }
}
