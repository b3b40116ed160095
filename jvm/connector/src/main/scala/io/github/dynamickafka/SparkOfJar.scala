package io.github.dynamickafka

import io.github.dynamickafka.build.BuildInfo
import io.github.dynamickafka.error.Errors

/**
 * Refuses a session with another Spark or Scala than the jar was built for, which would fail in the middle of a query because a class
 * or method is missing.
 *
 * Uses no collection or text function of Scala, which another Scala may lack.
 */
private[dynamickafka] object SparkOfJar {
  private val ScalaLine = "2.13"

  /**
   * @param spark the version of the session's Spark, such as `4.2.0`
   * @param scala the version of its Scala library
   * @throws DynamicKafkaIllegalArgumentException WRONG_JAR
   */
  def check(spark: String, scala: String): Unit =
    if (!scala.startsWith(ScalaLine + ".") || !isBuiltFor(spark)) throw wrongJar(spark, scala)

  /** The jar of 4.2 works with 4.3 too. The list is also in Python, `_artifact.py`. */
  private def isBuiltFor(spark: String): Boolean = {
    val line = BuildInfo.sparkLine
    spark.startsWith(line + ".") || (line == "4.2" && spark.startsWith("4.3."))
  }

  private def wrongJar(spark: String, scala: String): RuntimeException = {
    val jar = "Spark " + BuildInfo.sparkLine + " with Scala " + ScalaLine
    val session = "Spark " + spark + " with Scala " + scala
    try Errors.wrongJar(jar, session)
    catch {
      case _: LinkageError =>
        new IllegalStateException(
          "[DYNAMIC_KAFKA.WRONG_JAR] The jar of the connector is for " + jar + ", but the session has " + session
        )
    }
  }
}
