package io.github.dynamickafka.config.option

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Defaults of the session are for reading and for writing queries alike, and some options are for one of them only. */
private[dynamickafka] object SessionDefaults {
  private val Prefix = "spark.datasource.dynamic-kafka."

  /** The options without those that come from the session and are for the other side only. */
  def without(
      options: CaseInsensitiveStringMap,
      own: OptionTable,
      other: OptionTable
  ): CaseInsensitiveStringMap = {
    val session = SparkSession.active.conf
    new CaseInsensitiveStringMap(options.asCaseSensitiveMap.asScala.filterNot { case (name, value) =>
      own.find(name).isEmpty && other.find(name).isDefined && session.getOption(Prefix + name).contains(value)
    }.asJava)
  }
}
