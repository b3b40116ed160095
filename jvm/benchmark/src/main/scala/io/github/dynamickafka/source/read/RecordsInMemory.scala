package io.github.dynamickafka.source.read

import java.nio.charset.StandardCharsets.UTF_8
import java.{util => ju}

import scala.collection.concurrent.TrieMap

import org.apache.kafka.clients.consumer.ConsumerRecord
import org.apache.kafka.common.header.internals.RecordHeaders
import org.apache.kafka.common.record.TimestampType
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * A table of records in memory, in one partition: raw ones with the columns of the connector, or decoded JSON. Options: `kind` is
 * `raw` or `json`, `records` how many, `columnar` whether it hands over batches.
 */
final class RecordsInMemory extends TableProvider {
  import RecordsInMemory._

  override def inferSchema(options: CaseInsensitiveStringMap): StructType = kindOf(options).schema

  override def getTable(
      schema: StructType,
      partitioning: Array[Transform],
      options: ju.Map[String, String]
  ): Table = new Table with SupportsRead {
    override def name: String = "records in memory"
    override def schema: StructType = kindOf(new CaseInsensitiveStringMap(options)).schema
    override def capabilities: ju.Set[TableCapability] = ju.Set.of(TableCapability.BATCH_READ)
    override def newScanBuilder(ofScan: CaseInsensitiveStringMap): ScanBuilder =
      new RecordsScan(kindOf(ofScan), ofScan.getInt(Count, 0), ofScan.getBoolean(Columnar, false))
  }
}

object RecordsInMemory {
  private[read] final val Kind = "kind"
  private[read] final val Count = "records"
  private[read] final val Columnar = "columnar"

  private[read] type Records = Array[ConsumerRecord[Array[Byte], Array[Byte]]]

  private val made = TrieMap.empty[(String, Int), Records]

  private def kindOf(options: CaseInsensitiveStringMap): RecordKind = RecordKind(options.get(Kind))

  /** Made once, because making them takes longer than reading them. */
  private[read] def records(kind: RecordKind, count: Int): Records =
    made.getOrElseUpdate((kind.name, count), Array.tabulate(count)(record(kind, _)))

  private def record(kind: RecordKind, i: Int): ConsumerRecord[Array[Byte], Array[Byte]] = {
    val value = kind.value(i).getBytes(UTF_8)
    new ConsumerRecord(
      "bench",
      i % 8,
      i.toLong,
      1700000000000L + i,
      TimestampType.CREATE_TIME,
      8,
      value.length,
      f"$i%08x".getBytes(UTF_8),
      value,
      new RecordHeaders,
      ju.Optional.empty[Integer]
    )
  }
}

/** The columns that a query does not need are not made: by rows when they are not called, by batches because they have none. */
private final class RecordsScan(kind: RecordKind, count: Int, columnar: Boolean)
    extends ScanBuilder
    with SupportsPushDownRequiredColumns
    with Scan
    with Batch {
  private var wanted = kind.schema

  override def pruneColumns(required: StructType): Unit = wanted = kind.pruned(required, columnar)

  override def build(): Scan = this
  override def readSchema(): StructType = wanted
  override def toBatch: Batch = this
  override def planInputPartitions(): Array[InputPartition] = Array(new InputPartition {})
  override def columnarSupportMode(): Scan.ColumnarSupportMode =
    if (columnar) Scan.ColumnarSupportMode.SUPPORTED else Scan.ColumnarSupportMode.UNSUPPORTED

  override def createReaderFactory(): PartitionReaderFactory =
    new RecordsReaders(kind.name, count, wanted, columnar)
}

private final class RecordsReaders(kind: String, count: Int, wanted: StructType, columnar: Boolean)
    extends PartitionReaderFactory {
  override def supportColumnarReads(partition: InputPartition): Boolean = columnar

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = {
    val of = RecordKind(kind)
    val (records, rows) = (RecordsInMemory.records(of, count), of.rows(wanted))
    var at = -1
    new PartitionReader[InternalRow] {
      override def next(): Boolean = {
        at += 1
        at < records.length
      }
      override def get(): InternalRow = rows(records(at))
      override def close(): Unit = ()
    }
  }

  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] = {
    val of = RecordKind(kind)
    val (records, columns) = (RecordsInMemory.records(of, count), of.columns(wanted))
    var (from, until) = (0, 0)
    new PartitionReader[ColumnarBatch] {
      override def next(): Boolean = {
        from = until
        until = math.min(from + RecordKind.BatchSize, records.length)
        from < until
      }
      override def get(): ColumnarBatch = columns(records, from, until)
      override def close(): Unit = ()
    }
  }
}
