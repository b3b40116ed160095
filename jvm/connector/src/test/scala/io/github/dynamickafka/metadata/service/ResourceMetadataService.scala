package io.github.dynamickafka.metadata.service

import java.io.FileNotFoundException
import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Using

import io.github.dynamickafka.config.{MetadataServiceSpec, MetadataServiceSpecs}
import io.github.dynamickafka.metadata.KafkaStream
import io.github.dynamickafka.metadata.document.MetadataDocument
import io.github.dynamickafka.option.{Default, NamedClass, OptionSpec, OptionType}

/** A document in a jar of the application. */
private[dynamickafka] final class ResourceMetadataService(arguments: ServiceArguments)
    extends DocumentMetadataService(arguments(MetadataServiceSpecs.TtlMs)) {
  private val name = arguments(ResourceMetadataService.Name)

  override protected def read(): Map[String, KafkaStream] = {
    val found = NamedClass.loaders.flatMap(loader => Option(loader.getResourceAsStream(name))).headOption
    val in = found.getOrElse(throw new FileNotFoundException(s"no jar has the file $name"))
    MetadataDocument.parse(new String(Using.resource(in)(_.readAllBytes()), UTF_8), s"resource $name")
  }
}

/** What `MetadataServiceSpecs` has of a service, and `MetadataServices`. */
private[dynamickafka] object ResourceMetadataService {
  val Name: OptionSpec[String] =
    OptionSpec("name", OptionType.text, Default.Required, "Name of the file in the jar.")
  val Resource: MetadataServiceSpec = MetadataServiceSpec("resource", Seq(Name, MetadataServiceSpecs.TtlMs))

  val constructor: (MetadataServiceSpec, MetadataServices.Constructor) =
    Resource -> ((arguments, _) => new ResourceMetadataService(arguments))
}
