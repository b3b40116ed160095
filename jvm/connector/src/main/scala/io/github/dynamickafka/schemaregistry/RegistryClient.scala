package io.github.dynamickafka.schemaregistry

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.node.JsonNodeFactory
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.time.Clock

/** The requests to a registry with Confluent's REST API. Keeps nothing. Thread-safe. */
private[schemaregistry] final class RegistryClient(http: RegistryHttp) {
  import RegistryClient._

  /** @return None: the registry does not know the id */
  def schema(settings: RegistrySettings, id: Int): Option[RegisteredSchema] =
    found(http.ask(settings, RegistryRequest(Seq("schemas", "ids", id.toString), None, s"schema id $id")))
      .map(parsed(settings, _))

  /** @return None: the registry does not know the subject */
  def latest(settings: RegistrySettings, subject: String): Option[LatestSchema] =
    found(http.ask(settings, version(subject, "latest"))).map { json =>
      LatestSchema(json.path("id").asInt, json.path("version").asInt, parsed(settings, json))
    }

  /**
   * Adds the schema to the subject if the subject does not have it.
   *
   * @return its id
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_SCHEMA, if the registry rejects it
   */
  def register(settings: RegistrySettings, subject: String, schema: RegisteredSchema): Int = {
    val path = Seq("subjects", subject, "versions")
    http.ask(settings, RegistryRequest(path, Some(body(schema)), s"the schema of subject '$subject'")) match {
      case RegistryAnswer.Found(json) => idOf(settings, subject, json)
      case other => throw rejected(settings, subject, other)
    }
  }

  /** @return the id of this schema; None: the subject does not have it */
  def lookUp(settings: RegistrySettings, subject: String, schema: RegisteredSchema): Option[Int] =
    http.ask(
      settings,
      RegistryRequest(Seq("subjects", subject), Some(body(schema)), s"the schema of subject '$subject'")
    ) match {
      case RegistryAnswer.Found(json) => Some(idOf(settings, subject, json))
      case RegistryAnswer.Unknown => None
      case other => throw rejected(settings, subject, other)
    }

  /** Records with an id that no registry gave could not be read. */
  private def idOf(settings: RegistrySettings, subject: String, json: JsonNode): Int =
    if (json.path("id").isInt) json.get("id").asInt
    else throw Errors.registryUnavailable(
      settings.shown,
      settings.cluster,
      s"the schema of subject '$subject'",
      "the response has no id"
    )

  private def rejected(settings: RegistrySettings, subject: String, answer: RegistryAnswer) = {
    val reason = answer match {
      case RegistryAnswer.Rejected(reason) => reason
      case _ => "it has no such subject"
    }
    Errors.invalidSchema(
      s"the schema registry ${settings.shown} of cluster '${settings.cluster}' does not accept it for the subject " +
        s"'$subject' ($reason). It may be incompatible with the versions before."
    )
  }

  private def found(answer: RegistryAnswer): Option[JsonNode] = answer match {
    case RegistryAnswer.Found(json) => Some(json)
    case _ => None
  }

  private def parsed(settings: RegistrySettings, json: JsonNode): RegisteredSchema =
    RegisteredSchema(
      json.path("schemaType").asText(RegisteredSchema.Avro),
      json.path("schema").asText,
      references(settings, json, Set.empty)
    )

  /** The schemas that a schema refers to, depth first. */
  private def references(
      settings: RegistrySettings,
      json: JsonNode,
      within: Set[(String, String)]
  ): Seq[NamedSchema] =
    json.path("references").elements.asScala.toSeq.flatMap { reference =>
      val (subject, number) = (reference.path("subject").asText, reference.path("version").asText)
      if (within.contains(subject -> number)) Nil
      else found(http.ask(settings, version(subject, number))).toSeq.flatMap { of =>
        references(settings, of, within + (subject -> number)) :+
          NamedSchema(reference.path("name").asText, of.path("schema").asText)
      }
    }.distinctBy(_.name)
}

private[schemaregistry] object RegistryClient {
  private val mapper = new ObjectMapper

  def apply(clock: Clock): RegistryClient = new RegistryClient(new RegistryHttp(clock))

  private def version(subject: String, number: String) =
    RegistryRequest(
      Seq("subjects", subject, "versions", number),
      None,
      s"the version '$number' of subject '$subject'"
    )

  private def body(schema: RegisteredSchema): String = {
    val json = JsonNodeFactory.instance.objectNode
    json.put("schema", schema.text)
    if (schema.kind != RegisteredSchema.Avro) json.put("schemaType", schema.kind)
    mapper.writeValueAsString(json)
  }
}
