package io.github.dynamickafka.sink.realtime

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.connector.write.DataWriter
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{DynamicKafkaQueries, ForeachWriter, Row, SparkSession}

import io.github.dynamickafka.sink.report.{TaskReport, WrittenRecords}
import io.github.dynamickafka.sink.{QuerySink, WriterFactory}

/**
 * The sink of a query in real-time mode, in the driver. Spark serializes it for the tasks of each batch, in their place comes what these
 * tasks require, with the newest topology.
 *
 * @param open the sink of the query with this id
 */
private[realtime] final class KafkaForeachWriter(schema: StructType, open: String => QuerySink)
    extends ForeachWriter[Row] {
  @transient private var sink: Option[QuerySink] = None
  @transient private var newest: Option[(WriterFactory, WrittenRecords)] = None

  override def open(partition: Long, epoch: Long): Boolean = throw onlyInDriver
  override def process(row: Row): Unit = throw onlyInDriver
  override def close(error: Throwable): Unit = throw onlyInDriver

  private def onlyInDriver = new IllegalStateException("tasks have another writer")

  /** Used by Java's serialization. */
  private def writeReplace(): AnyRef = {
    val (factory, written) = ofBatch()
    new TaskForeachWriter(schema, factory, written)
  }

  /** Spark serializes the task of a batch on the thread of the query first, and on other threads afterwards. */
  private def ofBatch(): (WriterFactory, WrittenRecords) = synchronized {
    for (session <- SparkSession.getActiveSession; query <- DynamicKafkaQueries.current(session)) {
      val ofQuery = sink.getOrElse(open(query.toString))
      sink = Some(ofQuery)
      val run = ofQuery.streaming()
      newest = Some((run.factory().forRealTime, run.written))
    }
    newest.getOrElse(throw new IllegalStateException("no batch of the query has begun"))
  }
}

/** The same in a task. A batch is reported when all of its records are acknowledged. */
private[realtime] final class TaskForeachWriter(
    schema: StructType,
    factory: WriterFactory,
    written: WrittenRecords
) extends ForeachWriter[Row] {
  @transient private lazy val convert = CatalystTypeConverters.createToCatalystConverter(schema)
  @transient private var writer: Option[DataWriter[InternalRow]] = None

  override def open(partition: Long, epoch: Long): Boolean = {
    writer = Some(factory.createWriter(partition.toInt, TaskContext.get().taskAttemptId(), epoch))
    true
  }

  override def process(row: Row): Unit = writer.foreach(_.write(convert(row).asInstanceOf[InternalRow]))

  override def close(error: Throwable): Unit = writer.foreach { open =>
    try
      if (error != null) open.abort()
      else
        open.commit() match {
          case report: TaskReport => written.add(report.written)
          case _ => ()
        }
    finally open.close()
  }
}
