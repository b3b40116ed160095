package io.github.dynamickafka.lineage.openlineage

import io.github.dynamickafka.metadata.{HasDatasets, HasDatasetsOfBatch, TopicDataset}
import org.apache.spark.sql.catalyst.plans.logical.{AppendData, LogicalPlan, OverwriteByExpression}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2ScanRelation, StreamingDataSourceV2ScanRelation, WriteToDataSourceV2}
import org.apache.spark.sql.execution.streaming.sources.MicroBatchWrite
import org.apache.spark.sql.types.StructType
import scala.annotation.nowarn

/**
 * What a node of an optimized plan reads or writes.
 *
 * @param schema the columns
 */
private[openlineage] final case class NodeDatasets(schema: StructType, datasets: () => Seq[TopicDataset])

private[openlineage] object PlanNodes {

  def reading(node: LogicalPlan): Option[NodeDatasets] = node match {
    // The plan of each micro-batch has its offsets.
    case relation: StreamingDataSourceV2ScanRelation => relation.stream match {
        case stream: HasDatasetsOfBatch =>
          Some(NodeDatasets(relation.schema, () => relation.endOffset.toSeq.flatMap(stream.datasets)))
        case _ => None
      }
    case relation: DataSourceV2ScanRelation => of(relation.schema, relation.scan)
    case _ => None
  }

  // Deprecated since Spark 2.4, and still the node of each micro-batch that is written.
  @nowarn("cat=deprecation")
  def writing(node: LogicalPlan): Option[NodeDatasets] = node match {
    case streaming: WriteToDataSourceV2 => streaming.batchWrite match {
        case batch: MicroBatchWrite => of(streaming.query.schema, batch.writeSupport)
        case _ => None
      }
    case append: AppendData => append.write.flatMap(of(append.query.schema, _))
    case overwrite: OverwriteByExpression => overwrite.write.flatMap(of(overwrite.query.schema, _))
    case _ => None
  }

  private def of(schema: StructType, that: Any): Option[NodeDatasets] = that match {
    case known: HasDatasets => Some(NodeDatasets(schema, () => known.datasets))
    case _ => None
  }
}
