package io.github.dynamickafka.schemaregistry

import java.net.URI
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Base64

import io.github.dynamickafka.base.ClientCredentials
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.option.{OptionName, OptionSpec}

/**
 * The registry of one cluster. Contains secrets or references to them, which `toString` omits.
 *
 * @param values as the user wrote them, by [[io.github.dynamickafka.option.OptionSpec.key]]
 */
private[dynamickafka] final case class RegistrySettings(cluster: String, values: Map[String, String]) {
  import RegistryOptionSpecs._

  /** One address or several, which may contain references. */
  val url: String = find(Url).getOrElse(throw Errors.missingOption(
    s"${OptionName.Cluster}$cluster.${Url.name}",
    s"set it, or '${Url.name}' for all clusters, to the address of the schema registry."
  ))

  val identity: RegistryIdentity =
    RegistryIdentity(values -- Seq(TimeoutMs, Subject, AutoRegister).map(_.key))

  /** The address, for error messages. */
  val shown: String = RegistryUrl.shown(url)
  val timeoutMs: Long = find(TimeoutMs).orElse(TimeoutMs.default.value).get
  val subject: Option[String] = find(Subject)
  val autoRegister: Boolean = find(AutoRegister).orElse(AutoRegister.default.value).get

  if (OAuth.exists(spec => values.contains(spec.key)))
    Seq(TokenUrl, ClientId, ClientSecret).find(spec => !values.contains(spec.key)).foreach(spec =>
      throw Errors.missingOption(
        s"${OptionName.Cluster}$cluster.${spec.name}",
        s"set it, or '${spec.name}' for all clusters: a log-in needs '${TokenUrl.name}', '${ClientId.name}' and " +
          s"'${ClientSecret.name}'."
      )
    )

  /**
   * The secrets of one request, with references resolved now.
   *
   * @throws RegistrySecurityException if a reference cannot be resolved
   */
  def resolved(): ResolvedRegistry = new ResolvedRegistry(RegistrySecurity.found.resolve(values))

  private def find[T](spec: OptionSpec[T]): Option[T] =
    values.get(spec.key).map(spec.parse(_, s"${OptionName.Cluster}$cluster.${spec.name}"))

  override def toString: String = s"RegistrySettings($shown)"
}

/**
 * The address and the log-in of a registry. A registry that serves several tenants has schemas, ids and subjects of each log-in. After a password
 * has changed, a registry is asked again. Contains secrets or references to them, which `toString` omits.
 */
private[dynamickafka] final case class RegistryIdentity(values: Map[String, String]) {
  // Tasks look up schemas by it.
  override val hashCode: Int = values.hashCode
  override def toString: String = "RegistryIdentity"
}

/**
 * What one request needs. Must not be kept or printed.
 *
 * @param values of [[RegistrySettings]], with references resolved
 */
private[schemaregistry] final class ResolvedRegistry(values: Map[String, String]) {
  import RegistryOptionSpecs._

  private def text(spec: OptionSpec[String]) = values.get(spec.key).map(_.strip)

  val urls: Seq[String] = RegistryUrl.split(text(Url).get)

  /** The properties of TLS, by Kafka's names. */
  val tls: Map[String, String] = Tls.flatMap { case (property, spec) => text(spec).map(property -> _) }.toMap

  /** The value of the header, if there is no log-in. */
  val authorization: Option[String] = text(Token).map(t => s"Bearer $t").orElse(
    text(UserInfo).map(user => s"Basic ${Base64.getEncoder.encodeToString(user.getBytes(UTF_8))}")
  )

  /** The headers that each request has. */
  val headers: Seq[(String, String)] =
    Seq("target-sr-cluster" -> LogicalCluster, "Confluent-Identity-Pool-Id" -> IdentityPool)
      .flatMap { case (header, spec) => text(spec).map(header -> _) }

  val login: Option[ClientCredentials] = text(TokenUrl).map { address =>
    val url =
      try URI.create(address)
      catch {
        case _: IllegalArgumentException =>
          throw new RegistrySecurityException(s"'${TokenUrl.name}' is not a URL")
      }
    if (url.getHost == null || url.getRawUserInfo != null)
      throw new RegistrySecurityException(s"'${TokenUrl.name}' does not have the form https://host/path")
    ClientCredentials(url, text(ClientId).get, text(ClientSecret).get, text(Scope).getOrElse(""))
  }
}

/**
 * The registries of a query. Sent to executors. Contains secrets or references to them, which `toString` omits.
 *
 * @param shared the options for all clusters, by [[io.github.dynamickafka.option.OptionSpec.key]]
 * @param perCluster the options `cluster.<id>.registry.*` without `cluster.`, names as the user wrote them
 */
private[dynamickafka] final case class Registries(
    shared: Map[String, String] = Map.empty,
    perCluster: Map[String, String] = Map.empty
) {

  /**
   * The registry of a cluster. The id in the key of an option is compared as a whole, because ids may contain dots.
   *
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException MISSING_OPTION, INVALID_OPTION
   */
  def of(cluster: String): RegistrySettings = {
    val own = perCluster.flatMap { case (key, value) =>
      Option.when(key.startsWith(s"$cluster."))(key.drop(cluster.length + 1))
        .flatMap(name => RegistryOptionSpecs.all.find(_.named(name))).map(_.key -> value)
    }
    RegistrySettings(cluster, in(own).shared)
  }

  /** The registries with these options over those of all clusters. */
  def in(own: Map[String, String]): Registries = {
    // A log-in takes precedence over a token, and that over a user: what a cluster has replaces what precedes it.
    val (user, token) = (RegistryOptionSpecs.UserInfo.key, RegistryOptionSpecs.Token.key)
    val preceding =
      (if (own.contains(user)) Seq(token) else Nil) ++
        (if (own.contains(user) || own.contains(token)) RegistryOptionSpecs.OAuth.map(_.key) else Nil)
    copy(shared = shared -- preceding ++ own)
  }

  /**
   * Checks what can be checked without knowing the clusters.
   *
   * @param required whether the format needs a registry
   */
  def check(format: String, required: Boolean): Unit = {
    val own = perCluster.filter { case (key, _) =>
      OptionName.normalize(key).endsWith(s".${RegistryOptionSpecs.Url.key}")
    }
    if (required && own.isEmpty && !shared.contains(RegistryOptionSpecs.Url.key))
      throw Errors.missingOption(
        RegistryOptionSpecs.Url.name,
        s"set it to the address of the schema registry, because the format is '$format'. A registry of one cluster is set with " +
          s"'cluster.<id>.${RegistryOptionSpecs.Url.name}'."
      )
    shared.get(RegistryOptionSpecs.Url.key).foreach(RegistryUrl.check(_, RegistryOptionSpecs.Url.name))
    own.foreach { case (key, url) => RegistryUrl.check(url, OptionName.Cluster + key) }
  }

  override def toString: String = "Registries"
}
