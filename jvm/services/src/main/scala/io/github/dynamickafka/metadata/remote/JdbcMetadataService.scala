package io.github.dynamickafka.metadata.remote

import java.io.IOException
import java.sql.{Connection, Driver, DriverManager, ResultSet, SQLFeatureNotSupportedException}
import java.util.{Locale, ServiceLoader}
import java.{util => ju}

import scala.collection.immutable.VectorMap
import scala.jdk.CollectionConverters._
import scala.jdk.StreamConverters._
import scala.util.control.NonFatal
import scala.util.{Try, Using}

import io.github.dynamickafka.base.{AddressText, Clock, Redaction}
import io.github.dynamickafka.config.MetadataServiceSpecs
import io.github.dynamickafka.error.{DynamicKafkaIllegalArgumentException, Errors}
import io.github.dynamickafka.kafka.SecretReferences
import io.github.dynamickafka.metadata.document.{DocumentParts, MetadataDocument, Names}
import io.github.dynamickafka.metadata.service.{DocumentMetadataService, ServiceArguments}
import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaStream}
import io.github.dynamickafka.option.{NamedClass, Suggestions}

/**
 * Reads the streams from a database. Each call opens a connection, runs one query and closes the connection. The result
 * has either one row per topic, with the columns that `docs/metadata.md` describes, or one row with the single column
 * `document`, which contains a document in the format of the metadata file.
 *
 * Each call makes one attempt: the connector retries at the next poll and keeps the last valid metadata. Failures of a
 * call are `IOException`s and METADATA_INVALID. Their messages contain the driver, host and path of the URL, but no
 * properties.
 *
 * The time limit holds for the query, rounded up to seconds, and for each network wait if the driver supports it. It does not limit the
 * time to connect: set a property of the driver for that.
 *
 * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION if no driver accepts the URL
 */
private[metadata] final class JdbcMetadataService(arguments: ServiceArguments)
    extends DocumentMetadataService(arguments(MetadataServiceSpecs.TtlMs)) {
  import JdbcMetadataService._

  private val url = arguments(MetadataServiceSpecs.JdbcUrl)
  private val query = arguments(MetadataServiceSpecs.Query)
  private val timeoutMs = arguments(MetadataServiceSpecs.TimeoutMs)
  private val accepting = driver(url)
  private val shown = AddressText.jdbc(url)

  override protected def read(): Map[String, KafkaStream] = {
    val resolved = SecretReferences.resolve(arguments.underPrefix)
    val began = Clock.System.nanoTime()
    try Using.resource(connect(resolved))(ask)
    catch {
      // An error of the connector about the rows, which contain no credentials of the database.
      case e: DynamicKafkaIllegalArgumentException => throw e
      case NonFatal(e) =>
        // Drivers have no common exception for a timeout.
        val late =
          if (Clock.System.nanoTime() - began >= timeoutMs * 1000000L) s" within $timeoutMs ms" else ""
        val secrets = resolved.removedAll(UserNames) ++ AddressText.credentials(url) + ("url" -> url)
        throw new IOException(s"the query of the database at $shown failed$late", Redaction.scrub(e, secrets))
    }
  }

  private def connect(resolved: Map[String, String]): Connection = {
    val all = new ju.Properties
    resolved.foreach { case (name, value) => all.setProperty(name, value.strip) }
    Option(accepting.connect(
      url,
      all
    )).getOrElse(throw new IOException("the JDBC driver does not accept the URL"))
  }

  private def ask(connection: Connection): Map[String, KafkaStream] = {
    val seconds = (timeoutMs + 999) / 1000
    // Longer than the query timeout: only for a server that is no longer available to enforce the query timeout.
    val network = math.min(seconds * 1000 + timeoutMs, Int.MaxValue.toLong).toInt
    try connection.setNetworkTimeout(task => task.run(), network)
    catch { case _: SQLFeatureNotSupportedException => () }
    connection.setReadOnly(true)
    // In some drivers, read-only applies only to transactions, and the effect of closing an open transaction differs.
    connection.setAutoCommit(false)
    val document = Using.resource(connection.createStatement()) { statement =>
      statement.setQueryTimeout(seconds.toInt)
      Using.resource(statement.executeQuery(query))(JdbcRows.document(_, s"the database at $shown"))
    }
    connection.rollback()
    document
  }
}

private object JdbcMetadataService {

  /** Properties that need not be redacted. */
  private val UserNames = Seq("user", "username")

  /**
   * Returns the driver that accepts this URL, also one in a jar that Spark adds at runtime. `DriverManager` alone is not sufficient: it loads the drivers that are
   * available at its first use in this JVM, which may not include those of `spark.jars.packages`.
   *
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION if no driver accepts it
   */
  private def driver(url: String): Driver =
    (NamedClass.loaders.flatMap(ServiceLoader.load(classOf[Driver], _).stream().toScala(Seq))
      // A driver that cannot be loaded must not prevent the use of another one.
      .flatMap(provider => Try(provider.get).toOption) ++ DriverManager.drivers.toScala(Seq))
      .find(driver => Try(driver.acceptsURL(url)).getOrElse(false)).getOrElse(throw Errors.invalidOption(
        ServiceArguments.option("url"),
        if (url.startsWith("jdbc:")) AddressText.jdbc(url) else Redaction.Redacted,
        "no JDBC driver on the class path accepts it. Add the jar of the driver, for example to spark.jars.packages"
      ))
}

