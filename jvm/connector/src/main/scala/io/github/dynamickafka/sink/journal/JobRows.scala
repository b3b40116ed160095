package io.github.dynamickafka.sink.journal

/**
 * Identifies the rows of a job together with its [[BatchInput]], because a job that is run again has the same name and may have
 * other rows.
 *
 * @param query the id of the streaming query in whose `foreachBatch` the job ran
 * @param rows the number of rows that Spark has passed to the tasks
 */
private[sink] final case class JobRows(query: Option[String], rows: Long)
