package io.github.dynamickafka

import java.{util => ju}

import scala.jdk.CollectionConverters._
import scala.util.Properties

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.connector.catalog.{SessionConfigSupport, Table, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.catalog.{MetadataFormat, SessionTable}
import io.github.dynamickafka.config.{SinkOptionSpecs, SinkOptions, SourceOptionSpecs}
import io.github.dynamickafka.option.{OptionSpec, OptionTable, SessionDefaults}
import io.github.dynamickafka.sink.DynamicKafkaSinkTable
import io.github.dynamickafka.source.DynamicKafkaTable

/**
 * The data source `format("dynamic-kafka")`. Checks the options when Spark creates the DataFrame, or starts the query
 * or job that writes.
 */
final class DynamicKafkaProvider extends DataSourceRegister with TableProvider with SessionConfigSupport {

  private var inferred: Option[Table] = None

  override def shortName(): String = "dynamic-kafka"

  /** Session defaults: `spark.datasource.dynamic-kafka.<option>`. */
  override def keyPrefix(): String = shortName()

  /** True, so that Spark calls `inferSchema` for a read, and passes the schema of the DataFrame for a write. */
  override def supportsExternalMetadata(): Boolean = true

  override def inferSchema(options: CaseInsensitiveStringMap): StructType = {
    checkJar()
    if (SessionTable.isOne(options)) SessionTable.of(options, None).schema()
    else {
      val table = read(options, None)
      inferred = Some(table)
      table.schema()
    }
  }

  /** Not when the provider is created: Spark creates one for each name of a format. */
  private def checkJar(): Unit = SparkOfJar.check(SPARK_VERSION, Properties.versionNumberString)

  override def getTable(
      schema: StructType,
      partitioning: Array[Transform],
      properties: ju.Map[String, String]
  ): Table = {
    checkJar()
    val options = new CaseInsensitiveStringMap(properties)
    val forWriting = SessionDefaults.without(options, SinkOptionSpecs.table, SourceOptionSpecs.table)
    if (SessionTable.isOne(properties)) SessionTable.of(properties, Some(schema), partitioning)
    else if (inferred.isDefined) inferred.get
    else if (reads(forWriting)) read(options, Some(schema))
    else MetadataFormat.writing(forWriting, schema).getOrElse {
      DynamicKafkaSinkTable.check(SinkOptions.parse(forWriting), schema)
      new DynamicKafkaSinkTable(schema, DynamicKafkaSinkTable.over(forWriting))
    }
  }

  /** Spark makes the same call for a read with a user-specified schema and for a write: only the options differ. */
  private def reads(options: CaseInsensitiveStringMap): Boolean = {
    def has(spec: OptionSpec[_] => Boolean, table: OptionTable) =
      options.keySet.asScala.exists(table.find(_).exists(spec))
    has(
      Set[OptionSpec[_]](SourceOptionSpecs.StreamIds, SourceOptionSpecs.StreamPattern),
      SourceOptionSpecs.table
    ) &&
    !has(spec => SourceOptionSpecs.table.find(spec.name).isEmpty, SinkOptionSpecs.table)
  }

  /** @param user the schema that the user gave to Spark */
  private def read(options: CaseInsensitiveStringMap, user: Option[StructType]): DynamicKafkaTable =
    MetadataFormat.reading(options, user).getOrElse {
      val parsed = DynamicKafkaTable.parse(options)
      DynamicKafkaTable.check(parsed)
      DynamicKafkaTable.of(parsed, user)
    }
}
