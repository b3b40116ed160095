package io.github.dynamickafka.metadata.registry

import org.apache.hadoop.conf.Configuration

import io.github.dynamickafka.config.ServiceOptions
import io.github.dynamickafka.metadata.KafkaMetadataService

/** Services as options name them, also for a test that loads this with other classes around it. */
object ServiceByName {

  /** @param arguments each `name=value` */
  def create(service: String, arguments: String*): KafkaMetadataService = {
    val named = arguments.map(_.split("=", 2)).map(pair => pair(0) -> pair(1)).toMap
    MetadataServices.create(ServiceOptions(service, named), new Configuration)
  }

  /** Why there is no such service. */
  def refusal(service: String): String =
    try s"there is one: ${create(service)}"
    catch { case e: Exception => e.getMessage }
}
