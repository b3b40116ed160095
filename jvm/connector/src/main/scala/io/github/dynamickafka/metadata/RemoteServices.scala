package io.github.dynamickafka.metadata

import scala.jdk.CollectionConverters._

import io.github.dynamickafka.config.ServiceOptions
import io.github.dynamickafka.error.Errors

/** Creates the services that call another system. All of them have the arguments `timeoutMs` and `ttlMs`. */
private[metadata] object RemoteServices {

  /** The default time limit of one call. */
  val DefaultTimeoutMs = 10000L

  private val Limits = Seq("timeoutMs", "ttlMs")

  def http(options: ServiceOptions): KafkaMetadataService = {
    val arguments = new ServiceArguments(options, "url" +: Limits, Seq("headers."))
    val url = arguments.required("url")
    new HttpMetadataService(url, arguments.under("headers.").asJava, timeoutMs(arguments), ttlMs(arguments))
  }

  def configMap(options: ServiceOptions): KafkaMetadataService = {
    KubernetesClasses.require(options.name)
    val arguments = new ServiceArguments(options, Seq("namespace", "name", "key") ++ Limits, Nil)
    new KubernetesConfigMapMetadataService(
      arguments.required("namespace"),
      arguments.required("name"),
      arguments.required("key"),
      timeoutMs(arguments),
      ttlMs(arguments)
    )
  }

  def jdbc(options: ServiceOptions): KafkaMetadataService = {
    val arguments = new ServiceArguments(options, Seq("url", "query") ++ Limits, Seq("properties."))
    val url = arguments.required("url")
    val query = arguments.required("query")
    val properties = arguments.under("properties.")
    new JdbcMetadataService(url, query, properties.asJava, timeoutMs(arguments), ttlMs(arguments))
  }

  private def timeoutMs(arguments: ServiceArguments): Long = {
    val limit = arguments.long("timeoutMs", DefaultTimeoutMs)
    if (limit == 0)
      throw Errors.invalidOption(ServiceArguments.option("timeoutMs"), "0", "it must be 1 or more")
    // The clients use Int.
    math.min(limit, Int.MaxValue.toLong)
  }

  private def ttlMs(arguments: ServiceArguments): Long = arguments.long("ttlMs", default = 0L)
}
