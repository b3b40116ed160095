package io.github.dynamickafka.metadata.kubernetes

import org.apache.spark.SPARK_VERSION

import io.github.dynamickafka.error.Errors

/** Checks that Spark's Kubernetes client, which is not a dependency of the connector, is on the class path. */
private[metadata] object KubernetesClasses {
  private val Builder = "io.fabric8.kubernetes.client.KubernetesClientBuilder"

  /**
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION, which names the artifact
   */
  def require(service: String): Unit =
    try {
      val _ = Class.forName(Builder, false, getClass.getClassLoader)
    } catch {
      case e @ (_: ClassNotFoundException | _: LinkageError) =>
        throw Errors.invalidOption(
          "metadataService",
          service,
          s"it requires the Kubernetes client, which is not on the class path. Add '$artifact', for example to " +
            "spark.jars.packages",
          e
        )
    }

  private def artifact: String = {
    val scala = util.Properties.versionNumberString.split('.').take(2).mkString(".")
    s"org.apache.spark:spark-kubernetes_$scala:$SPARK_VERSION"
  }
}
