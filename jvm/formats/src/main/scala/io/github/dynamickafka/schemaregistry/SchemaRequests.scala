package io.github.dynamickafka.schemaregistry

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.node.JsonNodeFactory
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.github.dynamickafka.error.Errors

/**
 * The requests about one schema, within one time limit that starts with the object: the schemas that it refers to are requested
 * once each, however many refer to them. Used by one thread.
 */
private[schemaregistry] final class SchemaRequests(
    settings: RegistrySettings,
    ask: RegistryRequest => RegistryClient.Answer
) {
  import SchemaRequests._

  /** @return None: the registry does not know the id */
  def schema(id: Int): Option[RegisteredSchema] = {
    val what = s"schema id $id"
    found(RegistryRequest(Seq("schemas", "ids", id.toString), None, what, isSchema)).map(parsed(what, _))
  }

  /** @return None: the registry does not know the subject */
  def latest(subject: String): Option[LatestSchema] = {
    val request = version(subject, "latest", isVersion)
    found(request).map { json =>
      LatestSchema(json.get("id").asInt, json.get("version").asInt, parsed(request.what, json))
    }
  }

  /**
   * Adds the schema to the subject if the subject does not have it.
   *
   * @return its id
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_SCHEMA, if the registry rejects it
   */
  def register(subject: String, schema: RegisteredSchema): Int =
    posted(Seq("subjects", subject, "versions"), subject, schema)
      .getOrElse(throw rejected(subject, "it has no such subject"))

  /** @return the id of this schema; None: the subject does not have it */
  def lookUp(subject: String, schema: RegisteredSchema): Option[Int] =
    posted(Seq("subjects", subject), subject, schema)

  private def posted(path: Seq[String], subject: String, schema: RegisteredSchema): Option[Int] =
    ask(RegistryRequest(path, Some(body(schema)), s"the schema of subject '$subject'", hasId))
      .fold(reason => throw rejected(subject, reason), _.map(_.get("id").asInt))

  private def rejected(subject: String, reason: String) = Errors.invalidSchema(
    s"the schema registry ${settings.shown} of cluster '${settings.cluster}' does not accept it for the subject " +
      s"'$subject' ($reason). It may be incompatible with the versions before."
  )

  private def found(request: RegistryRequest): Option[JsonNode] = ask(request).toOption.flatten

  private def parsed(what: String, json: JsonNode): RegisteredSchema =
    RegisteredSchema(
      json.path("schemaType").asText(RegisteredSchema.Avro),
      json.get("schema").asText,
      references(what, json)
    )

  /** The schemas that a schema refers to, depth first. Without one of them, a schema is of no use, and must not be kept. */
  private def references(what: String, json: JsonNode): Seq[NamedSchema] = {
    val texts = mutable.HashMap.empty[(String, String), String]
    val ordered = mutable.LinkedHashMap.empty[String, NamedSchema]
    def add(of: JsonNode): Unit = of.path("references").elements.asScala.foreach { reference =>
      val (subject, number) = (reference.get("subject").asText, reference.get("version").asText)
      val text = texts.getOrElse(
        subject -> number, {
          val request = version(subject, number, isSchema)
          val json = found(request).getOrElse(throw Errors.registryUnavailable(
            settings.shown,
            settings.cluster,
            what,
            s"it does not know ${request.what}, to which this one refers"
          ))
          val text = json.get("schema").asText
          texts.put(subject -> number, text)
          add(json)
          text
        }
      )
      val name = reference.get("name").asText
      val _ = ordered.getOrElseUpdate(name, NamedSchema(name, text))
    }
    add(json)
    ordered.values.toSeq
  }
}

private[schemaregistry] object SchemaRequests {
  private val mapper = new ObjectMapper

  // A proxy or a registry under maintenance may answer anything with status 200, and what is taken for a schema is kept.
  private def isSchema(json: JsonNode): Boolean =
    json.path("schema").isTextual && !json.get("schema").asText.isBlank &&
      isAbsentOr(json.path("schemaType"))(_.isTextual) &&
      isAbsentOr(json.path("references"))(references =>
        references.isArray && references.elements.asScala.forall(isReference)
      )

  private def isReference(json: JsonNode): Boolean =
    json.path("name").isTextual && json.path("subject").isTextual && json.path("version").isInt

  private def isVersion(json: JsonNode): Boolean =
    isSchema(json) && hasId(json) && json.path("version").isInt

  private def hasId(json: JsonNode): Boolean = json.path("id").isInt

  private def isAbsentOr(json: JsonNode)(is: JsonNode => Boolean): Boolean =
    json.isMissingNode || json.isNull || is(json)

  private def version(subject: String, number: String, isAnswer: JsonNode => Boolean) =
    RegistryRequest(
      Seq("subjects", subject, "versions", number),
      None,
      s"the version '$number' of subject '$subject'",
      isAnswer
    )

  private def body(schema: RegisteredSchema): String = {
    val json = JsonNodeFactory.instance.objectNode
    json.put("schema", schema.text)
    if (schema.kind != RegisteredSchema.Avro) json.put("schemaType", schema.kind)
    mapper.writeValueAsString(json)
  }
}

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

private[dynamickafka] final case class LatestSchema(id: Int, version: Int, schema: RegisteredSchema)

/** @param registry of the cluster with the records */
private[dynamickafka] final case class Subject(registry: RegistrySettings, name: String)

private[dynamickafka] object RegisteredSchema {
  val Avro = "AVRO"
  val Json = "JSON"
  val Protobuf = "PROTOBUF"
}
