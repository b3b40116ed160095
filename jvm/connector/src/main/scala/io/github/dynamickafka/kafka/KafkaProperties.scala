package io.github.dynamickafka.kafka

import java.util.Locale

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.kafka.clients.admin.AdminClientConfig
import org.apache.kafka.clients.consumer.ConsumerConfig
import org.apache.kafka.clients.producer.ProducerConfig
import org.apache.kafka.common.config.ConfigDef.Type
import org.apache.kafka.common.config.types.Password
import org.apache.kafka.common.config.{ConfigDef, ConfigException, SaslConfigs}
import org.apache.kafka.common.security.JaasContext

import io.github.dynamickafka.base.Redaction

/** The definitions of the properties of the Kafka clients. */
private[dynamickafka] object KafkaProperties {

  private val definitions =
    Seq[ConfigDef](AdminClientConfig.configDef(), ConsumerConfig.configDef(), ProducerConfig.configDef())

  private val keys: Map[String, Seq[ConfigDef.ConfigKey]] =
    definitions.flatMap(_.configKeys.asScala).groupMap(_._1)(_._2)

  private val ofAdmin = AdminClientConfig.configNames().asScala.toSet
  private val ofConsumer = ConsumerConfig.configNames().asScala.toSet
  private val ofProducer = ProducerConfig.configNames().asScala.toSet

  val names: Seq[String] = keys.keys.toSeq.sorted

  def isKnown(name: String): Boolean = keys.contains(name.toLowerCase(Locale.ROOT))

  /**
   * Whether a name without the prefix `kafka.` may be a Kafka property. Plug-ins such as login modules and config
   * providers have properties that Kafka does not define; all of these names contain a dot.
   */
  def isPlausible(name: String): Boolean = isKnown(name) || name.contains('.')

  /** Known properties in lower case, so that two spellings are one property; other names unchanged. */
  def canonical(name: String): String = if (isKnown(name)) name.toLowerCase(Locale.ROOT) else name

  /** Whether Kafka redacts the value. */
  def isPassword(name: String): Boolean = typeOf(name).contains(Type.PASSWORD)

  // A client logs a warning for a property that it does not use. Unknown properties may belong to a plug-in.
  def suitsAdmin(name: String): Boolean = ofAdmin(name) || !isKnown(name)
  def suitsConsumer(name: String): Boolean = ofConsumer(name) || !isKnown(name)
  def suitsProducer(name: String): Boolean = ofProducer(name) || !isKnown(name)

  def typeOf(name: String): Option[Type] = keys.get(name.toLowerCase(Locale.ROOT)).map(_.last.`type`)

  /**
   * Why a client of Kafka does not take some of these properties, by name. The definitions of all three clients judge the values, before
   * a client is made: a task that makes one would fail a batch that is logged. What a reference becomes is not known here, and whether a
   * class exists depends on the class path. No text has a part of a value that may be a secret.
   */
  def problems(properties: Map[String, String]): Seq[(String, String)] = {
    val known = properties.map { case (name, value) => canonical(name) -> value }
    properties.toSeq.sorted.flatMap { case (name, value) =>
      problem(canonical(name), value, known).map(name -> _)
    }
  }

  /** Whether [[problems]] knows the name. */
  def isJudged(name: String): Boolean = isKnown(name) || OfOtherClients.contains(name)

  private def problem(name: String, value: String, all: Map[String, String]): Option[String] = name match {
    case _ if OfOtherClients.contains(name) =>
      Some(
        s"it is a property of clients based on librdkafka. Kafka's Java clients have ${OfOtherClients(name)}"
      )
    case _ if value.contains("${") => None
    // What does not look like a log-in is left to the cluster.
    case SaslConfigs.SASL_JAAS_CONFIG if ControlFlag.findFirstIn(value).isDefined =>
      val login = Map[String, Any](name -> new Password(value))
      Try(JaasContext.loadClientContext(login.asJava)).failed.toOption.map(_ => Redaction.JaasRule)
    case PasswordOfStore(store) if all.get(s"ssl.$store.type").exists(_.trim.equalsIgnoreCase("PEM")) =>
      Some(
        s"with 'ssl.$store.type' PEM, a store has no password; the password of a key is 'ssl.key.password'"
      )
    case _ =>
      keys.getOrElse(name, Nil).filterNot(_.`type` == Type.CLASS).flatMap(refusal(_, value)).headOption
  }

  private def refusal(key: ConfigDef.ConfigKey, value: String): Option[String] =
    try {
      val parsed = ConfigDef.parseType(key.name, value, key.`type`)
      Option(key.validator).foreach(_.ensureValid(key.name, parsed))
      None
    } catch {
      case e: ConfigException =>
        val why = Rule.findFirstMatchIn(e.getMessage.drop(value.length)).fold("")(m => s": ${m.group(1)}")
        val shown = if (Redaction.isSafe(key.name, value)) s"'${value.trim}'" else "its value"
        Some(s"Kafka's clients do not take $shown$why")
    }

  /** Kafka's message has the value before. */
  private val Rule = """ for configuration [\w.]+: (.+)$""".r
  private val ControlFlag = """(?i)\b(required|requisite|sufficient|optional)\b""".r
  private val PasswordOfStore = """ssl\.(keystore|truststore)\.password""".r

  /** What is written instead, for names that other clients have in documents that people copy. */
  private val OfOtherClients: Map[String, String] = Map(
    "metadata.broker.list" -> "'bootstrap.servers'",
    "sasl.mechanisms" -> "'sasl.mechanism'",
    "sasl.username" -> "'sasl.jaas.config', which contains the user",
    "sasl.password" -> "'sasl.jaas.config', which contains the password",
    "ssl.ca.location" -> "'ssl.truststore.location', with 'ssl.truststore.type' PEM",
    "ssl.ca.pem" -> "'ssl.truststore.certificates', with 'ssl.truststore.type' PEM",
    "ssl.certificate.location" -> "'ssl.keystore.location', with 'ssl.keystore.type' PEM and the key in the same file",
    "ssl.certificate.pem" -> "'ssl.keystore.certificate.chain', with 'ssl.keystore.type' PEM",
    "ssl.key.location" -> "'ssl.keystore.location', with 'ssl.keystore.type' PEM and the certificate in the same file",
    "ssl.key.pem" -> "'ssl.keystore.key', with 'ssl.keystore.type' PEM",
    "enable.ssl.certificate.verification" -> "'ssl.endpoint.identification.algorithm'"
  )
}
