package org.apache.spark.kafka010

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkEnv

/**
 * Delegation tokens for Kafka clusters (`spark.kafka.clusters.*`), which Spark obtains, renews and passes to executors. In a package
 * of Spark because only Spark's own classes match them with clusters.
 */
object DynamicKafkaTokens {

  /** The properties of a client, with the token for its cluster in `sasl.jaas.config`, if this process has one. */
  def in(properties: Map[String, String]): Map[String, String] =
    // Only a test has no environment.
    if (SparkEnv.get == null) properties
    else
      KafkaConfigUpdater("dynamic-kafka", properties).setAuthenticationConfigIfNeeded().build().asScala
        .map { case (name, value) => name -> value.toString }.toMap
}
