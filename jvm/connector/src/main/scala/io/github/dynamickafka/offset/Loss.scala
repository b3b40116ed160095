package io.github.dynamickafka.offset

/** Records that are no longer available. `failOnDataLoss` determines whether the query fails. */
private[dynamickafka] sealed trait Loss extends Product with Serializable {
  def cluster: String
  def topic: String
  def text: String
}

private[dynamickafka] object Loss {
  final case class TopicGone(cluster: String, topic: String) extends Loss {
    def text: String = s"topic '$topic' no longer exists on the cluster, but the metadata still lists it"
  }
  final case class PartitionGone(cluster: String, topic: String, partition: Int, known: Long) extends Loss {
    def text: String = s"partition $partition, which was read up to offset $known, no longer exists"
  }
  final case class Expired(cluster: String, topic: String, partition: Int, known: Long, earliest: Long)
      extends Loss {
    def text: String =
      s"partition $partition: the next offset to read is $known, but the earliest available offset is $earliest"
  }
  final case class Recreated(cluster: String, topic: String, partition: Int, known: Long, end: Long)
      extends Loss {
    def text: String =
      s"partition $partition: the next offset to read is $known, but the latest offset of the partition is $end, " +
        "so the topic was probably deleted and recreated"
  }
  final case class Truncated(cluster: String, topic: String, partition: Int, known: Long) extends Loss {
    def text: String =
      s"partition $partition: the log was truncated below offset $known, the next offset to read, for example by an " +
        "unclean leader election, so records that were already read may be missing or replaced in the log"
  }
  final case class OutOfRange(
      cluster: String,
      topic: String,
      partition: Int,
      asked: Long,
      first: Long,
      end: Long
  ) extends Loss {
    def text: String =
      s"partition $partition: the start offset $asked is not in the range of available offsets, $first to $end"
  }
}
