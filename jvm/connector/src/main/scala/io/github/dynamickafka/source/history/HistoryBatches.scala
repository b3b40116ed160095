package io.github.dynamickafka.source.history

import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.types.{DataType, StructType}
import org.slf4j.LoggerFactory

import io.github.dynamickafka.config.SourceOptions
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.{Layout, MetadataColumn}
import io.github.dynamickafka.metadata.Topology
import io.github.dynamickafka.offset.{CompositeOffset, HistoryFile, HistoryPlan, HistoryTable, UnreadFiles}
import io.github.dynamickafka.source.checkpoint.SourceCheckpoint

/**
 * The batches of histories. They depend only on the checkpoint. Used only by the thread of the query.
 *
 * @param layout of the table; None: the columns of Spark's Kafka source
 */
private[source] final class HistoryBatches(
    options: SourceOptions,
    layout: Option[Layout],
    checkpoint: SourceCheckpoint
) {
  private val log = LoggerFactory.getLogger(classOf[HistoryBatches])
  private var ignored = Set.empty[String]

  /** The end of the batch after `start` if all files come before Kafka; None if the batch is one of Kafka. */
  def next(start: CompositeOffset): Option[CompositeOffset] =
    plan(start).flatMap(_.next(start, options.batches.limits.historyFilesPerTrigger))

  /** The files that are not read at this offset, if there are any. */
  def unread(at: CompositeOffset): Option[UnreadFiles] =
    plan(at).flatMap(_.unread(at, options.batches.limits.historyFilesPerTrigger))

  /** The number of files that are not read. */
  def pending(at: CompositeOffset): Long = plan(at).fold(0L)(_.pending(at))

  /** The partitions of the files between two offsets. */
  def partitions(start: CompositeOffset, end: CompositeOffset): Array[InputPartition] =
    plan(start).toArray.flatMap(_.files(start, end)).flatMap((planned _).tupled)

  private def planned(stream: String, table: HistoryTable, files: Seq[HistoryFile]): Array[InputPartition] = {
    val source = new HistorySource(stream, table.source.format, table.source.path, layout)
    val schema = DataType.fromJson(table.source.schema).asInstanceOf[StructType]
    val columns = source.columns(schema, table.cluster, table.topic)
    val time = source.recordColumn(MetadataColumn.Timestamp, columns, schema)
    val planned = source.format.plan(WantedFiles(source.where, table, schema, columns.names, time, files))
    val projection = columns.projection(planned.schema, source.where)
    planned.partitions.toArray.map(part =>
      HistoryPartition(
        FilePart(part, planned.factory, planned.factory.supportColumnarReads(part)),
        projection,
        columns.isDecoded,
        planned.only,
        stream,
        options.records.includeHeaders
      ): InputPartition
    )
  }

  /** Histories of a query that has started are not read: logs them once. */
  def logIgnored(topology: Topology): Unit = {
    val more = topology.histories.keySet.toSet -- ignored
    if (more.nonEmpty) {
      ignored ++= more
      val known = checkpoint.history.fold(Set.empty[(String, String, String)])(
        _.tables.map { case (stream, t) => (stream, t.source.format, t.source.path) }.toSet
      )
      topology.histories.filter { case (stream, h) => more(stream) && !known((stream, h.format, h.path)) }
        .foreach { case (stream, history) =>
          log.warn(
            "The history of stream '{}' at '{}' is ignored, because the query has started without it",
            stream,
            history.path
          )
        }
    }
  }

  /** None: the offset is not one of a history. */
  private def plan(at: CompositeOffset): Option[HistoryPlan] = Option.when(at.history.nonEmpty)(
    checkpoint.history.getOrElse(
      throw Errors.invalidOffset("the offset is one of a history, but the checkpoint does not list its files")
    )
  )
}
