package io.github.dynamickafka.config.option

import java.util.Locale

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.kafka.Redaction

/**
 * What is refused although it has a name: the reasons, and what to use instead.
 *
 * @param foreign names that users bring along from elsewhere, and what takes their place here
 * @param kafkaProperties Kafka properties that the connector sets itself, and the option that does what they would
 */
private[dynamickafka] final class UnsupportedOptions(
    foreign: Map[String, String],
    kafkaProperties: Map[String, String]
) {
  private val foreignKeys = foreign.map { case (name, reason) => OptionName.normalize(name) -> reason }

  val kafkaPropertyNames: Set[String] = kafkaProperties.keySet

  private val sharedBootstrap =
    "addresses belong to a cluster: the metadata service gives them, or 'cluster.<id>.kafka.bootstrap.servers'."

  /** @param name an option that is none of ours */
  def checkForeign(name: String, value: String): Unit =
    foreignKeys.get(OptionName.normalize(name)).foreach(reason =>
      throw Errors.invalidOption(name, value, reason)
    )

  /** @param property the name of a Kafka property that was given for all clusters, without prefix */
  def checkShared(property: String, writtenAs: String, value: String): Unit = {
    if (property.isEmpty)
      throw Errors.invalidOption(writtenAs, Redaction.Redacted, "it names no Kafka property.")
    if (property.toLowerCase(Locale.ROOT) == "bootstrap.servers")
      throw Errors.invalidOption(writtenAs, value, sharedBootstrap)
    kafkaProperties
      .get(property.toLowerCase(Locale.ROOT))
      .foreach(reason => throw Errors.invalidOption(writtenAs, value, reason))
  }

  /** @param key a `cluster.*` option without that prefix: where its cluster id ends need not be known */
  def checkPerCluster(key: String, writtenAs: String, value: String): Unit =
    kafkaProperties.foreach { case (property, reason) =>
      if (key.toLowerCase(Locale.ROOT).endsWith(s".$property"))
        throw Errors.invalidOption(writtenAs, value, reason)
    }
}

private[dynamickafka] object UnsupportedOptions {

  val OfSource: UnsupportedOptions = new UnsupportedOptions(
    foreign = Map(
      "path" -> "this source has no path: name the streams with 'streamIds' or 'streamPattern'.",
      "paths" -> "this source has no paths: name the streams with 'streamIds' or 'streamPattern'.",
      "subscribe" -> "streams are subscribed to, not topics: use 'streamIds'.",
      "subscribePattern" -> "streams are subscribed to, not topics: use 'streamPattern'.",
      "assign" -> "streams are subscribed to, not partitions: use 'streamIds'.",
      "startingOffsetsByTimestampStrategy" ->
        "a partition without a record of that time or later always starts at its end.",
      "kafkaConsumer.pollTimeoutMs" -> "use 'clusterRequestTimeoutMs' for the time that a cluster may take.",
      "fetchOffset.numRetries" -> "use 'clusterRequestTimeoutMs' for the time that a cluster may take.",
      "fetchOffset.retryIntervalMs" -> "use 'clusterRequestTimeoutMs' for the time that a cluster may take.",
      "scan.startup.mode" -> "use 'startingOffsets'.",
      "scan.startup.timestamp-millis" -> "use 'startingTimestamp'.",
      "scan.startup.specific-offsets" -> "use 'startingOffsets' with JSON.",
      "scan.bounded.mode" -> "use 'endingOffsets'.",
      "scan.bounded.timestamp-millis" -> "use 'endingTimestamp'."
    ),
    kafkaProperties = Map(
      "auto.offset.reset" ->
        "the query keeps its own offsets: use 'startingOffsets', 'newClusterStartingOffsets' and 'failOnDataLoss'.",
      "key.deserializer" -> "keys are binary: deserialise them with functions of the DataFrame.",
      "value.deserializer" -> "values are binary: deserialise them with functions of the DataFrame.",
      "enable.auto.commit" ->
        "the query keeps its own offsets in its checkpoint: see 'commitOffsets' and 'commitGroupId'.",
      "interceptor.classes" -> "keys and values are always read as byte arrays, which interceptors could break."
    )
  )

  private val read = "it is an option of the source, and this writes."

  val OfSink: UnsupportedOptions = new UnsupportedOptions(
    foreign = Map(
      "path" -> "a sink has no path: name the stream with 'streamId', and the checkpoint with 'checkpointLocation'.",
      "topic" -> "a stream's topics are in the metadata: where it has several on a cluster, rows name theirs in a column 'topic'.",
      "streamIds" -> "a sink writes to one stream, 'streamId', or to the one that a row names in a column 'stream'.",
      "streamPattern" -> "a sink writes to one stream, 'streamId', or to the one that a row names in a column 'stream'.",
      "startingOffsets" -> read,
      "endingOffsets" -> read,
      "maxOffsetsPerTrigger" -> read,
      "failOnDataLoss" -> read,
      "clusterFailurePolicy" -> read,
      "includeHeaders" -> "it is an option of the source; a column 'headers' is written where there is one.",
      "sink.delivery-guarantee" -> "use 'deliveryGuarantee'.",
      "sink.transactional-id-prefix" -> "use 'transactionalIdPrefix'.",
      "sink.partitioner" -> "use 'partitioner'."
    ),
    kafkaProperties = Map(
      "key.serializer" -> "keys are binary: serialise them with functions of the DataFrame.",
      "value.serializer" -> "values are binary: serialise them with functions of the DataFrame.",
      "transactional.id" -> "each attempt of a task has one of its own: use 'transactionalIdPrefix'.",
      "partitioner.class" -> "use 'partitioner', which takes the class as well."
    )
  )
}
