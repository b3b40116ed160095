package io.github.dynamickafka

import java.net.URI
import java.{time => jt}

import scala.concurrent.duration.FiniteDuration
import scala.util.Try

import io.github.dynamickafka.config.{MetadataServiceSpec, MetadataServiceSpecs, SourceOptionSpecs}
import io.github.dynamickafka.metadata.KafkaStream
import io.github.dynamickafka.metadata.document.DocumentWriter
import io.github.dynamickafka.option.OptionName

/**
 * A metadata service that comes with the connector, with its arguments. Sets options and nothing else: the driver of the query
 * creates the service. `load()`, `start()` and `save()` check the arguments. Names and parameters are those of the Python package.
 * `toString` shows no argument that may contain credentials.
 *
 * All services have the same limits: `timeout` is the time limit of one request with its answer, by default 10 s. `ttl` says how long an
 * answer is used again; by default each poll makes a request.
 */
sealed abstract class BuiltInMetadataService private[dynamickafka] (service: String)
    extends Product with Serializable {

  /** Declares the arguments, which are the parameters of the class. */
  private[dynamickafka] final def spec: MetadataServiceSpec =
    MetadataServiceSpecs.all.find(_.name == service).get

  /** The arguments by name, without the prefix `metadataService.`. */
  private[dynamickafka] def arguments: Map[String, String] = BuiltInMetadataService.texts(this).toMap

  /** What `toString` shows. */
  protected def shown: Seq[String] =
    spec.arguments.filter(_.default.value.isEmpty).flatMap(argument => arguments.get(argument.name))

  /** The options `metadataService` and `metadataService.<argument>`. */
  final def toOptions: Map[String, String] =
    arguments.map { case (name, value) => (OptionName.MetadataService + name) -> value } +
      (SourceOptionSpecs.MetadataService.name -> spec.name)

  final override def toString: String = s"$productPrefix(${shown.mkString(", ")})"
}

private object BuiltInMetadataService {

  /** The parameters that are set. */
  def texts(of: Product): Iterator[(String, String)] =
    of.productElementNames.zip(of.productIterator).flatMap {
      case (name, text: String) => Option.when(text.nonEmpty)(name -> text)
      case (name, time: TimeArgument) => time.text.map(s"${name}Ms" -> _)
      case (name, values: Map[_, _]) => values.map { case (key, value) => s"$name.$key" -> s"$value" }
      case (name, Some(login: ClientCredentials)) =>
        texts(login).map { case (key, value) => s"$name.$key" -> value }
      case _ => None
    }
}

/** A duration as an argument: milliseconds, text such as `"10s"`, a `java.time.Duration` or a Scala duration. */
final class TimeArgument private (private[dynamickafka] val text: Option[String]) extends Serializable {
  override def equals(other: Any): Boolean = other match {
    case that: TimeArgument => text == that.text
    case _ => false
  }
  override def hashCode: Int = text.hashCode
  override def toString: String = text.getOrElse("default")
}

object TimeArgument {

  /** The default of the service. */
  val Default: TimeArgument = new TimeArgument(None)

  implicit def ofLong(ms: Long): TimeArgument = new TimeArgument(Some(ms.toString))
  implicit def ofInt(ms: Int): TimeArgument = ofLong(ms.toLong)
  implicit def ofText(text: String): TimeArgument = new TimeArgument(Some(text))
  implicit def ofJavaDuration(duration: jt.Duration): TimeArgument = ofLong(duration.toMillis)
  implicit def ofDuration(duration: FiniteDuration): TimeArgument = ofLong(duration.toMillis)
}

/**
 * Streams in a YAML or JSON file, version 1 of the metadata format or Flink's list of streams.
 *
 * @param path a path or Hadoop URI of the file, as the driver resolves it
 */
final case class FileMetadataService(path: String, ttl: TimeArgument = TimeArgument.Default)
    extends BuiltInMetadataService(MetadataServiceSpecs.File.name)

/**
 * A fixed set of streams. The properties of the clusters become a part of an option, which Spark prints in query plans: write
 * credentials as references to a file, which Kafka's clients resolve (KIP-421).
 *
 * @param streams all streams
 * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException METADATA_INVALID if two streams have the same id, or
 *         specify different properties for the same cluster
 */
final case class StaticMetadataService(streams: Iterable[KafkaStream])
    extends BuiltInMetadataService(MetadataServiceSpecs.Static.name) {
  private val document = DocumentWriter.text(streams)
  private[dynamickafka] override def arguments = Map(MetadataServiceSpecs.Document.name -> document)
  protected override def shown: Seq[String] = streams.map(_.toString).toSeq
}

