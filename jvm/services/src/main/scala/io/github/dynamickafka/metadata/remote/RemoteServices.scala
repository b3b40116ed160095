package io.github.dynamickafka.metadata.remote

import org.apache.spark.SPARK_VERSION

import io.github.dynamickafka.config.MetadataServiceSpec
import io.github.dynamickafka.config.MetadataServiceSpecs._
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.service.{MetadataServices, ServiceConstructors}
import io.github.dynamickafka.option.NamedClass

/** The services that need a library which the connector does without. */
private[dynamickafka] final class RemoteServices extends ServiceConstructors {

  override val all: Map[MetadataServiceSpec, MetadataServices.Constructor] = Map(
    ConfigMap -> ((arguments, _) => {
      requireKubernetes(ConfigMap.name)
      new KubernetesConfigMapMetadataService(arguments)
    }),
    Strimzi -> ((arguments, _) => {
      requireKubernetes(Strimzi.name)
      new StrimziMetadataService(arguments)
    }),
    Jdbc -> ((arguments, _) => new JdbcMetadataService(arguments))
  )

  /** Spark's Kubernetes client. Refers to none of its classes, which may be missing. */
  private def requireKubernetes(service: String): Unit =
    NamedClass.missing("io.fabric8.kubernetes.client.KubernetesClientBuilder").foreach { cause =>
      val scala = util.Properties.versionNumberString.split('.').take(2).mkString(".")
      throw Errors.invalidOption(
        "metadataService",
        service,
        "it requires the Kubernetes client, which is not on the class path. Add " +
          s"'org.apache.spark:spark-kubernetes_$scala:$SPARK_VERSION', for example to spark.jars.packages",
        cause
      )
    }
}
