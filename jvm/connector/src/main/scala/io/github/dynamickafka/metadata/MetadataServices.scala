package io.github.dynamickafka.metadata

import java.util.Locale

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration

import io.github.dynamickafka.config.ServiceOptions
import io.github.dynamickafka.error.Errors

/** Creates the metadata service of a query. */
private[dynamickafka] object MetadataServices {

  private val Offers: Seq[String] = Seq("file", "static", "single-cluster", "http", "configmap", "jdbc")

  private val Offered =
    Offers.map(n => s"'$n'").mkString(", ") + ", or the name of a class that implements " +
      classOf[KafkaMetadataService].getName

  /**
   * Creates the service for one query, which closes it when it ends. Closing it does not affect other queries.
   *
   * @param hadoopConf for the file systems of the service `file`
   */
  def create(options: ServiceOptions, hadoopConf: Configuration): KafkaMetadataService =
    options.name.trim.toLowerCase(Locale.ROOT) match {
      case "file" =>
        val arguments = new ServiceArguments(options, Seq("path", "ttlMs"), Nil)
        new FileMetadataService(arguments.required("path"), arguments.long("ttlMs", default = 0L), hadoopConf)
      case "static" =>
        new StaticMetadataService(new ServiceArguments(options, Seq("document"), Nil).required("document"))
      case "single-cluster" | "singlecluster" => singleCluster(options)
      case "http" => RemoteServices.http(options)
      case "configmap" => RemoteServices.configMap(options)
      case "jdbc" => RemoteServices.jdbc(options)
      case ServiceRegistry.Name => registered(options)
      case _ => ServiceClass.create(options.copy(name = options.name.trim)).getOrElse(throw unknown(options))
    }

  private def singleCluster(options: ServiceOptions): KafkaMetadataService = {
    val arguments = new ServiceArguments(options, Seq("clusterId", "bootstrapServers"), Seq("properties."))
    val id = arguments.required("clusterId")
    if (!Names.isClusterId(id))
      throw Errors.invalidOption(ServiceArguments.option("clusterId"), id, Names.ClusterIdRule)
    val bootstrap = arguments.required("bootstrapServers")
    new SingleClusterMetadataService(id, bootstrap, arguments.under("properties.").asJava)
  }

  private def registered(options: ServiceOptions): KafkaMetadataService = {
    val handle =
      new ServiceArguments(options, Seq(ServiceRegistry.Handle), Nil).required(ServiceRegistry.Handle)
    val service = ServiceRegistry.lookup(handle).getOrElse(
      throw Errors.invalidOption(
        ServiceArguments.option("handle"),
        handle,
        "no service is registered with this handle in the driver; set the service on the builder again"
      )
    )
    new SharedMetadataService(service)
  }

  private def unknown(options: ServiceOptions) = {
    val meant = Names.didYouMean(options.name, Offers)
    invalid(
      options,
      s"it is neither a known service nor a class on the class path. Valid values: $Offered.$meant"
    )
  }

  private def invalid(options: ServiceOptions, reason: String) =
    Errors.invalidOption("metadataService", options.name, reason)
}
