package io.github.dynamickafka.schemaregistry

import io.github.dynamickafka.option.{OptionSpec, OptionSpecs, OptionType}

/** The options `registry.*`, of source and sink; each is also an option of one cluster. */
private[dynamickafka] object RegistryOptionSpecs extends OptionSpecs {
  import OptionType._

  val Prefix = "registry."

  val Url = optionalText("url", "required by formats with a registry")(
    "The address of the schema registry, or several of one registry, separated by `,` ([schema " +
      "registries](formats.md#schema-registries))."
  )

  val Subject = optionalText("subject", "`<topic>-value`, `<topic>-key`")(
    "The subject of the schema, for `schema=registry` and for writing."
  )

  val TimeoutMs = option(s"${Prefix}timeoutMs", duration(min = 1), "60000", perCluster = true)(
    "How long a schema may take, with all attempts and all schemas that it refers to."
  )

  val UserInfo = optionalText("basicAuth.userInfo", valueType = password)(
    "`user:password`, or a reference to it, which is resolved for each request."
  )

  val Token = optionalText("bearerAuth.token", valueType = password)("A bearer token, or a reference to it.")

  val TokenUrl = optionalText("oauth.tokenUrl")(
    "URL of the token endpoint of an authorization server, for tokens by client credentials."
  )
  val ClientId = optionalText("oauth.clientId")("Id of the client.")
  val ClientSecret = optionalText("oauth.clientSecret", valueType = password)(
    "Secret of the client, or a reference to it."
  )
  val Scope = optionalText("oauth.scope")("Scopes of the tokens, separated by spaces.")
  val LogicalCluster = optionalText("oauth.logicalCluster")(
    "Of Confluent Cloud: id of the registry, `lsrc-...`, the header `target-sr-cluster`."
  )
  val IdentityPool = optionalText("oauth.identityPoolId")(
    "Of Confluent Cloud: the header `Confluent-Identity-Pool-Id`."
  )

  /** The options of a log-in by client credentials. */
  val OAuth: Seq[OptionSpec[String]] =
    Seq(TokenUrl, ClientId, ClientSecret, Scope, LogicalCluster, IdentityPool)

  /** The options of TLS, by Kafka's names of the properties. */
  val Tls: Seq[(String, OptionSpec[String])] = Seq(
    ("truststore.location", text),
    ("truststore.password", password),
    ("truststore.type", text),
    ("truststore.certificates", password),
    ("keystore.location", text),
    ("keystore.password", password),
    ("keystore.type", text),
    ("keystore.key", password),
    ("keystore.certificate.chain", password),
    ("key.password", password)
  ).map { case (name, valueType) =>
    s"ssl.$name" -> optionalText(s"ssl.$name", valueType = valueType)(
      "The property `ssl.*` of Kafka's clients, for the connection to the registry."
    )
  }

  /** The options of the source. */
  val reading: Seq[OptionSpec[_]] = all

  /** An option of the sink only. */
  val AutoRegister = option(s"${Prefix}autoRegister", boolean, "true", perCluster = true)(
    "Whether a schema that the subject lacks is registered; otherwise it is an error (`SCHEMA_NOT_FOUND`)."
  )

  /** Whether an option may be stored: not a secret, unless it is a reference to one. */
  def isStorable(name: String, value: String): Boolean =
    all.find(_.named(name)).exists { spec =>
      value.contains("${") || !(spec.valueType.isSecret || (spec == Url && value.exists("@?".contains(_))))
    }

  /** The option that `name` means without the prefix: as Flink writes the options of its formats. */
  def withoutPrefix(name: String, of: Seq[OptionSpec[_]] = all): Option[OptionSpec[_]] =
    of.find(_.named(Prefix + name))

  private def optionalText(
      name: String,
      unset: String = "-",
      valueType: OptionType[String] = text
  )(doc: String) =
    optional(Prefix + name, valueType, unset, perCluster = true)(doc)
}
