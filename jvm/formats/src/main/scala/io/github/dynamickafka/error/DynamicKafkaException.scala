package io.github.dynamickafka.error

import java.io.FileNotFoundException
import java.{util => ju}

import scala.jdk.CollectionConverters._

import org.apache.spark.{DynamicKafkaFailure, ErrorClassesJsonReader, SparkThrowable}

/**
 * An error of this connector: a condition `DYNAMIC_KAFKA.<SUBCLASS>` with parameters, which PySpark returns from
 * `getCondition()` and `getMessageParameters()`. The messages are in `error/dynamic-kafka-error-conditions.json`.
 */
sealed trait DynamicKafkaError extends SparkThrowable { self: Throwable =>
  private[dynamickafka] def condition: String
  private[dynamickafka] def parameters: Map[String, String]

  override def getCondition: String = condition
  override def getMessageParameters: ju.Map[String, String] = parameters.asJava
  override def getSqlState: String = ErrorConditions.sqlState(condition)
}

/** An invalid option, column or metadata document. In PySpark: `IllegalArgumentException`. */
final class DynamicKafkaIllegalArgumentException private[dynamickafka] (
    private[dynamickafka] val condition: String,
    private[dynamickafka] val parameters: Map[String, String],
    cause: Throwable = null
) extends IllegalArgumentException(ErrorConditions.text(condition, parameters), cause)
    with DynamicKafkaError

/** A failure of a query, such as an unreachable cluster or lost records. In PySpark: `SparkRuntimeException`. */
final class DynamicKafkaRuntimeException private[dynamickafka] (
    private[dynamickafka] val condition: String,
    private[dynamickafka] val parameters: Map[String, String],
    cause: Throwable = null
) extends DynamicKafkaFailure(ErrorConditions.text(condition, parameters), cause)
    with DynamicKafkaError

private[dynamickafka] object ErrorConditions {
  private val reader = new ErrorClassesJsonReader(
    Seq(getClass.getClassLoader.getResource("error/dynamic-kafka-error-conditions.json"))
  )

  def sqlState(condition: String): String = reader.getSqlState(condition)

  def text(condition: String, parameters: Map[String, String]): String = {
    val state = Option(sqlState(condition)).fold("")(s => s" SQLSTATE: $s")
    // Spark puts the text of the conditions together, which is empty, and a space before that of the condition.
    s"[$condition] ${reader.getErrorMessage(condition, parameters).stripLeading}$state"
  }
}

/** The message of an exception, for a log line or for the reason in another exception. */
private[dynamickafka] object FailureText {

  private val MaxLength = 2000

  def of(e: Throwable): String = {
    val text = e match {
      case invalid: DynamicKafkaIllegalArgumentException if invalid.condition.endsWith(".METADATA_INVALID") =>
        s"the metadata is invalid, ${invalid.parameters("where")}: ${invalid.parameters("reason")}"
      case python: PythonServiceException => python.getMessage
      // The message often states what failed, and the message of the cause states why. Deeper causes are omitted.
      case other => causes(other).take(2).map(named).distinct.mkString(", caused by ")
    }
    if (text.length > MaxLength) text.take(MaxLength) + "..." else text
  }

  /** An exception with its causes, as far as there are no more than 50, so that a circle ends. */
  def causes(e: Throwable): Seq[Throwable] =
    Iterator.iterate(e)(_.getCause).takeWhile(_ != null).take(50).toSeq

  /** A missing file is named by its message. */
  private def named(e: Throwable): String = e match {
    case missing: FileNotFoundException if missing.getMessage != null => missing.getMessage
    case _ => e.getClass.getSimpleName + Option(e.getMessage).fold("")(m => s": $m")
  }
}

/** A metadata service or a function written in Python raised; the message is the exception as Python prints it. */
private[dynamickafka] final class PythonServiceException(message: String, cause: Throwable)
    extends RuntimeException(message, cause)
