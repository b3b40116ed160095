package io.github.dynamickafka.source.history

import java.io.FileNotFoundException
import java.net.URI
import java.util.ServiceLoader
import java.{util => ju}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableProvider}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.expressions.{Expressions, Literal, Transform}
import org.apache.spark.sql.connector.read.{
  InputPartition,
  PartitionReaderFactory,
  Scan,
  ScanBuilder,
  SupportsPushDownRequiredColumns,
  SupportsPushDownV2Filters
}
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.types.{DataType, StringType, StructType, TimestampType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.{Column, DataFrame, SparkSession}
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.TopologyHistory
import io.github.dynamickafka.offset.{HistoryFile, HistoryTable}
import io.github.dynamickafka.option.NamedClass
import io.github.dynamickafka.storage.SessionConfiguration

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
  def plan(of: WantedFiles): PlannedFiles
}

/**
 * Files that a batch reads.
 *
 * @param where for errors
 * @param schema of the table
 * @param columns those to read
 * @param time the column with the timestamps
 * @param files some of the table
 */
private[history] final case class WantedFiles(
    where: String,
    table: HistoryTable,
    schema: StructType,
    columns: Set[String],
    time: Option[String],
    files: Seq[HistoryFile]
)

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

private[dynamickafka] object HistoryFormat {

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
    // A new provider for each table, because a provider keeps its first one.
    val registered = ServiceLoader.load(classOf[DataSourceRegister], NamedClass.loaders.head).iterator.asScala
      .collectFirst { case source: TableProvider if isNamed(source, name) => source: TableProvider }
    if (name.equalsIgnoreCase(Iceberg)) registered.map(new IcebergHistory(_))
    else registered.orElse(Option.when(name.equalsIgnoreCase("orc"))(orc)).map(new FileHistory(_))
  }

  /** Spark registers its former data source for ORC, and chooses this one by its name. */
  private def orc: TableProvider = NamedClass.create(
    "org.apache.spark.sql.execution.datasources.v2.orc.OrcDataSourceV2",
    classOf[TableProvider]
  ).fold(why => throw new ClassNotFoundException(why), identity)

  private def isNamed(source: AnyRef, name: String) = source match {
    case register: DataSourceRegister => register.shortName().equalsIgnoreCase(name)
    case _ => false
  }
}

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
    // By default, a bad line is a row without values.
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

  override def plan(of: WantedFiles): PlannedFiles = {
    val settings = of.table.source.options ++ paths(of.files.map(_.path))
    val options = new CaseInsensitiveStringMap(settings.asJava)
    val builder = scanBuilder(provider.getTable(of.schema, Array.empty[Transform], options), options)
    prune(builder, StructType(of.schema.filter(f => of.columns(f.name))))
    PlannedFiles(builder.build(), _ => None)
  }
}

private[history] object FileHistory {
  private val mapper = new ObjectMapper

  /** Paths are names, and not patterns. */
  private val plainPaths: (String, String) = "__globPaths__" -> "false"

  /** The options with which `DataFrameReader.load` passes paths to a data source. */
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

/**
 * The files of one snapshot of a table of Iceberg, which its id names: a snapshot never changes. Iceberg reads it as a whole, because it
 * also knows which rows are deleted. So a batch asks for rows with the times of its files, by which Iceberg leaves out others, and
 * takes those of its files.
 */
private[history] final class IcebergHistory(provider: TableProvider) extends HistoryFormat {
  import IcebergHistory._

  override def options(where: String, history: TopologyHistory, session: SparkSession): Map[String, String] =
    history.options.find(_._1.equalsIgnoreCase(VersionAsOf)) match {
      case Some((_, id)) if id.matches("[0-9]+") => history.options
      case Some((name, _)) => throw Errors.metadataInvalid(where, s"'$name' is not the id of a snapshot")
      case None =>
        val newest = table(history.options + (PathOption -> history.path)).properties.get(CurrentSnapshot)
        if (newest == null || newest == NoSnapshot)
          throw Errors.metadataInvalid(where, "the table has no snapshot")
        history.options + (VersionAsOf -> newest)
    }

  override def load(
      session: SparkSession,
      history: TopologyHistory,
      options: Map[String, String],
      schema: Option[StructType]
  ): DataFrame = session.read.format(history.format).options(options).load(history.path)

  override def file(rows: DataFrame): Column = rows.metadataColumn(File)

  override def path(file: String): String = file

  override def plan(of: WantedFiles): PlannedFiles = {
    val (versions, options) = of.table.source.options.partition(_._1.equalsIgnoreCase(VersionAsOf))
    val snapshot = versions.values.headOption.getOrElse(
      throw Errors.invalidOffset(s"the history of ${of.where} has no snapshot in the checkpoint")
    )
    val wanted = StructType(of.schema.filter(f => of.columns(f.name))).add(File, StringType, nullable = false)
    val selector = if (of.table.source.path.contains("/")) "#" else "."
    val settings = options + (PathOption -> s"${of.table.source.path}${selector}snapshot_id_$snapshot")
    try {
      val builder =
        FileHistory.scanBuilder(table(settings), new CaseInsensitiveStringMap(settings.asJava))
      of.time.filter(of.schema(_).dataType == TimestampType).foreach(restrict(builder, _, of.files))
      FileHistory.prune(builder, wanted)
      PlannedFiles(builder.build(), rows => Some(RowsOfFiles(rows.fieldIndex(File), of.files.map(_.path))))
    } catch {
      case NonFatal(e) =>
        throw Errors.metadataInvalid(
          of.where,
          s"snapshot $snapshot, which the query reads since its first start, cannot be read: " +
            "it has expired, or the table was replaced by another one, or its catalog does not respond",
          e
        )
    }
  }

  private def table(options: Map[String, String]): Table =
    provider.getTable(new StructType, Array.empty[Transform], options.asJava)
}

private object IcebergHistory {

  /** Spark's option for time travel, which other options of Iceberg for this purpose are not in all versions. */
  private val VersionAsOf = "versionAsOf"
  private val PathOption = "path"
  private val CurrentSnapshot = "current-snapshot-id"
  private val NoSnapshot = "none"

  /** A metadata column of Iceberg. It cannot be filtered by Iceberg. */
  private val File = "_file"

  /** Leaves out files that have no row with a time of these ones. Their rows are chosen by [[RowsOfFiles]] in any case. */
  private def restrict(builder: ScanBuilder, time: String, files: Seq[HistoryFile]): Unit = builder match {
    case filtering: SupportsPushDownV2Filters =>
      val column = Expressions.column(s"`${time.replace("`", "``")}`")
      def compare(operator: String, ms: Long) =
        new Predicate(operator, Array(column, Time(Math.multiplyExact(ms, 1000L))))
      val _ = filtering.pushPredicates(
        Array(compare(">=", files.map(_.least).min), compare("<", files.map(_.greatest).max + 1))
      )
    case _ => ()
  }

  /** A literal as Spark passes it to data sources. One that `Expressions.literal` makes of an instant, Iceberg does not understand. */
  private final case class Time(micros: Long) extends Literal[java.lang.Long] {
    override def value: java.lang.Long = micros
    override def dataType: DataType = TimestampType
  }
}

/** @param column the index of the column with the file of the row */
private[history] final case class RowsOfFiles(column: Int, files: ju.Set[UTF8String]) {
  def has(row: InternalRow): Boolean = files.contains(row.getUTF8String(column))
}

private object RowsOfFiles {
  def apply(column: Int, files: Seq[String]): RowsOfFiles =
    RowsOfFiles(column, new ju.HashSet(files.map(UTF8String.fromString).asJava): ju.Set[UTF8String])
}
