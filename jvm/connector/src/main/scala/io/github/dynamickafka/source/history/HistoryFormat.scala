package io.github.dynamickafka.source.history

import java.util.ServiceLoader

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.catalog.TableProvider
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory, Scan}
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{Column, DataFrame, SparkSession}

import io.github.dynamickafka.metadata.TopologyHistory
import io.github.dynamickafka.offset.history.{HistoryFile, HistoryTable}

/** Lists and plans the files of histories of one format, only through public interfaces. */
private[history] trait HistoryFormat {

  /**
   * The options for all reads, as the checkpoint has them.
   *
   * @param where for errors
   * @throws DynamicKafkaIllegalArgumentException `METADATA_INVALID`
   */
  def options(where: String, history: TopologyHistory, session: SparkSession): Map[String, String]

  /** @param schema None: as Spark finds it */
  def load(
      session: SparkSession,
      history: TopologyHistory,
      options: Map[String, String],
      schema: Option[StructType]
  ): DataFrame

  /** The file of each row. */
  def file(rows: DataFrame): Column

  /** A file as [[plan]] takes it. */
  def path(file: String): String

  /**
   * @param where for errors
   * @param columns those to read
   * @param time the column with the timestamps
   * @param files some of the table
   */
  def plan(
      where: String,
      table: HistoryTable,
      columns: Set[String],
      time: Option[String],
      files: Seq[HistoryFile]
  ): PlannedFiles
}

/**
 * Files as their data source reads them.
 *
 * @param schema of the rows
 * @param only which rows belong to the files; None: all
 */
private[history] final case class PlannedFiles(
    partitions: Seq[InputPartition],
    factory: PartitionReaderFactory,
    schema: StructType,
    only: Option[RowsOfFiles] = None
)

private[history] object PlannedFiles {
  def apply(scan: Scan, only: StructType => Option[RowsOfFiles]): PlannedFiles = {
    val batch = scan.toBatch
    val schema = scan.readSchema()
    PlannedFiles(batch.planInputPartitions().toSeq, batch.createReaderFactory(), schema, only(schema))
  }
}

private[history] object HistoryFormat {

  private val ofFiles = Seq("parquet", "orc", "avro", "json")
  private val Iceberg = "iceberg"

  val names: Seq[String] = ofFiles :+ Iceberg

  /** What the class path lacks if it does not have the data source. */
  def missing(name: String): String = name.toLowerCase(java.util.Locale.ROOT) match {
    case "avro" => ": add spark-avro of the version of Spark"
    case Iceberg => ": add Iceberg's runtime for the version of Spark"
    case _ => ""
  }

  /** @return None if the class path does not have the data source */
  def find(name: String): Option[HistoryFormat] = {
    val loader = Option(Thread.currentThread.getContextClassLoader).getOrElse(getClass.getClassLoader)
    // A new provider for each table, because a provider keeps its first one.
    val registered = ServiceLoader.load(classOf[DataSourceRegister], loader).iterator.asScala.collectFirst {
      case source: TableProvider if isNamed(source, name) => source: TableProvider
    }
    if (name.equalsIgnoreCase(Iceberg)) registered.map(new IcebergHistory(_))
    else registered.orElse(Option.when(name.equalsIgnoreCase("orc"))(orc(loader))).map(new FileHistory(_))
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
}
