// Spark 4.0 has transformWithState for this package only.
package org.apache.spark.sql.keycounts

import org.apache.spark.sql.{DataFrame, Encoders}
import org.apache.spark.sql.streaming._

/** Counts the records of each key with `transformWithState`. `stateful_program.py` compiles it with the Scala compiler of PySpark. */
object KeyCounts {
  def of(records: DataFrame): DataFrame = {
    import records.sparkSession.implicits._
    records
      .as[(String, String)]
      .groupByKey(_._1)
      .transformWithState(new KeyCounts, TimeMode.None(), OutputMode.Update())
      .toDF("key", "count")
  }
}

final class KeyCounts extends StatefulProcessor[String, (String, String), (String, Long)] {
  @transient private var count: ValueState[Long] = _

  override def init(outputMode: OutputMode, timeMode: TimeMode): Unit =
    count = getHandle.getValueState[Long]("count", Encoders.scalaLong, TTLConfig.NONE)

  override def handleInputRows(
      key: String,
      records: Iterator[(String, String)],
      timers: TimerValues
  ): Iterator[(String, Long)] = {
    val total = (if (count.exists()) count.get() else 0L) + records.size
    count.update(total)
    Iterator((key, total))
  }
}