/**
 * Converts the rows of a query to streams. Columns are identified by name, regardless of case and order:
 *
 * `stream`, `cluster`, `topic`, `bootstrap_servers`, and optionally `state`, `write` (a boolean, or text, or 1 and 0
 * for databases without a boolean type), `properties` (a JSON object of Kafka client properties), `starting_offsets`
 * and `stopping_offsets`, with the same meaning and forms as in the metadata file. A row is one topic. The rows of one
 * stream and cluster must be equal in all other columns. NULL means that the value is not set.
 *
 * Alternatively, one row with the single column `document`.
 */
private[metadata] object JdbcRows {
  private val Document = "document"
  private val Needed = Seq("stream", "cluster", "topic", "bootstrap_servers")
  private val Known = Needed ++ Seq("state", "write", "properties", "starting_offsets", "stopping_offsets")

  /** @param origin the origin of the rows for error messages, which never contain values of the column `properties` */
  def document(rows: ResultSet, origin: String): Map[String, KafkaStream] = {
    val about = rows.getMetaData
    val columns = (1 to about.getColumnCount).map(about.getColumnLabel(_).toLowerCase(Locale.ROOT))
    if (columns == Seq(Document)) whole(rows, origin)
    else {
      check(columns, origin)
      val all = Iterator.from(1).takeWhile(_ => rows.next()).map(i => row(rows, columns, s"$origin, row $i"))
      grouped(all.toVector)(_.stream) { (id, own) =>
        new KafkaStream(id, grouped(own)(_.cluster)((_, same) => metadata(same)).asJava)
      }
    }
  }

  private def check(columns: Seq[String], origin: String): Unit = {
    def refuse(column: String, reason: String) = fail(s"$origin, column '$column'", reason)
    columns.find(!Known.contains(_)).foreach(name =>
      refuse(
        name,
        s"the column is unknown; valid columns are ${(Known :+ Document).mkString(", ")}.${Suggestions.didYouMean(name, Known)}"
      )
    )
    Needed.find(!columns.contains(_)).foreach(refuse(_, "it is missing"))
    columns.diff(columns.distinct).headOption.foreach(refuse(_, "it is duplicate"))
  }

  private def whole(rows: ResultSet, origin: String): Map[String, KafkaStream] = {
    if (!rows.next()) fail(origin, "the result has no row with a document")
    val text = Option(rows.getString(1)).getOrElse(fail(origin, "the document is NULL"))
    if (rows.next()) fail(origin, "the result has more than one row with a document")
    MetadataDocument.parse(text, s"$origin, column '$Document'")
  }

  /** @param metadata without topics; equal in all rows of one stream on one cluster */
  private final case class Row(
      stream: String,
      cluster: String,
      topic: String,
      metadata: ClusterMetadata,
      where: String
  )

  private def row(rows: ResultSet, columns: Seq[String], where: String): Row = {
    def get(name: String) = Option.when(columns.contains(name))(rows.getString(name)).flatMap(Option(_))
    def needed(name: String) =
      get(name).filterNot(_.isBlank).getOrElse(fail(s"$where, column '$name'", "it is NULL or blank"))
    val more =
      get("properties").fold(Map.empty[String, String])(properties(_, s"$where, column 'properties'"))
    val (stream, cluster, topic) = (needed("stream"), needed("cluster"), needed("topic"))
    val metadata = ClusterMetadata(
      Nil,
      more + (DocumentParts.Bootstrap -> needed("bootstrap_servers")),
      get("starting_offsets").orNull,
      get("stopping_offsets").orNull,
      get("state").getOrElse(ClusterMetadata.Active),
      write = !columns.contains("write") || Option(rows.getObject("write"))
        .forall(truth(_, s"$where, stream '$stream', cluster '$cluster', column 'write'"))
    )
    Row(stream, cluster, topic, metadata, where)
  }

  /** Does not use `getBoolean`, because its conversions differ between drivers. */
  private def truth(value: AnyRef, where: String): Boolean = value match {
    case number: java.lang.Number if number.doubleValue == 1 => true
    case number: java.lang.Number if number.doubleValue == 0 => false
    case other => other.toString.toBooleanOption.getOrElse(fail(where, s"'$other' is neither true nor false"))
  }

  private def properties(json: String, where: String): Map[String, String] =
    MetadataDocument.read(json, where)(_.items("property") { (key, value) =>
      if (key == DocumentParts.Bootstrap) value.fail("use the column 'bootstrap_servers' instead")
      value.scalar
    }.toMap)

  /** Groups rows, in their order. */
  private def grouped[A](rows: Seq[Row])(key: Row => String)(made: (String, Seq[Row]) => A) =
    rows.map(key).distinct.map(name => name -> made(name, rows.filter(key(_) == name))).to(VectorMap)

  /** @param rows the rows of one stream on one cluster */
  private def metadata(rows: Seq[Row]): ClusterMetadata = {
    val first = rows.head
    def columns(of: ClusterMetadata) = Seq(
      "state" -> of.state,
      "write" -> of.write,
      "starting_offsets" -> of.startingOffsets,
      "stopping_offsets" -> of.stoppingOffsets
    )
    rows.find(_.metadata != first.metadata).foreach { row =>
      val differing = Names.differing(first.metadata.properties, row.metadata.properties)
        .map(name => s"property '$name'") ++ columns(first.metadata).diff(columns(row.metadata)).map(_._1)
      fail(
        s"${row.where}, stream '${row.stream}', cluster '${row.cluster}'",
        s"it differs from ${first.where}, of the same stream and cluster, in ${differing.mkString(", ")}"
      )
    }
    first.metadata.withTopics(rows.map(_.topic).asJava)
  }

  private def fail(where: String, reason: String): Nothing = throw Errors.metadataInvalid(where, reason)
}
