package org.apache.spark.sql

import java.{util => ju}

import org.apache.spark.sql.catalyst.analysis.Analyzer
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.execution.datasources.DataSource
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Utils
import org.apache.spark.sql.streaming.DataStreamWriter
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** What Spark's writer of streams does with a data source, for a sink that Spark sees as a `foreach`. In a package of Spark for that. */
object DynamicKafkaForeach {

  /** The table that Spark would write to, from the options of the query over the defaults of its session. */
  def table(format: String, frame: DataFrame, options: ju.Map[String, String]): Table = {
    val own = new CaseInsensitiveStringMap(options)
    val session = frame.sparkSession.asInstanceOf[classic.SparkSession].sessionState.conf
    val provider = DataSource.lookupDataSourceV2(format, session).get
    val all = new ju.HashMap[String, String](options)
    DataSourceV2Utils.extractSessionConfigs(provider, session).foreach { case (name, value) =>
      if (!own.containsKey(name)) all.put(name, value)
    }
    DataSourceV2Utils.getTableFromProvider(provider, new CaseInsensitiveStringMap(all), Some(frame.schema))
  }

  /** @param begin called in the driver, on the thread of the query, before the tasks of each batch get the writer */
  def foreach(
      stream: DataStreamWriter[Row],
      frame: DataFrame,
      writer: ForeachWriter[Row],
      begin: () => Unit
  ): DataStreamWriter[Row] = {
    val encoder = new BatchEncoder(frame.asInstanceOf[classic.Dataset[Row]].exprEnc, begin)
    stream.asInstanceOf[classic.DataStreamWriter[Row]].foreachImplementation(
      writer.asInstanceOf[ForeachWriter[Any]],
      Some(encoder.asInstanceOf[ExpressionEncoder[Any]])
    )
  }

  /** Spark binds the encoder of a `foreach` when it makes the factory of the writers of a batch, and calls nothing else in the driver. */
  private final class BatchEncoder(of: ExpressionEncoder[Row], begin: () => Unit)
      extends ExpressionEncoder[Row](of.encoder, of.objSerializer, of.objDeserializer) {
    override def resolveAndBind(attributes: Seq[Attribute], analyzer: Analyzer): ExpressionEncoder[Row] = {
      begin()
      of.resolveAndBind(attributes, analyzer)
    }
  }
}
