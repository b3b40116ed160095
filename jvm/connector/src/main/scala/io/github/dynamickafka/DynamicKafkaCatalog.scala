package io.github.dynamickafka

import java.{util => ju}

import scala.jdk.CollectionConverters._
import scala.util.Properties

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException
import org.apache.spark.sql.catalyst.trees.CurrentOrigin
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure
import org.apache.spark.sql.connector.catalog.{
  Column,
  Identifier,
  ProcedureCatalog,
  Table,
  TableCatalog,
  TableChange
}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.{AnalysisException, SparkSession}

import io.github.dynamickafka.catalog.{CatalogProcedures, StreamCatalog}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.storage.SessionConfiguration

/**
 * The streams of a metadata service as tables of a Spark catalog, for SQL and for `table` and `toTable` of DataFrames:
 *
 * {{{
 * spark.sql.catalog.streams                       io.github.dynamickafka.DynamicKafkaCatalog
 * spark.sql.catalog.streams.metadataService       file
 * spark.sql.catalog.streams.metadataService.path  /etc/streams.yaml
 * }}}
 *
 * Settings are any options of the source and of the sink, except those that select streams. They are checked when the catalog is
 * first used. The id of a stream is the name of its table; with dots in it, it can be written as one name or as several.
 *
 * Each statement asks the metadata service. A stream that the service does not have is Spark's `TABLE_OR_VIEW_NOT_FOUND`, with the
 * nearest name; without an answer within `clusterRequestTimeoutMs` (default: 60000), the statement fails with
 * `METADATA_UNAVAILABLE`. Statements that would change streams fail with `UNSUPPORTED_DDL`. `TIMESTAMP AS OF` is a batch read of the
 * records before a time.
 *
 * `CALL <catalog>.system.<name>(...)` calls a procedure: what operators do by command line.
 */
final class DynamicKafkaCatalog extends TableCatalog with ProcedureCatalog {
  private var catalogName = ""
  private var options = CaseInsensitiveStringMap.empty
  private lazy val streams = new StreamCatalog(
    catalogName,
    options.asCaseSensitiveMap.asScala.toMap,
    () => SessionConfiguration.of(SparkSession.active)
  )

  /** Called by Spark. Asks nothing. */
  override def initialize(name: String, options: CaseInsensitiveStringMap): Unit = {
    SparkOfJar.check(SPARK_VERSION, Properties.versionNumberString)
    catalogName = name
    this.options = options
  }

  override def name(): String = catalogName

  /** All streams, in the root namespace, with their whole ids. */
  override def listTables(namespace: Array[String]): Array[Identifier] =
    if (namespace.nonEmpty) Array.empty
    else streams.ids().map(Identifier.of(Array.empty, _)).toArray

  /** Fails with Spark's `TABLE_OR_VIEW_NOT_FOUND` if the metadata service does not have the stream. */
  override def loadTable(ident: Identifier): Table =
    streams.table(idOf(ident)).getOrElse(throw notFound(ident))

  /** Spark's own method asks for the table, and takes only `NoSuchTableException` for an answer. */
  override def tableExists(ident: Identifier): Boolean = streams.has(idOf(ident))

  /** `TIMESTAMP AS OF`, in microseconds since 1970-01-01 UTC: a table for batch reads of the records before this time. */
  override def loadTable(ident: Identifier, timestamp: Long): Table =
    streams.table(idOf(ident), timestamp).getOrElse(throw notFound(ident))

  /** `VERSION AS OF`, which streams do not have: `INVALID_OPTION`. */
  override def loadTable(ident: Identifier, version: String): Table = {
    val table = loadTable(ident)
    throw Errors.invalidOption(
      "VERSION AS OF",
      version,
      s"the table '${table.name}' is a stream and has no versions. Use TIMESTAMP AS OF, or the option 'endingOffsets'."
    )
  }

  /** `toTable` calls it for a stream that does not exist, whose name may be misspelt. */
  override def createTable(
      ident: Identifier,
      columns: Array[Column],
      partitions: Array[Transform],
      properties: ju.Map[String, String]
  ): Table = throw refused("create", ident, streams.nearest(idOf(ident)))

  override def alterTable(ident: Identifier, changes: TableChange*): Table = throw refused("alter", ident)

  override def dropTable(ident: Identifier): Boolean = throw refused("drop", ident)

  override def renameTable(from: Identifier, to: Identifier): Unit = throw refused("rename", from)

  /** A procedure of the namespace `system`. An unknown one is `UNKNOWN_PROCEDURE`, with the nearest name. */
  override def loadProcedure(ident: Identifier): UnboundProcedure =
    CatalogProcedures.ofJar.load(ident, streams, () => SparkSession.active.sparkContext.sparkUser)

  /** Called by `SHOW PROCEDURES`. Spark 4.0 has neither, so nothing is overridden there. */
  def listProcedures(namespace: Array[String]): Array[Identifier] =
    CatalogProcedures.ofJar.list(namespace)

  private def idOf(ident: Identifier) = (ident.namespace :+ ident.name).mkString(".")

  /**
   * Spark replaces a `NoSuchTableException` by its own error, which would not have the nearest name. A statement with `IF EXISTS`
   * succeeds with this exception only.
   */
  private def notFound(ident: Identifier): AnalysisException = {
    val own = new NoSuchTableException(ident)
    val isOptional = CurrentOrigin.get.sqlText.exists(_.matches("(?is).*\\bIF\\s+EXISTS\\b.*"))
    val meant = if (isOptional) None else streams.nearest(idOf(ident))
    meant.fold[AnalysisException](own) { near =>
      def quoted(id: String) = s"`$catalogName`.`$id`"
      val relation = s"${quoted(idOf(ident))} (did you mean ${quoted(near)}?)"
      new AnalysisException(
        own.getCondition,
        own.getMessageParameters.asScala.toMap + ("relationName" -> relation)
      )
    }
  }

  private def refused(what: String, ident: Identifier, meant: Option[String] = None) =
    Errors.unsupportedDdl(catalogName, what, idOf(ident), meant)
}
