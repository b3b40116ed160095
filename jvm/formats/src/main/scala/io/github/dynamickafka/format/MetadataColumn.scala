package io.github.dynamickafka.format

import org.apache.spark.sql.types.{
  ArrayType,
  BinaryType,
  DataType,
  IntegerType,
  LongType,
  StringType,
  StructType,
  TimestampType
}

/**
 * A column about a record that is not in its decoded bytes.
 *
 * @param code what distinguishes the columns in the loop over the records
 */
private[dynamickafka] sealed abstract class MetadataColumn(
    val name: String,
    val dataType: DataType,
    val nullable: Boolean,
    val code: Int
) extends Product
    with Serializable

private[dynamickafka] object MetadataColumn {
  // `final val` without a type, so that the compiler inlines them.
  final val TopicCode = 0
  final val PartitionCode = 1
  final val OffsetCode = 2
  final val TimestampCode = 3
  final val ClusterCode = 4
  final val StreamCode = 5
  final val TimestampTypeCode = 6
  final val LeaderEpochCode = 7
  final val HeadersCode = 8
  final val KeyCode = 9
  final val ValueCode = 10

  /** As the option `includeHeaders` of Spark's Kafka source. */
  private val headersType =
    ArrayType(new StructType().add("key", StringType).add("value", BinaryType))

  case object Topic extends MetadataColumn("topic", StringType, false, TopicCode)
  case object Partition extends MetadataColumn("partition", IntegerType, false, PartitionCode)
  case object Offset extends MetadataColumn("offset", LongType, false, OffsetCode)
  case object Timestamp extends MetadataColumn("timestamp", TimestampType, false, TimestampCode)
  case object Cluster extends MetadataColumn("cluster", StringType, false, ClusterCode)
  case object Stream extends MetadataColumn("stream", StringType, false, StreamCode)
  case object TimestampKind extends MetadataColumn("timestampType", IntegerType, false, TimestampTypeCode)
  case object LeaderEpoch extends MetadataColumn("leaderEpoch", IntegerType, true, LeaderEpochCode)
  case object Headers extends MetadataColumn("headers", headersType, true, HeadersCode)
  case object Key extends MetadataColumn("key", BinaryType, true, KeyCode)
  case object Value extends MetadataColumn("value", BinaryType, true, ValueCode)

  val default: Seq[MetadataColumn] = Seq(Topic, Partition, Offset, Timestamp, Cluster, Stream)
  val all: Seq[MetadataColumn] = default ++ Seq(TimestampKind, LeaderEpoch, Headers, Key, Value)

  def find(name: String): Option[MetadataColumn] = all.find(_.name.equalsIgnoreCase(name))
}
