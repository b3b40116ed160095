package io.github.dynamickafka.schemaregistry

import io.github.dynamickafka.base.Clock

/** The requests to a registry with Confluent's REST API. Keeps nothing. Thread-safe. */
private[schemaregistry] final class RegistryClient(http: RegistryHttp) {

  /** @return None: the registry does not know the id */
  def schema(settings: RegistrySettings, id: Int): Option[RegisteredSchema] = about(settings).schema(id)

  /** @return None: the registry does not know the subject */
  def latest(settings: RegistrySettings, subject: String): Option[LatestSchema] =
    about(settings).latest(subject)

  /** For requests about one schema, with one time limit for all of them, which starts now. */
  def about(settings: RegistrySettings): SchemaRequests = new SchemaRequests(http, settings)
}

private[schemaregistry] object RegistryClient {
  def apply(clock: Clock): RegistryClient = new RegistryClient(new RegistryHttp(clock))
}
