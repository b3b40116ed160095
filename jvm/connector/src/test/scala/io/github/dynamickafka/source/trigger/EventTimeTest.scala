package io.github.dynamickafka.source.trigger

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.{col, count, max, window}
import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.source.{Queries, Query}

/** Queries with one watermark over several clusters. */
trait EventTimeTest extends Queries {
  val DelayS = 10

  /** The options of a query whose clusters are aligned. */
  def aligned(drift: String, more: (String, String)*): Seq[(String, String)] =
    Seq("alignment" -> "timestamp", "alignmentMaxDrift" -> drift) ++ more

  /** The rows of each cluster that a windowed count has counted, and what Spark counts as dropped. */
  def counted(s: Query, rows: DataFrame): (Map[String, Long], Long) = {
    val name = newTopic("windows").replace('-', '_')
    val query = rows.groupBy(window(col("timestamp"), "1 minute"), col("cluster")).agg(count("*").as("n"))
      .writeStream.outputMode("update").format("memory").queryName(name)
      .option("checkpointLocation", s.folder.resolve(name).toString)
      .trigger(Trigger.AvailableNow()).start()
    try assert(query.awaitTermination(540000))
    finally query.stop()
    val last = spark.table(name).groupBy("window", "cluster").agg(max("n").as("n"))
    val byCluster =
      last.groupBy("cluster").sum("n").collect().map(r => r.getString(0) -> r.getLong(1)).toMap
    val dropped = query.recentProgress.flatMap(_.stateOperators).map(_.numRowsDroppedByWatermark).sum
    (byCluster, dropped)
  }

  def watermarked(frame: DataFrame): DataFrame = frame.withWatermark("timestamp", s"$DelayS seconds")
}
