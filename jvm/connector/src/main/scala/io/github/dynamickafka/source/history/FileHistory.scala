package io.github.dynamickafka.source.history

import java.io.FileNotFoundException
import java.net.URI

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read.{ScanBuilder, SupportsPushDownRequiredColumns}
import org.apache.spark.sql.types.{DataType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.{Column, DataFrame, SparkSession}

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.TopologyHistory
import io.github.dynamickafka.offset.history.{HistoryFile, HistoryTable}
import io.github.dynamickafka.storage.SessionConfiguration

/**
 * Files of one of Spark's file formats: their options for paths are those of Spark's `DataFrameReader`, and Spark's sinks and committers
 * write them.
 */
private[history] final class FileHistory(provider: TableProvider) extends HistoryFormat {
  import FileHistory._

  override def options(
      where: String,
      history: TopologyHistory,
      session: SparkSession
  ): Map[String, String] = {
    val path = new Path(history.path)
    val status =
      try path.getFileSystem(SessionConfiguration.of(session)).getFileStatus(path)
      catch {
        case e: FileNotFoundException => throw Errors.metadataInvalid(where, "the path does not exist", e)
      }
    def isSet(name: String) = history.options.keys.exists(_.equalsIgnoreCase(name))
    // Columns in the names of folders, also for single files.
    val base = Option.when(status.isDirectory && !isSet("basePath"))("basePath" -> status.getPath.toString)
    // Otherwise a bad line is a row without values.
    val mode = Option.when(history.format.equalsIgnoreCase("json") && !isSet("mode"))("mode" -> "FAILFAST")
    history.options ++ base ++ mode
  }

  override def load(
      session: SparkSession,
      history: TopologyHistory,
      options: Map[String, String],
      schema: Option[StructType]
  ): DataFrame = {
    val reader = session.read.format(history.format).options(options + plainPaths)
    schema.fold(reader)(reader.schema(_)).load(history.path)
  }

  override def file(rows: DataFrame): Column = rows.metadataColumn("_metadata").getField("file_path")

  override def path(file: String): String = new Path(new URI(file)).toString

  override def plan(
      where: String,
      table: HistoryTable,
      columns: Set[String],
      time: Option[String],
      files: Seq[HistoryFile]
  ): PlannedFiles = {
    val schema = DataType.fromJson(table.schema).asInstanceOf[StructType]
    val settings = table.options ++ paths(files.map(_.path))
    val options = new CaseInsensitiveStringMap(settings.asJava)
    val builder = scanBuilder(provider.getTable(schema, Array.empty[Transform], options), options)
    prune(builder, StructType(schema.filter(f => columns(f.name))))
    PlannedFiles(builder.build(), _ => None)
  }
}

private[history] object FileHistory {
  private val mapper = new ObjectMapper

  /** Paths are names, and not patterns. */
  private val plainPaths: (String, String) = "__globPaths__" -> "false"

  /** As `DataFrameReader.load` passes paths to a data source. */
  private def paths(files: Seq[String]) = Map("paths" -> mapper.writeValueAsString(files.asJava), plainPaths)

  def scanBuilder(table: Table, options: CaseInsensitiveStringMap): ScanBuilder = table match {
    case found: SupportsRead => found.newScanBuilder(options)
    case other =>
      throw new IllegalStateException(s"the data source returned a table that cannot be read: $other")
  }

  def prune(builder: ScanBuilder, columns: StructType): Unit = builder match {
    case pruning: SupportsPushDownRequiredColumns => pruning.pruneColumns(columns)
    case _ => ()
  }
}
