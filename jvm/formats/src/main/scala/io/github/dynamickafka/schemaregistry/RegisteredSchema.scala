package io.github.dynamickafka.schemaregistry

/**
 * A schema of a registry.
 *
 * @param kind `AVRO`, `JSON` or `PROTOBUF`
 * @param references the schemas that it refers to, each after those that it refers to itself
 */
private[dynamickafka] final case class RegisteredSchema(
    kind: String,
    text: String,
    references: Seq[NamedSchema] = Nil
)

/** @param name by which other schemas refer to it */
private[dynamickafka] final case class NamedSchema(name: String, text: String)

/** The newest schema of a subject. */
private[dynamickafka] final case class LatestSchema(id: Int, version: Int, schema: RegisteredSchema)

/** @param registry of the cluster with the records */
private[dynamickafka] final case class Subject(registry: RegistrySettings, name: String)

private[dynamickafka] object RegisteredSchema {
  val Avro = "AVRO"
  val Json = "JSON"
  val Protobuf = "PROTOBUF"
}
