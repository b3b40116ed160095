package io.github.dynamickafka.metadata.registry

import org.apache.hadoop.conf.Configuration

import io.github.dynamickafka.config.{MetadataServiceSpec, MetadataServiceSpecs, ServiceOptions}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.KafkaMetadataService
import io.github.dynamickafka.metadata.document.Names
import io.github.dynamickafka.metadata.http.{HttpMetadataService, OAuthLogin}
import io.github.dynamickafka.metadata.kubernetes.{
  KubernetesClasses,
  KubernetesConfigMapMetadataService,
  StrimziMetadataService
}
import io.github.dynamickafka.metadata.service.{
  FileMetadataService,
  JdbcMetadataService,
  ServiceArguments,
  SingleClusterMetadataService,
  StaticMetadataService
}
import io.github.dynamickafka.metadata.topic.KafkaTopicMetadataService

/** Creates the metadata service that the options name. */
private[dynamickafka] object MetadataServices {
  import MetadataServiceSpecs._

  /** How each service of [[MetadataServiceSpecs]] is created. */
  private val constructors
      : Map[MetadataServiceSpec, (ServiceArguments, Configuration) => KafkaMetadataService] =
    Map(
      File -> ((arguments, hadoop) => new FileMetadataService(arguments(Path), arguments(TtlMs), hadoop)),
      Static -> ((arguments, _) => new StaticMetadataService(arguments(Document))),
      SingleCluster -> ((arguments, _) => singleCluster(arguments)),
      Http -> ((arguments, _) => http(arguments)),
      ConfigMap -> ((arguments, _) => configMap(arguments)),
      Strimzi -> ((arguments, _) => strimzi(arguments)),
      Jdbc -> ((arguments, _) =>
        new JdbcMetadataService(
          arguments(JdbcUrl),
          arguments(Query),
          arguments.underPrefix,
          arguments(TimeoutMs),
          arguments(TtlMs)
        )
      ),
      KafkaTopic -> ((arguments, _) =>
        new KafkaTopicMetadataService(
          arguments(TopicServers),
          arguments(Topic),
          arguments.underPrefix,
          arguments(TimeoutMs)
        )
      ),
      ServiceRegistry.Spec -> ((arguments, _) => registered(arguments(ServiceRegistry.Handle)))
    )

  /**
   * The service, for one query: it may be closed when the query ends, even if others use the same instance.
   *
   * @param hadoopConf to reach the file systems of `file`
   */
  def create(options: ServiceOptions, hadoopConf: Configuration): KafkaMetadataService =
    constructors.collectFirst {
      case (spec, construct) if spec.named(options.name) =>
        construct(new ServiceArguments(options, spec), hadoopConf)
    }.orElse(ServiceClass.create(options.copy(name = options.name.trim))).getOrElse(throw unknown(options))

  private def singleCluster(arguments: ServiceArguments): KafkaMetadataService = {
    val id = arguments(ClusterId)
    if (!Names.isClusterId(id))
      throw Errors.invalidOption(ServiceArguments.option(ClusterId.name), id, Names.ClusterIdRule)
    new SingleClusterMetadataService(id, arguments(BootstrapServers), arguments.underPrefix)
  }

  private def http(arguments: ServiceArguments): KafkaMetadataService =
    new HttpMetadataService(
      arguments(HttpUrl),
      arguments.underPrefix,
      arguments(TimeoutMs),
      arguments(TtlMs),
      login(arguments)
    )

  private def login(arguments: ServiceArguments): Option[OAuthLogin] = {
    val all = Seq(TokenUrl, ClientId, ClientSecret)
    val (named, missing) = all.partition(arguments(_).nonEmpty)
    if (named.isEmpty && arguments(Scope).isEmpty) None
    else {
      missing.headOption.foreach(spec =>
        throw Errors.missingOption(
          ServiceArguments.option(spec.name),
          s"a log-in needs ${all.map(one => s"'${ServiceArguments.option(one.name)}'").mkString(", ")}"
        )
      )
      Some(new OAuthLogin(
        arguments(TokenUrl),
        arguments(ClientId),
        arguments(ClientSecret),
        arguments(Scope),
        arguments(TimeoutMs)
      ))
    }
  }

  private def configMap(arguments: ServiceArguments): KafkaMetadataService = {
    KubernetesClasses.require(ConfigMap.name)
    new KubernetesConfigMapMetadataService(
      arguments(Namespace),
      arguments(ConfigMapName),
      arguments(ConfigMapKey),
      arguments(TimeoutMs),
      arguments(TtlMs)
    )
  }

  private def strimzi(arguments: ServiceArguments): KafkaMetadataService = {
    KubernetesClasses.require(Strimzi.name)
    new StrimziMetadataService(
      arguments(StrimziNamespace),
      arguments(StrimziListener),
      arguments(StrimziLabel),
      arguments.underPrefix,
      arguments(TimeoutMs),
      arguments(TtlMs)
    )
  }

  private def registered(handle: String): KafkaMetadataService =
    new SharedMetadataService(ServiceRegistry.lookup(handle).getOrElse(
      throw Errors.invalidOption(
        ServiceArguments.option(ServiceRegistry.Handle.name),
        handle,
        "no service is registered under it in this driver; give the service to the builder again"
      )
    ))

  private def unknown(options: ServiceOptions) =
    Errors.invalidOption(
      "metadataService",
      options.name,
      s"it is neither a known service nor a class on the class path. Known services are ${names("'")}; a " +
        s"class must implement ${classOf[KafkaMetadataService].getName}." +
        Names.didYouMean(options.name, MetadataServiceSpecs.all.map(_.name))
    )
}
