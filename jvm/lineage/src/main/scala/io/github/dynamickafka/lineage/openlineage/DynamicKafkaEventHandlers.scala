package io.github.dynamickafka.lineage.openlineage

import java.{util => ju}

import io.openlineage.client.OpenLineage.{InputDataset, OutputDataset}
import io.openlineage.spark.api.{OpenLineageContext, OpenLineageEventHandlerFactory}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** OpenLineage's listener finds this class by `META-INF/services` and has it visit the plans of all queries. */
final class DynamicKafkaEventHandlers extends OpenLineageEventHandlerFactory {

  override def createInputDatasetQueryPlanVisitors(
      context: OpenLineageContext
  ): ju.Collection[PartialFunction[LogicalPlan, ju.List[InputDataset]]] =
    ju.List.of[PartialFunction[LogicalPlan, ju.List[InputDataset]]](new InputVisitor(context))

  override def createOutputDatasetQueryPlanVisitors(
      context: OpenLineageContext
  ): ju.Collection[PartialFunction[LogicalPlan, ju.List[OutputDataset]]] =
    ju.List.of[PartialFunction[LogicalPlan, ju.List[OutputDataset]]](new OutputVisitor(context))
}
