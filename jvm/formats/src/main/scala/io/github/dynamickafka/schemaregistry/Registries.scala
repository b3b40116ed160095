package io.github.dynamickafka.schemaregistry

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.option.OptionName

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

  /** With these options over those of all clusters. */
  def in(own: Map[String, String]): Registries = {
    // A log-in takes precedence over a token, and that over a user: what a cluster has replaces what precedes it.
    val (user, token) = (RegistryOptionSpecs.UserInfo.key, RegistryOptionSpecs.Token.key)
    val preceding =
      (if (own.contains(user)) Seq(token) else Nil) ++
        (if (own.contains(user) || own.contains(token)) RegistryOptionSpecs.OAuth.map(_.key) else Nil)
    copy(shared = shared -- preceding ++ own)
  }

  /** Whether some cluster has a registry. */
  def hasUrl: Boolean =
    shared.contains(RegistryOptionSpecs.Url.key) ||
      perCluster.keys.exists(key => OptionName.normalize(key).endsWith(s".${RegistryOptionSpecs.Url.key}"))

  /**
   * Checks what can be checked without knowing the clusters.
   *
   * @param required whether the format needs a registry
   */
  def check(format: String, required: Boolean): Unit = {
    if (required && !hasUrl)
      throw Errors.missingOption(
        RegistryOptionSpecs.Url.name,
        s"set it to the address of the schema registry, because the format is '$format'. A registry of one cluster is set with " +
          s"'cluster.<id>.${RegistryOptionSpecs.Url.name}'."
      )
    shared.get(RegistryOptionSpecs.Url.key).foreach(RegistryUrl.check(_, RegistryOptionSpecs.Url.name))
    perCluster.foreach { case (key, url) =>
      if (OptionName.normalize(key).endsWith(s".${RegistryOptionSpecs.Url.key}"))
        RegistryUrl.check(url, OptionName.Cluster + key)
    }
  }

  override def toString: String = "Registries"
}
