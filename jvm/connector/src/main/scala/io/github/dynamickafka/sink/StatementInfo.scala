package io.github.dynamickafka.sink

import org.apache.spark.sql.connector.write.LogicalWriteInfo
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * A write to a table of a catalog.
 *
 * @param options those of the table and of the query
 * @param ofStatement the names of those of the query
 */
private[dynamickafka] final class StatementInfo(
    of: LogicalWriteInfo,
    override val options: CaseInsensitiveStringMap,
    val ofStatement: Set[String]
) extends LogicalWriteInfo {
  override def queryId(): String = of.queryId
  override def schema(): StructType = of.schema
}
