package io.github.dynamickafka.source.history

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{DataType, StructType}

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.{Layout, MetadataColumn}
import io.github.dynamickafka.offset.history.HistoryTable

/**
 * The files of the history of a stream.
 *
 * @param layout of the table; None: the columns of Spark's Kafka source
 */
private[history] final class HistorySource(
    stream: String,
    formatName: String,
    path: String,
    layout: Option[Layout]
) {

  /** For errors. */
  val where: String = s"stream '$stream', history '$path'"

  private val caseSensitive = SQLConf.get.caseSensitiveAnalysis

  /** @throws DynamicKafkaIllegalArgumentException `METADATA_INVALID` */
  def format: HistoryFormat = {
    if (!HistoryFormat.names.exists(_.equalsIgnoreCase(formatName)))
      throw Errors.metadataInvalid(
        where,
        s"the format '$formatName' cannot be read as a history, use one of ${HistoryFormat.names.mkString("'", "', '", "'")}"
      )
    HistoryFormat.find(formatName).getOrElse(throw Errors.metadataInvalid(
      where,
      s"Spark has no data source '$formatName' on its class path${HistoryFormat.missing(formatName)}"
    ))
  }

  def schemaOf(table: HistoryTable): StructType = DataType.fromJson(table.schema).asInstanceOf[StructType]

  /**
   * @param cluster of files without a column `cluster`
   * @param topic of files without a column `topic`
   * @throws DynamicKafkaIllegalArgumentException `INVALID_SCHEMA`
   */
  def columns(files: StructType, cluster: Option[String], topic: Option[String]): HistoryColumns =
    HistoryColumns.of(
      where,
      formatName,
      files,
      layout,
      caseSensitive,
      Map[
        MetadataColumn,
        String
      ](MetadataColumn.Stream -> stream) ++ cluster.map(MetadataColumn.Cluster -> _) ++
        topic.map(MetadataColumn.Topic -> _)
    )

  /** The column of the files with this column of the record, if they have it. */
  def recordColumn(column: MetadataColumn, columns: HistoryColumns, files: StructType): Option[String] =
    HistoryColumns.recordColumn(column, columns, files, layout, caseSensitive)
}
