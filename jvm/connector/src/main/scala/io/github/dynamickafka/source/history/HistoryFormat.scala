package io.github.dynamickafka.source.history

import java.util.ServiceLoader

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.spark.sql.connector.catalog.{SupportsRead, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read.{Scan, SupportsPushDownRequiredColumns}
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.types.{DataType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.offset.history.HistoryTable

/** Plans files of one of Spark's file formats, only through public interfaces. */
private[history] final class HistoryFormat(provider: TableProvider) {

  /**
   * @param columns those to read
   * @param files some of the table
   */
  def scan(table: HistoryTable, columns: Set[String], files: Seq[String]): Scan = {
    val schema = DataType.fromJson(table.schema).asInstanceOf[StructType]
    val settings = table.options ++ HistoryFormat.paths(files)
    val options = new CaseInsensitiveStringMap(settings.asJava)
    provider.getTable(schema, Array.empty[Transform], options) match {
      case found: SupportsRead =>
        val builder = found.newScanBuilder(options)
        builder match {
          case pruning: SupportsPushDownRequiredColumns =>
            pruning.pruneColumns(StructType(schema.filter(f => columns(f.name))))
          case _ => ()
        }
        builder.build()
      case other => throw new IllegalStateException(s"the data source returned a table that cannot be read: $other")
    }
  }
}

private[history] object HistoryFormat {

  /** Their options for paths are those of Spark's `DataFrameReader`, and Spark's sinks and committers write them. */
  val names: Seq[String] = Seq("parquet", "orc", "avro", "json")

  private val mapper = new ObjectMapper

  /** @return None if the class path does not have the data source */
  def find(name: String): Option[HistoryFormat] = {
    val loader = Option(Thread.currentThread.getContextClassLoader).getOrElse(getClass.getClassLoader)
    // A new provider for each table, because a provider keeps its first one.
    val registered = ServiceLoader.load(classOf[DataSourceRegister], loader).iterator.asScala.collectFirst {
      case source: TableProvider if isNamed(source, name) => source: TableProvider
    }
    registered.orElse(Option.when(name.equalsIgnoreCase("orc"))(orc(loader))).map(new HistoryFormat(_))
  }

  /** Spark registers its former data source for ORC, and chooses this one by its name. */
  private def orc(loader: ClassLoader): TableProvider =
    Class.forName("org.apache.spark.sql.execution.datasources.v2.orc.OrcDataSourceV2", true, loader)
      .getDeclaredConstructor().newInstance() match {
      case source: TableProvider => source
      case other => throw new ClassCastException(s"${other.getClass.getName} is no TableProvider")
    }

  private def isNamed(source: AnyRef, name: String) = source match {
    case register: DataSourceRegister => register.shortName().equalsIgnoreCase(name)
    case _ => false
  }

  /** Paths are names, and not patterns. */
  val plainPaths: (String, String) = "__globPaths__" -> "false"

  /** As `DataFrameReader.load` passes paths to a data source. */
  private def paths(files: Seq[String]) = Map("paths" -> mapper.writeValueAsString(files.asJava), plainPaths)
}
