package io.github.dynamickafka.base

import java.net.URI
import java.util.Locale

import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.matching.Regex

import com.fasterxml.jackson.databind.ObjectMapper

import io.github.dynamickafka.error.FailureText

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

  /** Shorter values are not replaced in a text, because they occur in ordinary words too. */
  private val shortestSecret = 4

  // Tokens have thousands of characters: a repeated choice that is not possessive takes a frame of the stack for each of them, and
  // a name that is tried from each of its characters takes a time that is quadratic.
  private val JaasOption =
    """(?<![\w.])([\w.]++)\s*+=\s*+(?:"((?:[^"\\]|\\.)*+)"|'((?:[^'\\]|\\.)*+)'|([^\s;"']++))""".r
  private val harmlessJaasOptions =
    Set("clientid", "keytab", "principal", "refreshkrb5config", "scope", "servicename", "username")

  /** Whether the value of this property may be printed and stored. A reference such as `${file:...}` may not. */
  def isSafe(property: String, value: String): Boolean =
    !value.contains("${") && harmless.get(property.toLowerCase(Locale.ROOT)).exists(_.matches(value.trim))

  def safe(properties: Map[String, String]): Map[String, String] =
    properties.filter { case (name, value) => isSafe(name, value) }

  /**
   * The properties that may be stored: the safe ones, and those whose secrets are references such as `${file:...}`, which
   * are resolved by the clients. They are not printed, because they show where secrets are.
   */
  def storable(properties: Map[String, String]): Map[String, String] =
    properties.filter { case (name, value) =>
      isSafe(name, value) || isReference(value) || isReferringJaas(value)
    }

  private val reference = """\$\{[^{}$]+\}"""
  private val jaasModule = """\s*[\w.$]+\s+(?:required|requisite|sufficient|optional)"""
  private val jaasOptions =
    """(?:\s++[\w.]++\s*+=\s*+(?:"[^"\\]*+"|'[^'\\]*+'|[^\s;"']++))*+\s*;\s*"""

  private def isReference(value: String): Boolean = value.trim.matches(reference)

  /** Whether the value is one log-in module, of which each option is a reference or harmless. */
  private def isReferringJaas(value: String): Boolean =
    value.matches(jaasModule + jaasOptions) && JaasOption.findAllMatchIn(value).forall { m =>
      val text = m.subgroups.drop(1).filter(_ != null).mkString
      isReference(text) || harmlessJaasOptions(m.group(1).toLowerCase(Locale.ROOT))
    }

  /** All properties in order of their names, with the values of unsafe properties redacted. */
  def show(properties: Map[String, String]): String =
    properties.toSeq.sorted
      .map { case (name, value) => s"$name=${if (isSafe(name, value)) value else Redacted}" }
      .mkString(", ")

  /**
   * Redacts a text of a library, such as the message of an exception: removes the unsafe values of these properties and
   * the passwords in their JAAS configurations.
   */
  def scrub(text: String, properties: Map[String, String]): String =
    if (text == null) null
    else if (isAboutJaas(text)) s"'sasl.jaas.config' cannot be used: $JaasRule"
    // Longest first: a secret may contain another secret.
    else secrets(properties).toSeq.sortBy(s => (-s.length, s)).foldLeft(text)(_.replace(_, Redacted))

  /** Kafka's messages about a log-in that it cannot parse have parts of it, such as what follows a quote in a password. */
  private val OfJaas = """\bJAAS config(?!uration)""".r

  def isAboutJaas(text: String): Boolean = text != null && OfJaas.findFirstIn(text).isDefined

  val JaasRule: String =
    "it has to be one login module, such as org.apache.kafka.common.security.plain.PlainLoginModule, 'required', the options as " +
      "name=\"value\", and a semicolon at the end; in a value, a backslash is written before each quote and each backslash"

  /** Returns the error unchanged, or a redacted copy if its message or that of a cause contains a secret. */
  def scrub(error: Throwable, properties: Map[String, String]): Throwable = {
    val chain = FailureText.causes(error)
    if (chain.forall(e => scrub(e.toString, properties) == e.toString)) error
    else
      chain.foldRight[Throwable](null) { (e, cause) =>
        val copy = new RuntimeException(scrub(e.toString, properties), cause)
        copy.setStackTrace(e.getStackTrace)
        copy
      }
  }

  private def secrets(properties: Map[String, String]): Set[String] =
    properties
      .filterNot { case (name, value) => isSafe(name, value) }
      .values
      .flatMap(value => Set(value, value.trim) ++ jaasSecrets(value))
      .filter(secret => secret.length >= shortestSecret && secret.toBooleanOption.isEmpty)
      .toSet

  private def jaasSecrets(value: String): Set[String] =
    JaasOption
      .findAllMatchIn(value)
      .filterNot(m => harmlessJaasOptions(m.group(1).toLowerCase(Locale.ROOT)))
      .flatMap(m => m.subgroups.drop(1).filter(_ != null))
      // The text may contain the value without the escapes of the JAAS syntax.
      .flatMap(secret => Seq(secret, secret.replaceAll("\\\\(.)", "$1")))
      .toSet
}

/** Addresses of services for logs and error messages, without credentials. */
private[dynamickafka] object AddressText {

  /** Scheme, host, port and path; a query is replaced by a placeholder. */
  def http(uri: URI): String = {
    val port = if (uri.getPort < 0) "" else s":${uri.getPort}"
    val query = if (uri.getRawQuery == null) "" else s"?${Redaction.Redacted}"
    s"${uri.getScheme}://${uri.getHost}$port${Option(uri.getRawPath).getOrElse("")}$query"
  }

  /** Driver, hosts and path of a JDBC URL; only the driver if the URL may contain credentials elsewhere. */
  def jdbc(url: String): String = url match {
    case Plain(address) if !url.contains('@') => address
    case Driver(driver) => s"$driver${Redaction.Redacted}"
    case _ => Redaction.Redacted
  }

  /** The credentials in a JDBC URL, to redact them in messages of drivers. */
  def credentials(url: String): Map[String, String] = {
    val parameters = Parameter.findAllMatchIn(url).map(m => s"url.${m.group(1)}" -> m.group(2))
    // A driver shows a part of a log-in whose characters end something for it: as a host that is not known.
    val user = url match {
      case Plain(address) if NoPort.findFirstIn(address).isEmpty => Nil
      case _ =>
        UserInfo.findFirstMatchIn(url).map(_.group(1)).toSeq
          .flatMap(info => info.split("[:/]", 2) ++ info.split("[^A-Za-z0-9_.-]+")).filter(
            _.nonEmpty
          ).distinct
    }
    (parameters ++ user.zipWithIndex.map { case (part, i) => s"url.user.$i" -> part }).toMap
  }

  private val Driver = """(jdbc:[A-Za-z0-9_.+-]+:).*""".r
  private val Plain =
    """(jdbc:[A-Za-z0-9_.+-]+://[A-Za-z0-9_.,:\[\]-]*(?:/[A-Za-z0-9_.-]*+)*+)(?:[?;#].*)?""".r
  private val Parameter = """(?i)[?&;]([^=&;?]*(?:pass|pwd|secret|token|key)[^=&;?]*)=([^&;]*)""".r

  /** What follows a host is no number: it is a password. */
  private val NoPort = """://[^/]*:[0-9]*[^0-9,:/\]]""".r

  /** Up to the last `@`: one in a password may be any. */
  private val UserInfo = """(?s)^jdbc:[^:]+:(?:\w+:)?/{0,2}(.*)@""".r
}
