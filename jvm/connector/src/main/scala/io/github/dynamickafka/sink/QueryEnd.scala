package io.github.dynamickafka.sink

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.streaming.StreamingQueryListener.QueryTerminatedEvent

/** Detects the termination of a query with a listener, because Spark does not notify a sink. */
private[sink] object QueryEnd {

  /** Spark uses the run id of a query as its job group. */
  private val RunId = "spark.jobGroup.id"

  /** Must be called on the thread of the query. */
  def whenOver(spark: SparkContext, queryId: String)(close: => Unit): Unit = {
    val runId = spark.getLocalProperty(RunId)
    spark.addSparkListener(new SparkListener {
      override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
        // The event of an earlier run of the query may arrive late.
        case over: QueryTerminatedEvent if over.id.toString == queryId && over.runId.toString == runId =>
          spark.removeSparkListener(this)
          // Closing may wait for a file system or a cluster, and all listeners of Spark share this thread. Not a daemon: what the
          // run has to say is written before the JVM ends.
          new Thread(() => close, "dynamic-kafka-sink-close").start()
        case _ =>
      }
    })
  }
}
