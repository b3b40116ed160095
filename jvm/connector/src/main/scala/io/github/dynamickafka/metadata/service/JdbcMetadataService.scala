package io.github.dynamickafka.metadata.service

import java.io.IOException
import java.sql.{Connection, SQLFeatureNotSupportedException}
import java.{util => ju}

import scala.util.Using
import scala.util.control.NonFatal

import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException
import io.github.dynamickafka.kafka.SecretReferences
import io.github.dynamickafka.metadata.document.MetadataDocument
import io.github.dynamickafka.redaction.{AddressText, Redaction}
import io.github.dynamickafka.time.Clock

/**
 * Reads the streams from a database. Each call opens a connection, runs one query and closes the connection. The result
 * has either one row per topic, with the columns that `docs/metadata.md` describes, or one row with the single column
 * `document`, which contains a document in the format of the metadata file.
 *
 * Each call makes one attempt: the connector retries at the next poll and keeps the last valid metadata. Failures of a
 * call are `IOException`s and METADATA_INVALID. Their messages contain the driver, host and path of the URL, but no
 * properties.
 *
 * @param properties properties of the connection, such as `user` and `password`. Values may contain Kafka's references
 *                   `\${file:/path:key}`, `\${env:NAME}` and `\${dir:/path:file}`, which are resolved again for each
 *                   connection
 * @param timeoutMs the time limit of the query in milliseconds, rounded up to seconds, and of each network wait if the
 *                  driver supports it. It does not limit the time to connect: set a property of the
 *                  driver for that
 * @param ttlMs how long an answer is used before the next query, in milliseconds; 0: each call runs the query
 * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION if no driver accepts the URL
 */
private[metadata] final class JdbcMetadataService(
    url: String,
    query: String,
    properties: Map[String, String],
    timeoutMs: Long,
    ttlMs: Long
) extends DocumentMetadataService(ttlMs) {
  import JdbcMetadataService._

  private val driver = JdbcDrivers.find(url)
  private val shown = AddressText.jdbc(url)

  override protected def read(): MetadataDocument = {
    val resolved = SecretReferences.resolve(properties)
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
    Option(driver.connect(
      url,
      all
    )).getOrElse(throw new IOException("the JDBC driver does not accept the URL"))
  }

  private def ask(connection: Connection): MetadataDocument = {
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
}
