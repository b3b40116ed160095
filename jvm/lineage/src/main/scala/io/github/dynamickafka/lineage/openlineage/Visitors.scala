package io.github.dynamickafka.lineage.openlineage

import java.{util => ju}

import io.openlineage.client.OpenLineage.{InputDataset, OutputDataset}
import io.openlineage.spark.api.{OpenLineageContext, QueryPlanVisitor}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

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
