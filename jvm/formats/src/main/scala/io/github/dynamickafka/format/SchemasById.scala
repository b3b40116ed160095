package io.github.dynamickafka.format

import java.{util => ju}

import io.github.dynamickafka.schemaregistry.{RegisteredSchema, RegistrySettings, SchemaCache}

private[format] object SchemasById {

  /** The schema of an id in the registry of a cluster, for one task; None: the registry does not know the id. */
  def of(side: SideLayout): (String, Int) => Option[RegisteredSchema] = {
    val settings = new ju.HashMap[String, RegistrySettings]
    (cluster, id) =>
      SchemaCache.shared.schema(settings.computeIfAbsent(cluster, side.format.registries.of(_)), id)
  }
}
