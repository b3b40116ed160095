package io.github.dynamickafka.metadata.registry

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration

import io.github.dynamickafka.config.{
  KeyValueStore,
  MetadataServiceSpec,
  MetadataServiceSpecs,
  ServiceOptions
}
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
import io.github.dynamickafka.metadata.zookeeper.{ZooKeeperClasses, ZooKeeperMetadataService}
import io.github.dynamickafka.option.OptionSpec
import io.github.dynamickafka.redaction.Redaction

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
          arguments.underPrefix.asJava,
          arguments(TimeoutMs),
          arguments(TtlMs)
        )
      ),
      KafkaTopic -> ((arguments, _) =>
        new KafkaTopicMetadataService(
          arguments(TopicServers),
          arguments(Topic),
          arguments.underPrefix.asJava,
          arguments(TimeoutMs)
        )
      ),
      ZooKeeper -> ((arguments, _) => zooKeeper(arguments)),
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
    new SingleClusterMetadataService(id, arguments(BootstrapServers), arguments.underPrefix.asJava)
  }

  private def http(arguments: ServiceArguments): KafkaMetadataService = {
    val (store, key) = (arguments(Store), arguments(StoreKey))
    def option(spec: OptionSpec[_]) = ServiceArguments.option(spec.name)
    if (store.isDefined && key.isEmpty)
      throw Errors.missingOption(option(StoreKey), s"'${option(Store)}' needs it")
    if (store.isEmpty && key.nonEmpty)
      throw Errors.invalidOption(option(StoreKey), key, s"it needs '${option(Store)}', 'consul' or 'etcd'")
    val url = arguments(HttpUrl)
    if (store.contains(KeyValueStore.Consul) && url.contains("/v1/kv"))
      throw Errors.invalidOption(
        option(HttpUrl),
        Redaction.Redacted,
        s"with '${option(Store)}' it is the address of an agent, without '/v1/kv/'; '${option(StoreKey)}' has the key"
      )
    new HttpMetadataService(
      url,
      arguments.underPrefix.asJava,
      arguments(TimeoutMs),
      arguments(TtlMs),
      store.map(_ -> key),
      login(arguments)
    )
  }

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
      arguments.underPrefix.asJava,
      arguments(TimeoutMs),
      arguments(TtlMs)
    )
  }

  private def zooKeeper(arguments: ServiceArguments): KafkaMetadataService = {
    ZooKeeperClasses.require(ZooKeeper.name)
    new ZooKeeperMetadataService(
      arguments(ConnectString),
      arguments(NodePath),
      arguments(NodeAuth),
      arguments(TimeoutMs)
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
