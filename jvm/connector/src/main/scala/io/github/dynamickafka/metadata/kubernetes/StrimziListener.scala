package io.github.dynamickafka.metadata.kubernetes

import java.io.IOException
import java.{util => ju}

import scala.jdk.CollectionConverters._

import io.fabric8.kubernetes.api.model.GenericKubernetesResource

import io.github.dynamickafka.config.MetadataServiceSpecs
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.service.ServiceArguments

/**
 * Finds the listener by which the clusters are reached, in the status of a `Kafka` resource.
 *
 * @param chosen its name; empty: a `Kafka` has to have only one
 */
private[kubernetes] final class StrimziListener(chosen: String) {
  import StrimziListener._

  /**
   * @param own the name in an annotation, which has precedence
   * @param shown the resource, for errors
   * @throws java.io.IOException if the listener has no address yet
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException METADATA_INVALID, if there is no such listener, or several
   */
  def of(kafka: GenericKubernetesResource, own: Option[String], shown: String): Found = {
    val declared = list(kafka, "spec", "kafka", "listeners")
    val name = named(declared.flatMap(_.text("name")), own, shown)
    def notReadyYet(missing: String) =
      new IOException(s"$shown is not ready: $missing${reason(kafka)}. Strimzi's operator sets it")
    val current = list(kafka, "status", "listeners")
    val found = current.find(_.text("name").contains(name)).getOrElse(throw notReadyYet(
      if (current.isEmpty) "its status has no listeners" else s"its status has no listener '$name'"
    ))
    Found(
      found.text("bootstrapServers").filterNot(_.isBlank).getOrElse(
        throw notReadyYet(s"its status has no bootstrapServers of listener '$name'")
      ),
      declared.find(_.text("name").contains(name)).fold(Map.empty[String, String])(security),
      trust(found)
    )
  }

  private def security(declared: Fields): Map[String, String] = {
    val authentication = declared.fields("authentication")
    val mechanism = authentication.text("type").flatMap(Mechanisms.get)
    val sasl = mechanism.isDefined || authentication.is("sasl")
    val protocol = (declared.is("tls"), sasl) match {
      case (true, true) => Some("SASL_SSL")
      case (true, false) => Some("SSL")
      case (false, true) => Some("SASL_PLAINTEXT")
      case _ => None
    }
    protocol.map("security.protocol" -> _).toMap ++ mechanism.map("sasl.mechanism" -> _)
  }

  private def trust(found: Fields): Map[String, String] = {
    val certificates = found.texts("certificates").map(_.strip).filter(_.nonEmpty)
    if (certificates.isEmpty) Map.empty
    else Map("ssl.truststore.type" -> "PEM", "ssl.truststore.certificates" -> certificates.mkString("\n"))
  }

  private def named(names: Seq[String], own: Option[String], shown: String): String =
    own.orElse(Option(chosen).filter(_.nonEmpty)) match {
      case _ if names.isEmpty => fail(shown, "its spec has no listeners")
      case Some(name) if names.contains(name) => name
      case Some(name) =>
        fail(shown, s"it has no listener '$name'; its listeners are ${quoted(names)}. $Remedy")
      case None if names.size == 1 => names.head
      case None => fail(shown, s"it has several listeners: ${quoted(names)}. $Remedy")
    }
}

private[kubernetes] object StrimziListener {

  /**
   * @param security the protocol and the mechanism of the listener, as Kafka properties
   * @param trust its certificates, as Kafka properties
   */
  final case class Found(bootstrapServers: String, security: Map[String, String], trust: Map[String, String])

  private val ListenerOption = ServiceArguments.option(MetadataServiceSpecs.StrimziListener.name)
  private val Remedy =
    s"Set '$ListenerOption', or the annotation '${StrimziStreams.Prefix}${StrimziStreams.Listener}' of the Kafka, to one of them"

  /** SASL mechanisms by Strimzi's type of authentication. */
  private val Mechanisms = Map("scram-sha-512" -> "SCRAM-SHA-512", "oauth" -> "OAUTHBEARER")

  private def fail(where: String, reason: String): Nothing = throw Errors.metadataInvalid(where, reason)

  /** What Strimzi's operator says about a `Kafka` that is not ready. */
  private def reason(kafka: GenericKubernetesResource): String = {
    val conditions = list(kafka, "status", "conditions")
    def holds(condition: Fields, name: String, value: String) =
      condition.text("type").contains(name) && condition.text("status").contains(value)
    conditions.find(c => holds(c, "NotReady", "True") || holds(c, "Ready", "False"))
      .map(c => Seq(c.text("reason"), c.text("message")).flatten.mkString(": "))
      .filter(_.nonEmpty).fold("")(text => s" ($text)")
  }

  private def quoted(names: Seq[String]) = names.map(name => s"'$name'").mkString(", ")

  /** An object in a resource, whose fields may be absent or have other types. */
  private final class Fields(values: Map[String, Any]) {
    def text(name: String): Option[String] = values.get(name).collect { case text: String => text }
    def is(name: String): Boolean = values.get(name).contains(true)
    def texts(name: String): Seq[String] =
      values.get(name).collect { case all: ju.List[_] => all.asScala.toSeq.collect { case t: String => t } }
        .getOrElse(Nil)
    def fields(name: String): Fields = values.get(name).flatMap(fieldsOf).getOrElse(new Fields(Map.empty))
  }

  private def fieldsOf(value: Any): Option[Fields] = Option(value).collect { case map: ju.Map[_, _] =>
    new Fields(map.asScala.collect { case (key: String, value) => key -> value }.toMap)
  }

  private def list(resource: GenericKubernetesResource, path: String*): Seq[Fields] =
    Option(resource.get[Any](path: _*)).collect { case all: ju.List[_] =>
      all.asScala.toSeq.flatMap(fieldsOf(_))
    }.getOrElse(Nil)
}
