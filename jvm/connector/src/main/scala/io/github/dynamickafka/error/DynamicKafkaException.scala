package io.github.dynamickafka.error

import java.{util => ju}

import scala.jdk.CollectionConverters._

import org.apache.spark.{ErrorClassesJsonReader, SparkThrowable}

/**
 * What every error of this connector is: a named condition `DYNAMIC_KAFKA.<SUBCLASS>` with parameters, which
 * PySpark shows through `getCondition()` and `getMessageParameters()`. The texts are in
 * `error/dynamic-kafka-error-conditions.json`.
 */
sealed trait DynamicKafkaError extends SparkThrowable { self: Throwable =>
  private[dynamickafka] def condition: String
  private[dynamickafka] def parameters: Map[String, String]

  override def getCondition: String = condition
  override def getMessageParameters: ju.Map[String, String] = parameters.asJava
  override def getSqlState: String = ErrorConditions.sqlState(condition)
}

/** The user's input cannot be used: an option, a metadata document. PySpark: `IllegalArgumentException`. */
final class DynamicKafkaIllegalArgumentException private[dynamickafka] (
    private[dynamickafka] val condition: String,
    private[dynamickafka] val parameters: Map[String, String],
    cause: Throwable = null
) extends IllegalArgumentException(ErrorConditions.text(condition, parameters), cause)
    with DynamicKafkaError

/** Something went wrong while the query ran: an outage, lost records. */
final class DynamicKafkaRuntimeException private[dynamickafka] (
    private[dynamickafka] val condition: String,
    private[dynamickafka] val parameters: Map[String, String],
    cause: Throwable = null
) extends RuntimeException(ErrorConditions.text(condition, parameters), cause)
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
