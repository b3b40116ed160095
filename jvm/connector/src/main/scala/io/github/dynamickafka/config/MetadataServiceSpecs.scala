package io.github.dynamickafka.config

import io.github.dynamickafka.option.{Default, OptionName, OptionSpec, OptionType}

/**
 * A metadata service that comes with the connector, as options name it: the one declaration of its name and its
 * arguments, for parsing, suggestions and `docs/options.md`.
 *
 * @param name value of the option `metadataService`, in any case
 * @param arguments the options `metadataService.<argument>`
 * @param prefix of arguments that the user names, with its `.`
 */
private[dynamickafka] final case class MetadataServiceSpec(
    name: String,
    arguments: Seq[OptionSpec[_]],
    prefix: Option[ArgumentPrefix] = None
) {

  /** Whether the user's text names this service, without regard to case and hyphens. */
  def named(text: String): Boolean = OptionName.normalize(text.trim) == OptionName.normalize(name)
}

/**
 * @param name with its `.`; what follows it is kept unchanged
 * @param placeholder for what follows, in the documentation
 */
private[dynamickafka] final case class ArgumentPrefix(name: String, placeholder: String, doc: String)

private[dynamickafka] object MetadataServiceSpecs {
  import OptionType._

  val Path: OptionSpec[String] =
    required("path", "A YAML or JSON file: any URI that Hadoop reads.")
  val Document: OptionSpec[String] = required("document", "The text of such a file.")
  val ClusterId: OptionSpec[String] =
    required("clusterId", "Id of the cluster. Each of its topics is a stream of the same name.")
  val BootstrapServers: OptionSpec[String] = required("bootstrapServers", "Bootstrap servers of the cluster.")
  val HttpUrl: OptionSpec[String] = required("url", "URL of a document as `file` reads it.")
  val TokenUrl: OptionSpec[String] = oauth(
    "tokenUrl",
    "URL of the token endpoint of an authorization server, for tokens by client credentials."
  )
  val ClientId: OptionSpec[String] = oauth("clientId", "Id of the client.")
  val ClientSecret: OptionSpec[String] =
    oauth("clientSecret", "Secret of the client, or a reference to it.", password)
  val Scope: OptionSpec[String] = oauth("scope", "Scopes of the tokens, separated by spaces.")
  val Namespace: OptionSpec[String] = required("namespace", "Namespace of the ConfigMap.")
  val ConfigMapName: OptionSpec[String] = required("name", "Name of the ConfigMap.")
  val ConfigMapKey: OptionSpec[String] = required("key", "Key of the document in the ConfigMap.")
  val JdbcUrl: OptionSpec[String] = required("url", "JDBC URL of the database.")
  val Query: OptionSpec[String] =
    required("query", "SQL query for the streams ([a database](metadata.md#a-database)).")

  val TopicServers: OptionSpec[String] =
    required("bootstrapServers", "Bootstrap servers of the cluster with the topic.")
  val Topic: OptionSpec[String] =
    required("topic", "Name of the topic ([a Kafka topic](metadata.md#a-kafka-topic)).")

  val StrimziNamespace: OptionSpec[String] =
    required("namespace", "Namespaces of the resources `KafkaTopic` and `Kafka`, separated by `,`.")
  val StrimziListener: OptionSpec[String] = OptionSpec(
    "listener",
    text,
    Default(Some(""), "the only one"),
    "The listener of each `Kafka`. Its annotation `dynamic-kafka/listener` takes precedence."
  )
  private val DefaultLabel = "dynamic-kafka/stream"
  val StrimziLabel: OptionSpec[String] = OptionSpec(
    "label",
    text,
    Default.of(DefaultLabel, DefaultLabel),
    "The label of a `KafkaTopic` with the id of its stream."
  )

  /** How long one call of a remote service may take, in milliseconds. */
  val DefaultTimeoutMs: Long = 10000L
  // Clients count in int.
  val TimeoutMs: OptionSpec[Long] = OptionSpec(
    "timeoutMs",
    duration(min = 1).map(math.min(_, Int.MaxValue.toLong)),
    Default.of(DefaultTimeoutMs, DefaultTimeoutMs.toString),
    "Time limit of a call."
  )
  val TtlMs: OptionSpec[Long] = OptionSpec(
    "ttlMs",
    duration(min = 0),
    Default.of(0L, "0"),
    "How long an answer is used again."
  )

  val File: MetadataServiceSpec = MetadataServiceSpec("file", Seq(Path, TtlMs))
  val Static: MetadataServiceSpec = MetadataServiceSpec("static", Seq(Document))
  val SingleCluster: MetadataServiceSpec = MetadataServiceSpec(
    "single-cluster",
    Seq(ClusterId, BootstrapServers),
    properties("<kafka property>", "Other properties of the cluster.")
  )
  val Http: MetadataServiceSpec = MetadataServiceSpec(
    "http",
    Seq(HttpUrl, TokenUrl, ClientId, ClientSecret, Scope, TimeoutMs, TtlMs),
    Some(ArgumentPrefix("headers.", "<name>", "A header of each request, or a reference to it."))
  )
  val ConfigMap: MetadataServiceSpec =
    MetadataServiceSpec("configmap", Seq(Namespace, ConfigMapName, ConfigMapKey, TimeoutMs, TtlMs))
  val Jdbc: MetadataServiceSpec = MetadataServiceSpec(
    "jdbc",
    Seq(JdbcUrl, Query, TimeoutMs, TtlMs),
    properties("<name>", "A property of the connection, or a reference to it.")
  )

  val KafkaTopic: MetadataServiceSpec = MetadataServiceSpec(
    "kafka-topic",
    Seq(TopicServers, Topic, TimeoutMs),
    properties("<kafka property>", "Other properties of this cluster, or references to them.")
  )

  val Strimzi: MetadataServiceSpec = MetadataServiceSpec(
    "strimzi",
    Seq(StrimziNamespace, StrimziListener, StrimziLabel, TimeoutMs, TtlMs),
    properties(
      "<kafka property>",
      "Other properties of each cluster, with precedence over the listener's."
    )
  )

  /** The services that users can name. */
  val all: Seq[MetadataServiceSpec] =
    Seq(File, Static, SingleCluster, Http, ConfigMap, Strimzi, Jdbc, KafkaTopic)

  /** All names, each between these. */
  def names(quote: String): String = all.map(spec => s"$quote${spec.name}$quote").mkString(", ")

  private def properties(placeholder: String, doc: String) =
    Some(ArgumentPrefix("properties.", placeholder, doc))

  /** Empty: not given. */
  private def oauth(name: String, doc: String, valueType: OptionType[String] = text): OptionSpec[String] =
    OptionSpec(s"oauth.$name", valueType, Default(Some(""), "-"), doc)

  private def required(name: String, doc: String): OptionSpec[String] =
    OptionSpec(name, text, Default.Required, doc)
}
