package io.github.dynamickafka.error

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
    s"[$condition] ${reader.getErrorMessage(condition, parameters)}$state"
  }
}
