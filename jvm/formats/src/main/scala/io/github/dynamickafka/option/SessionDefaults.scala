package io.github.dynamickafka.option

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Handles session defaults, which apply to both reads and writes, although some options are only for one of them. */
private[dynamickafka] object SessionDefaults {
  private val Prefix = "spark.datasource.dynamic-kafka."

  /** Removes session defaults that are only options of the other side. */
  def without(
      options: CaseInsensitiveStringMap,
      own: OptionTable,
      other: OptionTable
  ): CaseInsensitiveStringMap = {
    // None in commands, which run without Spark.
    val session = SparkSession.getActiveSession.orElse(SparkSession.getDefaultSession)
    def isDefault(name: String, value: String) =
      session.exists(_.conf.getOption(Prefix + name).contains(value))
    new CaseInsensitiveStringMap(options.asCaseSensitiveMap.asScala.filterNot { case (name, value) =>
      !own.has(name) && other.has(name) && isDefault(name, value)
    }.asJava)
  }
}
