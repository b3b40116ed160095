package io.github.dynamickafka.serde

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import io.github.dynamickafka.base.Redaction
import io.github.dynamickafka.error.{Errors, FailureText}
import io.github.dynamickafka.kafka.SecretReferences
import io.github.dynamickafka.option.NamedClass

/**
 * The instance of a task, which is created when the first record needs it.
 *
 * @param properties as they are written, with references to secrets
 * @param configure Kafka's method of this name
 */
private[serde] final class ConfiguredClass[A <: AutoCloseable](
    named: SerdeClass,
    expected: Class[A],
    properties: Map[String, String],
    configure: (A, java.util.Map[String, _], Boolean) => Unit
) extends AutoCloseable {
  private var opened: Option[A] = None

  def get(): A = opened.getOrElse {
    val created = NamedClass.create(named.className, expected).fold(refuse(_, null), identity)
    opened = Some(created)
    val resolved =
      try SecretReferences.resolve(properties)
      catch { case NonFatal(e) => refuse(FailureText.of(e), e) }
    try configure(created, resolved.asJava, named.isKey)
    catch {
      case NonFatal(e) =>
        refuse(
          s"configure() threw ${Redaction.scrub(FailureText.of(e), resolved)}",
          Redaction.scrub(e, resolved)
        )
    }
    created
  }

  private def refuse(reason: String, cause: Throwable): Nothing =
    throw Errors.invalidOption(named.option, named.className, reason, cause)

  override def close(): Unit = {
    opened.foreach(_.close())
    opened = None
  }
}
