package io.github.dynamickafka.config

import io.github.dynamickafka.option.UnsupportedOptions

/** The options and Kafka properties that source and sink reject with a specific reason. */
private[dynamickafka] object RefusedOptions {

  val OfSource: UnsupportedOptions = new UnsupportedOptions(
    foreign = Map(
      "path" -> "this source has no path: set the streams with 'streamIds' or 'streamPattern'.",
      "paths" -> "this source has no paths: set the streams with 'streamIds' or 'streamPattern'.",
      "subscribe" -> "this source subscribes to streams, not to topics: use 'streamIds'.",
      "subscribePattern" -> "this source subscribes to streams, not to topics: use 'streamPattern'.",
      "assign" -> "this source subscribes to streams, not to partitions: use 'streamIds'.",
      "startingOffsetsByTimestampStrategy" ->
        "a partition without a record of this timestamp or a later one always starts at its latest offset.",
      "kafkaConsumer.pollTimeoutMs" -> "tasks use 'spark.network.timeout' of the Spark configuration instead.",
      "fetchOffset.numRetries" -> "use 'clusterRequestTimeoutMs', which limits the requests of the driver.",
      "fetchOffset.retryIntervalMs" -> "use 'clusterRequestTimeoutMs', which limits the requests of the driver.",
      "scan.startup.mode" -> "use 'startingOffsets'.",
      "scan.startup.timestamp-millis" -> "use 'startingTimestamp'.",
      "scan.startup.specific-offsets" -> "use 'startingOffsets' with JSON.",
      "scan.bounded.mode" -> "use 'endingOffsets'.",
      "scan.bounded.timestamp-millis" -> "use 'endingTimestamp'."
    ),
    kafkaProperties = Map(
      "auto.offset.reset" ->
        "the query manages its offsets: use 'startingOffsets', 'newClusterStartingOffsets' and 'failOnDataLoss'.",
      "key.deserializer" -> "keys are read as bytes: use 'keyDeserializer' or 'keyFormat'.",
      "value.deserializer" -> "values are read as bytes: use 'valueDeserializer' or 'format'.",
      "enable.auto.commit" ->
        "the query manages its offsets in its checkpoint: see 'commitOffsets' and 'commitGroupId'.",
      "interceptor.classes" -> "keys and values are always read as byte arrays, which interceptors could change."
    )
  )

  private val read = "it is an option of the source, but this query writes."

  val OfSink: UnsupportedOptions = new UnsupportedOptions(
    foreign = Map(
      "path" -> "a sink has no path: set the stream with 'streamId' and the checkpoint with 'checkpointLocation'.",
      "topic" -> "the metadata defines the topics of a stream: if it has several on a cluster, rows require a column 'topic'.",
      "streamIds" -> "a sink writes to one stream, 'streamId', or to the stream in the column 'stream' of each row.",
      "streamPattern" -> "a sink writes to one stream, 'streamId', or to the stream in the column 'stream' of each row.",
      "startingOffsets" -> read,
      "endingOffsets" -> read,
      "maxOffsetsPerTrigger" -> read,
      "maxBytesPerTrigger" -> read,
      "failOnDataLoss" -> read,
      "clusterFailurePolicy" -> read,
      "includeHeaders" -> "it is an option of the source; a sink always writes the column 'headers' if it exists.",
      "parseErrors" -> read,
      "keyParseErrors" -> read,
      "valueParseErrors" -> read,
      "metadataColumns" -> read,
      "sink.delivery-guarantee" -> "use 'deliveryGuarantee'.",
      "sink.transactional-id-prefix" -> "use 'transactionalIdPrefix'.",
      "sink.partitioner" -> "use 'partitioner'."
    ),
    kafkaProperties = Map(
      "key.serializer" -> "keys are written as bytes: use 'keySerializer' or 'keyFormat'.",
      "value.serializer" -> "values are written as bytes: use 'valueSerializer' or 'format'.",
      "transactional.id" -> "each task attempt has its own transactional id: use 'transactionalIdPrefix'.",
      "partitioner.class" -> "use 'partitioner', which also accepts a class name."
    ),
    unknown = Map(
      "jobId" ->
        ("A batch job that is run again writes its rows again. Use a streaming query for rows that have to be written once; " +
          "rows with a column 'stream' go to several streams.")
    )
  )
}
