package io.github.dynamickafka.catalog

import org.apache.spark.sql.connector.catalog.Identifier
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure

import io.github.dynamickafka.option.NamedClass

/** What a catalog offers for `CALL`. The module `admin` registers the implementation as a service of the JVM. Thread-safe. */
private[dynamickafka] trait CatalogProcedures {

  /** The procedures of a namespace; of the catalog if there is none. */
  def list(namespace: Array[String]): Array[Identifier]

  /**
   * @param user whom files that are written name
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException UNKNOWN_PROCEDURE
   */
  def load(ident: Identifier, streams: StreamCatalog, user: () => String): UnboundProcedure
}

private[dynamickafka] object CatalogProcedures {
  lazy val ofJar: CatalogProcedures = NamedClass.ofJar(classOf[CatalogProcedures])
}
