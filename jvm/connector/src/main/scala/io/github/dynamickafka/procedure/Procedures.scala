package io.github.dynamickafka.procedure

import java.util.Locale

import org.apache.spark.sql.connector.catalog.Identifier
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure

import io.github.dynamickafka.catalog.StreamCatalog
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.option.Suggestions

/** The procedures of a catalog, all in the namespace `system`. Thread-safe. */
private[dynamickafka] final class Procedures(catalog: StreamCatalog) {
  import Procedures._

  private val all: Seq[CatalogProcedure] = Seq(
    new StreamProcedures(catalog).all,
    new CheckpointProcedures(catalog).all,
    new TransactionProcedures(catalog).all,
    new MetadataProcedures(catalog).all,
    new PlanProcedure(catalog).all,
    new ResetProcedure(catalog).all,
    new DoctorProcedure(catalog).all
  ).flatten.sortBy(_.name)

  /** Those of a namespace; those of the catalog without one. */
  def list(namespace: Array[String]): Array[Identifier] =
    if (namespace.isEmpty || isSystem(namespace))
      all.map(p => Identifier.of(Array(Namespace), p.name)).toArray
    else Array.empty

  /** @throws DynamicKafkaIllegalArgumentException `UNKNOWN_PROCEDURE` */
  def load(ident: Identifier): UnboundProcedure =
    all.find(p => isSystem(ident.namespace) && p.name == ident.name.toLowerCase(Locale.ROOT))
      .map(new SparkProcedure(_))
      .getOrElse(throw Errors.unknownProcedure(
        catalog.name,
        (ident.namespace :+ ident.name).mkString("."),
        Suggestions.closest(ident.name, all.map(_.name)).map(name => s"$Namespace.$name"),
        all.map(_.name)
      ))
}

private[dynamickafka] object Procedures {
  private val Namespace = "system"

  private def isSystem(namespace: Array[String]) =
    namespace.map(_.toLowerCase(Locale.ROOT)).sameElements(Array(Namespace))
}
