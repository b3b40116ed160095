package io.github.dynamickafka.metadata.watch

import io.github.dynamickafka.config.MetadataOptions
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.table.FormatOptionSpecs
import io.github.dynamickafka.metadata.ClusterMetadata
import io.github.dynamickafka.schemaregistry.{Registries, RegistryOptionSpecs, Subject}

/** The subjects of the values of streams, in the order of the metadata. */
private[dynamickafka] object StreamSubjects {

  /**
   * Asks the metadata service.
   *
   * @param registries by what the metadata says about the registry of a cluster
   */
  def of(registries: Map[String, String] => Registries, options: MetadataOptions): Seq[Subject] = {
    val all = for {
      stream <- MetadataWatcher.described(options)
      (id, cluster) <- stream.entries if cluster.state != ClusterMetadata.Removed
      registry = registries(AnswerCheck.registry(stream, id, cluster)).of(id)
      // None: the topics of a pattern.
      topic <- if (cluster.named.isEmpty) Seq(None) else cluster.named.map(Some(_))
    } yield Subject(registry, registry.subject.getOrElse(s"${topic.getOrElse(throw patterns)}-value"))
    all.distinctBy(subject => (subject.registry.identity, subject.name))
  }

  private def patterns = Errors.missingOption(
    RegistryOptionSpecs.Subject.name,
    s"set it to the subject of the schema, because a topic pattern does not name one, or set '${FormatOptionSpecs.Schema.name}'."
  )
}
