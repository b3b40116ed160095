package io.github.dynamickafka.kafka

import java.util.Locale

import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.matching.Regex

import com.fasterxml.jackson.databind.ObjectMapper

/**
 * Keeps secrets out of what is printed or stored. An allow-list names the harmless Kafka properties; every other
 * property is a secret.
 */
private[dynamickafka] object Redaction {
  val Redacted = "(redacted)"

  /**
   * What the value of a harmless property looks like, by the property's name. The names and patterns are in
   * `redaction.json`, which the Python package reads as well.
   */
  private val harmless: Map[String, Regex] = {
    val resource = "/io/github/dynamickafka/redaction.json"
    val kinds = Using.resource(getClass.getResourceAsStream(resource))(new ObjectMapper().readTree(_))
    kinds.elements.asScala.filter(_.isObject).flatMap { kind =>
      val pattern = kind.get("pattern").asText.r
      kind.get("properties").elements.asScala.map(_.asText -> pattern)
    }.toMap
  }

  /** What must not be replaced in a text even where it is a value: it would hide more than it protects. */
  private val shortestSecret = 4
  private val JaasOption = """(\w[\w.]*)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;"']+))""".r
  private val harmlessJaasOptions =
    Set("clientid", "keytab", "principal", "refreshkrb5config", "scope", "servicename", "username")

  /** Whether this property may be printed and stored with its value. A reference like `${file:...}` may not. */
  def isSafe(property: String, value: String): Boolean =
    !value.contains("${") && harmless.get(property.toLowerCase(Locale.ROOT)).exists(_.matches(value.trim))

  /** The properties that may be printed and stored. */
  def safe(properties: Map[String, String]): Map[String, String] =
    properties.filter { case (name, value) => isSafe(name, value) }

  /** All names, in order; values only where they may be seen. */
  def show(properties: Map[String, String]): String =
    properties.toSeq.sorted
      .map { case (name, value) => s"$name=${if (isSafe(name, value)) value else Redacted}" }
      .mkString(", ")

  /**
   * A text that others wrote, such as an exception's, without the secrets among the values of these properties and
   * without the passwords inside their JAAS configurations.
   */
  def scrub(text: String, properties: Map[String, String]): String =
    if (text == null) null
    // Longest first: a secret that is part of another must not leave the rest of it behind.
    else secrets(properties).toSeq.sortBy(s => (-s.length, s)).foldLeft(text)(_.replace(_, Redacted))

  /** The error itself, or where it or one of its causes tells a secret, one that stands for it and tells none. */
  def scrub(error: Throwable, properties: Map[String, String]): Throwable = {
    val chain = Iterator.iterate(error)(_.getCause).takeWhile(_ != null).take(longestChain).toSeq
    if (chain.forall(e => scrub(e.toString, properties) == e.toString)) error
    else
      chain.foldRight[Throwable](null) { (e, cause) =>
        val copy = new RuntimeException(scrub(e.toString, properties), cause)
        copy.setStackTrace(e.getStackTrace)
        copy
      }
  }

  private val longestChain = 50

  private def secrets(properties: Map[String, String]): Set[String] =
    properties
      .filterNot { case (name, value) => isSafe(name, value) }
      .values
      .flatMap(value => Set(value, value.trim) ++ jaasSecrets(value))
      .filter(secret => secret.length >= shortestSecret && !isBoolean(secret))
      .toSet

  private def isBoolean(text: String): Boolean = text.toBooleanOption.isDefined

  private def jaasSecrets(value: String): Set[String] =
    JaasOption
      .findAllMatchIn(value)
      .filterNot(m => harmlessJaasOptions(m.group(1).toLowerCase(Locale.ROOT)))
      .flatMap(m => m.subgroups.drop(1).filter(_ != null))
      // Where the text was printed as it was meant, without the escapes of the JAAS syntax.
      .flatMap(secret => Seq(secret, secret.replaceAll("\\\\(.)", "$1")))
      .toSet
}
