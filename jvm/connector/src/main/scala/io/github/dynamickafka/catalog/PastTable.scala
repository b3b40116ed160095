package io.github.dynamickafka.catalog

import java.{util => ju}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.config.SourceOptionSpecs
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.option.{ClusterKeys, OptionName}

/**
 * A stream as of a time, for batch reads: of each partition the records before the first one with this timestamp or a later one, as
 * `endingTimestamp` has it.
 *
 * @param micros since 1970-01-01 UTC
 */
private[catalog] final class PastTable(table: StreamTable, micros: Long) extends Table with SupportsRead {
  import PastTable._

  override def name(): String = table.name()

  override def schema(): StructType = table.schema()

  override def properties(): ju.Map[String, String] = table.properties()

  override def capabilities(): ju.Set[TableCapability] = ju.EnumSet.of(TableCapability.BATCH_READ)

  override def newScanBuilder(ofQuery: CaseInsensitiveStringMap): ScanBuilder = {
    val query = ofQuery.asCaseSensitiveMap.asScala.toMap.filterNot { case (name, _) => isOfSpark(name) }
    query.find { case (name, _) => isEnding(name) }.foreach { case (name, value) =>
      throw Errors.invalidOption(
        name,
        value,
        "the query reads the table as of a time, which is where reading stops."
      )
    }
    table.newScanBuilder(new CaseInsensitiveStringMap((query + (EndingTimestamp.name -> ms.toString)).asJava))
  }

  /** Kafka's timestamps are milliseconds: the first one that is not before the time. */
  private def ms = math.max(0L, -Math.floorDiv(-micros, 1000L))
}

private[catalog] object PastTable {
  private val EndingTimestamp = SourceOptionSpecs.EndingTimestamp
  private val Endings =
    Seq(EndingTimestamp, SourceOptionSpecs.EndingOffsetsByTimestamp, SourceOptionSpecs.EndingOffsets)

  private def isEnding(name: String) = Endings.exists(_.named(name)) ||
    OptionName.afterPrefix(name, OptionName.Cluster)
      .flatMap(ClusterKeys.endsWithOption(_, SourceOptionSpecs.table)).exists(option =>
        Endings.contains(option._2)
      )

  /** The time itself, as an option of `spark.read`, which Spark passes on. */
  private def isOfSpark(name: String) =
    SparkSession.active.conf.get("spark.sql.timeTravelTimestampKey").equalsIgnoreCase(name)
}
