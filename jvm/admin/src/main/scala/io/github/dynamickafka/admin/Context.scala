package io.github.dynamickafka.admin

import org.apache.hadoop.conf.Configuration

import io.github.dynamickafka.catalog.StreamCatalog
import io.github.dynamickafka.kafka.{ClusterClient, ClusterClients}
import io.github.dynamickafka.metadata.KafkaStream
import io.github.dynamickafka.metadata.document.MetadataDocument
import io.github.dynamickafka.metadata.service.FileMetadataService
import io.github.dynamickafka.sink.commit.Refused
import io.github.dynamickafka.source.checkpoint.Refusal
import io.github.dynamickafka.source.cluster.ClusterConfig

/**
 * What a command works with: the metadata service and the settings of a catalog, or a metadata file and the options of a command
 * line. It needs no Spark session. Thread-safe.
 *
 * @param file the metadata file of a command; None: the catalog has another service, or the command has no file
 * @param userName whom files that are written name
 * @param isCommand a command line: without a file there are no streams
 */
private[dynamickafka] final class Context(
    val catalog: StreamCatalog,
    val file: Option[String],
    userName: () => String,
    val connect: ClusterConfig => ClusterClient =
      config => ClusterClients.OfDriver.alone(config.properties.admin, config.requestTimeoutMs),
    isCommand: Boolean = false
) {
  def hadoop: Configuration = catalog.hadoop
  def user: String = userName()

  /**
   * What the metadata service or the file says now.
   *
   * @throws Refused with all errors of a file, one a line, for a command line
   * @throws DynamicKafkaIllegalArgumentException `METADATA_INVALID` in SQL
   */
  def streams(): Seq[KafkaStream] = file.fold(if (isCommand) Nil else catalog.streams())(streamsOf)

  /** The streams of another file, in its order. */
  def streamsOf(path: String): Seq[KafkaStream] =
    valid(path)._2.streams.values.toSeq

  /** The text of a metadata file without errors. */
  def validText(path: String): String = valid(path)._1

  private def valid(path: String) = {
    val (text, document) = FileMetadataService.check(path, hadoop)
    if (isCommand && document.errors.nonEmpty) throw new Refused(document.errors.map(_.textIn(path)))
    val _ = MetadataDocument.accepted(document, s"file $path")
    text -> document
  }

  /** Names the file in the reason of a refusal. */
  def named[A](run: => A): A =
    try run
    catch { case e: Refusal if file.isDefined => throw new Refusal(s"${file.mkString}: ${e.getMessage}", e) }
}

private[dynamickafka] object Context {

  /** The options of a command that has no file. */
  private val NoStreams =
    Map("metadataService" -> "static", "metadataService.document" -> "{version: 1, streams: {}}")

  /** @param timeoutMs limit of a request to a cluster */
  def ofFile(file: Option[String], timeoutMs: Option[Long], hadoop: () => Configuration): Context =
    new Context(
      new StreamCatalog(
        "command",
        file.fold(NoStreams)(f => Map("metadataService" -> "file", "metadataService.path" -> f)) ++
          timeoutMs.map("clusterRequestTimeoutMs" -> _.toString),
        hadoop
      ),
      file,
      () => Option(System.getenv("SPARK_USER")).getOrElse(System.getProperty("user.name")),
      isCommand = true
    )
}
