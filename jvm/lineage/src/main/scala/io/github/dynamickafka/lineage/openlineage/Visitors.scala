package io.github.dynamickafka.lineage.openlineage

import java.{util => ju}

import io.github.dynamickafka.metadata.TopicDataset
import io.openlineage.client.OpenLineage.{DatasetFacets, InputDataset, OutputDataset}
import io.openlineage.client.dataset.namespace.resolver.DatasetNamespaceCombinedResolver
import io.openlineage.spark.agent.util.PlanUtils
import io.openlineage.spark.api.{OpenLineageContext, QueryPlanVisitor}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.types.StructType

/** Visits all nodes of a plan. */
private[openlineage] final class InputVisitor(of: OpenLineageContext)
    extends QueryPlanVisitor[LogicalPlan, InputDataset](of) {

  override def isDefinedAt(node: LogicalPlan): Boolean = Guard.test(PlanNodes.reading(node).isDefined)

  override def apply(node: LogicalPlan): ju.List[InputDataset] = Guard {
    PlanNodes.reading(node).fold(Seq.empty[InputDataset]) { read =>
      val facets = new Facets(context, read.schema)
      read.datasets().map(dataset =>
        context.getOpenLineage.newInputDatasetBuilder().namespace(facets.namespace(dataset)).name(
          dataset.topic
        )
          .facets(facets(dataset)).build()
      )
    }
  }
}

/** Visits the root of a plan. */
private[openlineage] final class OutputVisitor(of: OpenLineageContext)
    extends QueryPlanVisitor[LogicalPlan, OutputDataset](of) {

  override def isDefinedAt(node: LogicalPlan): Boolean = Guard.test(PlanNodes.writing(node).isDefined)

  override def apply(node: LogicalPlan): ju.List[OutputDataset] = Guard {
    PlanNodes.writing(node).fold(Seq.empty[OutputDataset]) { write =>
      val facets = new Facets(context, write.schema)
      write.datasets().map(dataset =>
        context.getOpenLineage.newOutputDatasetBuilder().namespace(facets.namespace(dataset)).name(
          dataset.topic
        )
          .facets(facets(dataset)).build()
      )
    }
  }
}

/**
 * The facets of a topic: those that OpenLineage has for topics of Spark's own Kafka source, and which stream and cluster of the
 * metadata it belongs to.
 */
private[openlineage] final class Facets(context: OpenLineageContext, schema: StructType) {
  private val model = context.getOpenLineage
  private val namespaces = new DatasetNamespaceCombinedResolver(context.getOpenLineageConfig)
  private lazy val columns = PlanUtils.schemaFacet(model, schema)

  /** The name that the listener's settings give to the address, or the address. */
  def namespace(dataset: TopicDataset): String = namespaces.resolve(dataset.namespace)

  def apply(dataset: TopicDataset): DatasetFacets = {
    val own = model.newDatasetFacet()
    val _ = own.getAdditionalProperties.put("cluster", dataset.cluster)
    dataset.stream.foreach(own.getAdditionalProperties.put("stream", _))
    model.newDatasetFacetsBuilder()
      .dataSource(PlanUtils.datasourceFacet(model, namespace(dataset)))
      .schema(columns)
      .put(Facets.Own, own)
      .build()
  }
}

private[openlineage] object Facets {
  val Own = "dynamicKafka_topic"
}