/**
 * The topics of one Kafka cluster, each of which is a stream with the topic's name.
 *
 * @param clusterId the id of the cluster in rows, options and checkpoints
 * @param bootstrapServers `host:port`, several separated by commas
 * @param properties other Kafka client properties, without the prefix `kafka.`
 */
final case class SingleClusterMetadataService(
    clusterId: String,
    bootstrapServers: String,
    properties: Map[String, String] = Map.empty
) extends BuiltInMetadataService(MetadataServiceSpecs.SingleCluster.name)

/**
 * Streams in a document on an HTTP server, in the format of the metadata file.
 *
 * @param url `http://...` or `https://...`, without user and password
 * @param headers request headers by name; write credentials as references to a file
 * @param oauth how to get a token for each request. Default: without
 */
final case class HttpMetadataService(
    url: String,
    headers: Map[String, String] = Map.empty,
    timeout: TimeArgument = TimeArgument.Default,
    ttl: TimeArgument = TimeArgument.Default,
    oauth: Option[ClientCredentials] = None
) extends BuiltInMetadataService(MetadataServiceSpecs.Http.name) {

  /** The address without user and query, which may be credentials. */
  protected override def shown: Seq[String] = Try(new URI(url)).toOption.map { uri =>
    s"${uri.getScheme}://${Option(uri.getRawAuthority).fold("")(_.split('@').last)}${uri.getRawPath}"
  }.toSeq
}

/**
 * A client of an authorization server, which gives tokens for it (RFC 6749, 4.4). `toString` shows neither id nor secret.
 *
 * @param tokenUrl `https://...` of the token endpoint
 * @param clientId the id of the client
 * @param clientSecret its secret; write a reference to a file
 * @param scope names separated by spaces. Default: that of the server
 */
final case class ClientCredentials(
    tokenUrl: String,
    clientId: String,
    clientSecret: String,
    scope: String = ""
) {
  override def toString: String = "ClientCredentials()"
}

object ClientCredentials {

  /** Lets a log-in be written as in Python, without `Some`. */
  implicit def asLogin(credentials: ClientCredentials): Option[ClientCredentials] = Some(credentials)
}

/**
 * Streams in a document in a Kubernetes ConfigMap, in the format of the metadata file.
 *
 * @param namespace the namespace of the ConfigMap
 * @param name the name of the ConfigMap
 * @param key the key of the document in the ConfigMap
 */
final case class KubernetesConfigMapMetadataService(
    namespace: String,
    name: String,
    key: String,
    timeout: TimeArgument = TimeArgument.Default,
    ttl: TimeArgument = TimeArgument.Default
) extends BuiltInMetadataService(MetadataServiceSpecs.ConfigMap.name)

/**
 * Streams of Strimzi's `KafkaTopic` resources, by a label, on the clusters of their `Kafka` resources. Changes are noticed at once.
 *
 * @param namespace the namespace of the resources, several separated by commas
 * @param listener the name of the listener of each `Kafka`. Default: the only one
 * @param label the key of the label with the id of the stream. Default: `dynamic-kafka/stream`
 * @param properties other Kafka client properties of each cluster, without the prefix `kafka.`
 */
final case class StrimziMetadataService(
    namespace: String,
    listener: String = "",
    label: String = "",
    properties: Map[String, String] = Map.empty,
    timeout: TimeArgument = TimeArgument.Default,
    ttl: TimeArgument = TimeArgument.Default
) extends BuiltInMetadataService(MetadataServiceSpecs.Strimzi.name)

/**
 * Streams in a database that has a JDBC driver, which has to be on Spark's class path.
 *
 * @param url `jdbc:...`, without credentials
 * @param query a query with one row for each topic of a stream on a cluster, or with one document
 * @param properties properties of the connection, such as `user` and `password`; values may contain references
 */
final case class JdbcMetadataService(
    url: String,
    query: String,
    properties: Map[String, String] = Map.empty,
    timeout: TimeArgument = TimeArgument.Default,
    ttl: TimeArgument = TimeArgument.Default
) extends BuiltInMetadataService(MetadataServiceSpecs.Jdbc.name) {
  protected override def shown: Seq[String] = Nil
}

/**
 * Streams in a compacted Kafka topic with one partition. New records are applied at once.
 *
 * @param bootstrapServers `host:port` of the cluster with the topic, several separated by commas
 * @param topic the topic: one partition, `cleanup.policy=compact`
 * @param properties other Kafka client properties of this cluster, without the prefix `kafka.`
 */
final case class KafkaTopicMetadataService(
    bootstrapServers: String,
    topic: String,
    properties: Map[String, String] = Map.empty,
    timeout: TimeArgument = TimeArgument.Default
) extends BuiltInMetadataService(MetadataServiceSpecs.KafkaTopic.name)
