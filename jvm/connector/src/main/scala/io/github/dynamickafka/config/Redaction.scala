package io.github.dynamickafka.config

import java.util.Locale

/**
 * Keeps secrets out of logs, error messages, plans and the checkpoint. Uses an allow-list: a Kafka property that is not
 * known to be harmless counts as a secret.
 */
private[dynamickafka] object Redaction {
  val Redacted = "(redacted)"

  /**
   * Text properties that contain no secret. Numbers, booleans and class names are recognized by their type in Kafka.
   */
  private val harmless = Set(
    "auto.offset.reset",
    "bootstrap.servers",
    "client.dns.lookup",
    "client.id",
    "client.rack",
    "group.id",
    "group.instance.id",
    "isolation.level",
    "metadata.recovery.strategy",
    "metrics.recording.level",
    "sasl.kerberos.service.name",
    "sasl.mechanism",
    "security.protocol",
    "ssl.cipher.suites",
    "ssl.enabled.protocols",
    "ssl.endpoint.identification.algorithm",
    "ssl.keymanager.algorithm",
    "ssl.keystore.location",
    "ssl.keystore.type",
    "ssl.protocol",
    "ssl.provider",
    "ssl.trustmanager.algorithm",
    "ssl.truststore.location",
    "ssl.truststore.type"
  )

  private val NumberOrBoolean = "-?\\d+(\\.\\d+)?|true|false".r
  private val ClassName = "[\\w.$]+".r

  /** Shorter values are not replaced in a text, because they occur in ordinary words too. */
  private val shortestSecret = 4
  private val JaasOption = """(\w[\w.]*)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;"']+))""".r
  private val harmlessJaasOptions =
    Set("clientid", "keytab", "principal", "refreshkrb5config", "scope", "servicename", "username")

  /** Whether the value of this property may be printed and stored. A reference such as `${file:...}` may not. */
  def isSafe(property: String, value: String): Boolean = {
    val name = property.toLowerCase(Locale.ROOT)
    !value.contains("${") && (
      harmless(name) ||
        (KafkaProperties.isNumberOrBoolean(name) && NumberOrBoolean.matches(value.trim)) ||
        (KafkaProperties.isClassName(name) && ClassName.matches(value.trim))
    )
  }

  /** The properties that may be printed and stored. */
  def safe(properties: Map[String, String]): Map[String, String] =
    properties.filter { case (name, value) => isSafe(name, value) }

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
    // Longest first: a secret may contain another secret.
    else secrets(properties).toSeq.sortBy(s => (-s.length, s)).foldLeft(text)(_.replace(_, Redacted))

  /** Returns the error unchanged, or a redacted copy if its message or that of a cause contains a secret. */
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
      // The text may contain the value without the escapes of the JAAS syntax.
      .flatMap(secret => Seq(secret, secret.replaceAll("\\\\(.)", "$1")))
      .toSet
}
