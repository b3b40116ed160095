package io.github.dynamickafka.metadata.service

import org.apache.spark.SPARK_VERSION

import io.github.dynamickafka.error.Errors

/** Whether Spark's Kubernetes client is there: the connector does not bring it along. */
private[metadata] object KubernetesClasses {
  private val Builder = "io.fabric8.kubernetes.client.KubernetesClientBuilder"

  /** @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION, with what to add */
  def require(service: String): Unit =
    try {
      val _ = Class.forName(Builder, false, getClass.getClassLoader)
    } catch {
      case e @ (_: ClassNotFoundException | _: LinkageError) =>
        throw Errors.invalidOption(
          "metadataService",
          service,
          s"it needs the Kubernetes client, which is not on the class path. Add '$artifact', for example to " +
            "spark.jars.packages",
          e
        )
    }

  private def artifact: String = {
    val scala = util.Properties.versionNumberString.split('.').take(2).mkString(".")
    s"org.apache.spark:spark-kubernetes_$scala:$SPARK_VERSION"
  }
}
