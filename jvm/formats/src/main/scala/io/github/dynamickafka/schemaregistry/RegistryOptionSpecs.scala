package io.github.dynamickafka.schemaregistry

import io.github.dynamickafka.option.{OptionSpec, OptionType}

/** The options `registry.*`, of source and sink; each is also an option of one cluster. */
private[dynamickafka] object RegistryOptionSpecs {
  import OptionType._

  val Prefix = "registry."

  val Url: OptionSpec[String] = spec(
    "url",
    text,
    None,
    "required by formats with a registry",
    "The address of the schema registry, or several addresses of one registry, separated by `,`. See " +
      "[schema registries](formats.md#schema-registries)."
  )

  val Subject: OptionSpec[String] = spec(
    "subject",
    text,
    None,
    "`<topic>-value`, `<topic>-key`",
    "The subject of the schema, for `schema=registry` and for writing."
  )

  val TimeoutMs: OptionSpec[Long] = spec(
    "timeoutMs",
    duration(min = 1),
    Some(60000L),
    "`60000`",
    "How long one schema may take, with all attempts and all schemas that it refers to."
  )

  val UserInfo: OptionSpec[String] = textSpec(
    "basicAuth.userInfo",
    "User and password, `user:password`. Use a reference to a file instead: it is resolved for each request.",
    secret = true
  )

  val Token: OptionSpec[String] =
    textSpec("bearerAuth.token", "A bearer token, or a reference to it.", secret = true)

  val TokenUrl: OptionSpec[String] = textSpec(
    "oauth.tokenUrl",
    "URL of the token endpoint of an authorization server. Each request has a token of it (client credentials)."
  )
  val ClientId: OptionSpec[String] = textSpec("oauth.clientId", "Id of the client.")
  val ClientSecret: OptionSpec[String] =
    textSpec("oauth.clientSecret", "Secret of the client, or a reference to it.", secret = true)
  val Scope: OptionSpec[String] =
    textSpec("oauth.scope", "Scope of the tokens, names separated by spaces.")
  val LogicalCluster: OptionSpec[String] = textSpec(
    "oauth.logicalCluster",
    "Of Confluent Cloud: id of the registry, `lsrc-...`, the header `target-sr-cluster`."
  )
  val IdentityPool: OptionSpec[String] =
    textSpec("oauth.identityPoolId", "Of Confluent Cloud: the header `Confluent-Identity-Pool-Id`.")

  /** The options of a log-in by client credentials. */
  val OAuth: Seq[OptionSpec[String]] =
    Seq(TokenUrl, ClientId, ClientSecret, Scope, LogicalCluster, IdentityPool)

  /** An option of the sink only. */
  val AutoRegister: OptionSpec[Boolean] = spec(
    "autoRegister",
    boolean,
    Some(true),
    "`true`",
    "Whether a schema that the subject does not have is registered. With `false`, it is an error (`SCHEMA_NOT_FOUND`)."
  )

  /** By Kafka's names of the properties. */
  val Tls: Seq[(String, OptionSpec[String])] = Seq(
    ("truststore.location", false),
    ("truststore.password", true),
    ("truststore.type", false),
    ("truststore.certificates", true),
    ("keystore.location", false),
    ("keystore.password", true),
    ("keystore.type", false),
    ("keystore.key", true),
    ("keystore.certificate.chain", true),
    ("key.password", true)
  ).map { case (name, secret) =>
    s"ssl.$name" ->
      textSpec(s"ssl.$name", s"As `ssl.$name` of a Kafka client, for the connection to the registry.", secret)
  }

  /** The options of the source. */
  val reading: Seq[OptionSpec[_]] = Seq(Url, Subject, TimeoutMs, UserInfo, Token) ++ OAuth ++ Tls.map(_._2)
  val all: Seq[OptionSpec[_]] = reading :+ AutoRegister

  /** Whether an option may be stored: not a secret, unless it is a reference to one. */
  def isStorable(name: String, value: String): Boolean =
    all.find(_.named(name)).exists { spec =>
      value.contains("${") || !(spec.secret || (spec == Url && value.exists("@?".contains(_))))
    }

  /** The option that `name` means without the prefix: as Flink writes the options of its formats. */
  def withoutPrefix(name: String, of: Seq[OptionSpec[_]] = all): Option[OptionSpec[_]] =
    of.find(_.named(Prefix + name))

  private def textSpec(name: String, doc: String, secret: Boolean = false): OptionSpec[String] =
    spec(name, text, None, "-", doc, secret)

  private def spec[T](
      name: String,
      valueType: OptionType[T],
      default: Option[T],
      defaultText: String,
      doc: String,
      secret: Boolean = false
  ): OptionSpec[T] = OptionSpec(
    Prefix + name,
    valueType,
    default,
    defaultText,
    doc,
    perCluster = true,
    secret = secret
  )
}
