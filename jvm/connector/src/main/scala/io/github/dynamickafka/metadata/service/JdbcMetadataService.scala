package io.github.dynamickafka.metadata.service

import java.io.IOException
import java.sql.{Connection, SQLFeatureNotSupportedException}
import java.{util => ju}

import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal

import io.github.dynamickafka.config.MetadataServiceSpecs
import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException
import io.github.dynamickafka.kafka.{AddressText, Redaction, SecretReferences}
import io.github.dynamickafka.metadata.document.MetadataDocument
import io.github.dynamickafka.time.Clock

/**
 * Streams from a database: one query, asked on each call over a connection of its own, which is closed again. Its
 * rows are what streams have on clusters, as `JdbcRows` tells, or it is one row with the one column `document`,
 * which holds a document in the format of the metadata file.
 *
 * A call makes one attempt: the connector, which calls it, spaces attempts and keeps the last good answer. Failures
 * are `IOException`s and METADATA_INVALID. They tell of the url no more than driver, host and path, and no property.
 *
 * @param properties of the connection, such as `user` and `password`; values may hold Kafka's references
 *                   `\${file:/path:key}`, `\${env:NAME}` and `\${dir:/path:file}`, which are resolved for each
 *                   connection anew
 * @param timeoutMs for the query, in seconds rounded up, and where the driver can for each of its waits on the network.
 *                  How long it may take to connect is for the properties to say: drivers have no common way
 * @param ttlMs for how long an answer is used again without asking; 0: not at all
 * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION, where no driver takes the
 *         url
 */
final class JdbcMetadataService(
    url: String,
    query: String,
    properties: ju.Map[String, String],
    timeoutMs: Long,
    ttlMs: Long
) extends DocumentMetadataService {
  import JdbcMetadataService._

  def this(url: String, query: String, properties: ju.Map[String, String]) =
    this(url, query, properties, MetadataServiceSpecs.DefaultTimeoutMs, 0L)
  def this(url: String, query: String) = this(url, query, ju.Map.of())

  private val driver = JdbcDrivers.find(url)
  private val shown = AddressText.jdbc(url)
  private val cache = new TtlCache[MetadataDocument](ttlMs)

  override protected def document(): MetadataDocument = cache.get {
    val resolved = SecretReferences.resolve(properties.asScala.toMap)
    val began = Clock.System.nanoTime()
    try Using.resource(connect(resolved))(ask)
    catch {
      // Ours, and about the rows, which hold no credentials of the database.
      case e: DynamicKafkaIllegalArgumentException => throw e
      case NonFatal(e) =>
        // Drivers have no common way to tell that it was the limit.
        val late =
          if (Clock.System.nanoTime() - began >= timeoutMs * 1000000L) s" within $timeoutMs ms" else ""
        val secrets = resolved.removedAll(UserNames) ++ AddressText.credentials(url) + ("url" -> url)
        throw new IOException(s"the database at $shown gave no answer$late", Redaction.scrub(e, secrets))
    }
  }

  private def connect(resolved: Map[String, String]): Connection = {
    val all = new ju.Properties
    resolved.foreach { case (name, value) => all.setProperty(name, value.strip) }
    Option(driver.connect(url, all)).getOrElse(throw new IOException("its driver does not take the url"))
  }

  private def ask(connection: Connection): MetadataDocument = {
    val seconds = (timeoutMs + 999) / 1000
    // Later than the query's own limit: for a server that is not there any more to keep to it.
    val network = math.min(seconds * 1000 + timeoutMs, Int.MaxValue.toLong).toInt
    try connection.setNetworkTimeout(task => task.run(), network)
    catch { case _: SQLFeatureNotSupportedException => () }
    connection.setReadOnly(true)
    // Drivers may take read-only for a property of transactions, and what closing does with one is up to them too.
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

  /** Properties that no text needs to hide. */
  private val UserNames = Seq("user", "username")
}
