package io.github.dynamickafka.schemaregistry

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.error.Errors

/** The ids of the schemas that are written, by registry, log-in and subject. Thread-safe. */
private[dynamickafka] final class SchemaRegistrar private[schemaregistry] (client: RegistryClient) {
  private val ids = new Once[(RegistryIdentity, String, RegisteredSchema), Int]

  /**
   * The id of the schema in the subject, which is asked for once in a process.
   *
   * @param autoRegister whether the schema is added to a subject that does not have it
   * @param registered the same schema as a registry has it: where it is the newest of the subject, it has the id of that one. A
   *                   schema that refers to others has a text of its own in each of the two.
   * @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException SCHEMA_NOT_FOUND without `autoRegister`,
   *         REGISTRY_UNAVAILABLE, REGISTRY_AUTHENTICATION_FAILED
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_SCHEMA, if the registry rejects it
   */
  def id(
      settings: RegistrySettings,
      subject: String,
      schema: RegisteredSchema,
      autoRegister: Boolean,
      registered: Option[RegisteredSchema] = None
  ): Int = {
    def missing(reason: String) = Errors.schemaNotFound(settings.shown, settings.cluster, subject, reason)
    ids.get((settings.identity, subject, schema)) { () =>
      val requests = client.about(settings)
      newest(requests, subject, registered).orElse {
        if (schema.references.nonEmpty)
          throw missing(
            "its newest version is another one, and a schema that refers to others is not registered"
          )
        if (autoRegister) Some(requests.register(subject, schema))
        else requests.lookUp(subject, schema)
      }
    }.getOrElse(throw missing(
      s"the subject does not have this schema, and '${RegistryOptionSpecs.AutoRegister.name}' is 'false'"
    ))
  }

  private def newest(requests: SchemaRequests, subject: String, registered: Option[RegisteredSchema]) =
    registered.flatMap(own => requests.latest(subject).filter(_.schema == own).map(_.id))
}

private[dynamickafka] object SchemaRegistrar {

  /** Of this process. */
  lazy val shared: SchemaRegistrar = new SchemaRegistrar(RegistryClient(Clock.System))
}
