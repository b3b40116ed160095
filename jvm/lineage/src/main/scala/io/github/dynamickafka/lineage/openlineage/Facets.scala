package io.github.dynamickafka.lineage.openlineage

import io.github.dynamickafka.metadata.TopicDataset
import io.openlineage.client.OpenLineage.DatasetFacets
import io.openlineage.client.dataset.namespace.resolver.DatasetNamespaceCombinedResolver
import io.openlineage.spark.agent.util.PlanUtils
import io.openlineage.spark.api.OpenLineageContext
import org.apache.spark.sql.types.StructType

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
