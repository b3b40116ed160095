package io.github.dynamickafka.error

/**
 * The factories of all errors, one per condition; no other code creates these exceptions. Users see the parameters, so
 * they must not contain secrets.
 */
private[dynamickafka] object Errors {

  /** A sentence after another one. */
  def meant(name: String): String = s" Did you mean '$name'?"

  type IllegalArgument = DynamicKafkaIllegalArgumentException
  type Runtime = DynamicKafkaRuntimeException

  def unknownOption(option: String, suggestion: Option[String]): IllegalArgument =
    unknownOption(option, suggestion.fold("")(meant))

  /** @param remedy a sentence that begins with a space, or nothing */
  def unknownOption(option: String, remedy: String): IllegalArgument =
    illegal("UNKNOWN_OPTION")("option" -> option, "suggestion" -> remedy)

  /**
   * PySpark has an exception for it, as for errors of options.
   *
   * @param jar the Spark and Scala that the connector's jar was built for, `session` those that run
   */
  def wrongJar(jar: String, session: String): IllegalArgument =
    illegal("WRONG_JAR")("jar" -> jar, "session" -> session)

  /** @param value as the user wrote it, or a placeholder if it may be a secret */
  def invalidOption(option: String, value: String, reason: String, cause: Throwable = null): IllegalArgument =
    illegal("INVALID_OPTION", cause)("option" -> option, "value" -> value, "reason" -> reason)

  def missingOption(option: String, reason: String): IllegalArgument =
    illegal("MISSING_OPTION")("option" -> option, "reason" -> reason)

  /** The schema of the records: the option, the one given to Spark, or both together with the metadata columns. */
  def invalidSchema(reason: String): IllegalArgument =
    illegal("INVALID_SCHEMA")("reason" -> reason)

  /** Has no cause: the message of a parser contains parts of the record. */
  def decodeFailed(
      record: RecordPlace,
      side: String,
      format: String,
      field: Option[String],
      reason: String,
      schemaId: Option[Int] = None
  ): Runtime =
    runtime("DECODE_FAILED")(
      "stream" -> record.stream,
      "cluster" -> record.cluster,
      "topic" -> record.topic,
      "partition" -> record.partition.toString,
      "offset" -> record.offset.toString,
      "side" -> side,
      "format" -> format,
      "field" -> field.fold("-")(name => s"'$name'"),
      "schemaId" -> schemaId.fold("-")(_.toString),
      "reason" -> reason
    )

  /** @param side `key` or `value` */
  def encodeFailed(side: String, format: String, reason: String): Runtime =
    runtime("ENCODE_FAILED")("side" -> side, "format" -> format, "reason" -> reason)

  /** @param what what was asked for; `registry` is the address without credentials */
  def registryUnavailable(registry: String, cluster: String, what: String, reason: String): Runtime =
    runtime("REGISTRY_UNAVAILABLE")(
      "registry" -> registry,
      "cluster" -> cluster,
      "what" -> what,
      "reason" -> reason
    )

  def registryAuthenticationFailed(registry: String, cluster: String, what: String, status: Int): Runtime =
    runtime("REGISTRY_AUTHENTICATION_FAILED")(
      "registry" -> registry,
      "cluster" -> cluster,
      "what" -> what,
      "status" -> status.toString
    )

  def schemaNotFound(registry: String, cluster: String, subject: String, reason: String): Runtime =
    runtime("SCHEMA_NOT_FOUND")(
      "registry" -> registry,
      "cluster" -> cluster,
      "subject" -> subject,
      "reason" -> reason
    )

  /** @param where the location: file and line, stream, cluster and key, as far as they are known */
  def metadataInvalid(where: String, reason: String, cause: Throwable = null): IllegalArgument =
    illegal("METADATA_INVALID", cause)("where" -> where, "reason" -> reason)

  def metadataUnavailable(service: String, failures: Int, reason: String, cause: Throwable): Runtime =
    runtime("METADATA_UNAVAILABLE", cause)(
      "service" -> service,
      "failures" -> failures.toString,
      "reason" -> reason
    )

  /** @param suggestion a stream that may be meant, where there is none of this name */
  def unsupportedDdl(
      catalog: String,
      operation: String,
      stream: String,
      suggestion: Option[String]
  ): IllegalArgument =
    illegal("UNSUPPORTED_DDL")(
      "catalog" -> catalog,
      "operation" -> operation,
      "stream" -> stream,
      "suggestion" -> suggestion.fold("")(meant)
    )

  def unknownProcedure(catalog: String, procedure: String, suggestion: Option[String], known: Seq[String])
      : IllegalArgument =
    illegal("UNKNOWN_PROCEDURE")(
      "catalog" -> catalog,
      "procedure" -> procedure,
      "suggestion" -> suggestion.fold("")(meant),
      "known" -> known.mkString(", ")
    )

  /** @param changes false: the procedure only reads, whatever happens */
  def procedureRefused(
      procedure: String,
      changes: Boolean,
      reason: String,
      cause: Throwable
  ): IllegalArgument =
    illegal("PROCEDURE_REFUSED", cause)(
      "procedure" -> procedure,
      "reason" -> reason,
      "unchanged" -> (if (changes) ". Nothing was changed, unless the reason says so." else "")
    )

  def metadataReadOnly(procedure: String, service: String, writable: Seq[String]): IllegalArgument =
    illegal("METADATA_READ_ONLY")(
      "procedure" -> procedure,
      "service" -> service,
      "writable" -> writable.mkString(", ")
    )

  def clusterUnreachable(cluster: String, bootstrap: String, reason: String, cause: Throwable): Runtime =
    ofCluster("CLUSTER_UNREACHABLE", cluster, bootstrap, reason, cause)

  /** The cluster rejected the client, or the client rejected the cluster or its own credentials. Never a timeout. */
  def clusterAuthenticationFailed(
      cluster: String,
      bootstrap: String,
      reason: String,
      cause: Throwable
  ): Runtime = ofCluster("CLUSTER_AUTHENTICATION_FAILED", cluster, bootstrap, reason, cause)

  def clusterAuthorizationFailed(
      cluster: String,
      bootstrap: String,
      reason: String,
      cause: Throwable
  ): Runtime = ofCluster("CLUSTER_AUTHORIZATION_FAILED", cluster, bootstrap, reason, cause)

  def dataLoss(cluster: String, topic: String, reason: String, cause: Throwable = null): Runtime =
    runtime("DATA_LOSS", cause)("cluster" -> cluster, "topic" -> topic, "reason" -> reason)

  /** @param ms for how long the cluster has returned no offsets of the partition */
  def partitionUnavailable(
      cluster: String,
      topic: String,
      partition: Int,
      stream: String,
      ms: Long,
      reason: String
  ): Runtime =
    runtime("PARTITION_UNAVAILABLE")(
      "cluster" -> cluster,
      "topic" -> topic,
      "partition" -> partition.toString,
      "stream" -> stream,
      "ms" -> ms.toString,
      "reason" -> reason
    )

  /** @param positions for each partition the position in the former topic and the end of the new one */
  def topicRecreated(
      cluster: String,
      topic: String,
      oldId: String,
      newId: String,
      positions: String
  ): Runtime =
    runtime("TOPIC_RECREATED")(
      "cluster" -> cluster,
      "topic" -> topic,
      "oldId" -> oldId,
      "newId" -> newId,
      "positions" -> positions
    )

  /** @param known the `cluster.id` of the Kafka cluster that was read, `found` that of the one that responds now */
  def clusterReplaced(cluster: String, known: String, found: String, reason: String): Runtime =
    runtime("CLUSTER_REPLACED")("cluster" -> cluster, "known" -> known, "found" -> found, "reason" -> reason)

  def topicNotFound(cluster: String, topic: String, stream: String): Runtime =
    runtime("TOPIC_NOT_FOUND")("cluster" -> cluster, "topic" -> topic, "stream" -> stream)

  def duplicateCluster(first: String, second: String, kafkaClusterId: String, topics: Seq[String]): Runtime =
    runtime("DUPLICATE_CLUSTER")(
      "first" -> first,
      "second" -> second,
      "kafkaClusterId" -> kafkaClusterId,
      "topics" -> topics.sorted.mkString(", ")
    )

  /** An option of a cluster whose id is probably misspelled. */
  def unknownCluster(
      option: String,
      cluster: String,
      suggestion: String,
      known: Seq[String]
  ): IllegalArgument =
    illegal("UNKNOWN_CLUSTER")(
      "option" -> option,
      "cluster" -> cluster,
      "suggestion" -> suggestion,
      "known" -> known.mkString(", ")
    )

  def unknownOffsetVersion(what: String, found: String, supported: Int): Runtime =
    runtime("UNKNOWN_OFFSET_VERSION")("what" -> what, "found" -> found, "supported" -> supported.toString)

  def invalidOffset(reason: String, cause: Throwable = null): Runtime =
    runtime("INVALID_OFFSET", cause)("reason" -> reason)

  /** @param reason what the function of the user that the option names has returned or thrown */
  def invalidOffsets(
      option: String,
      cluster: String,
      topic: String,
      partitions: Seq[Int],
      reason: String,
      cause: Throwable = null
  ): IllegalArgument =
    illegal("INVALID_OFFSETS", cause)(
      "option" -> option,
      "cluster" -> cluster,
      "topic" -> topic,
      "partition" -> partitions.mkString(", "),
      "reason" -> reason
    )

  /** An offset that the connector computed and that could not be planned: a bug. */
  def invalidNextOffset(reason: String): Runtime =
    runtime("INVALID_NEXT_OFFSET")("reason" -> reason)

  def plainKafkaCheckpoint(location: String): Runtime =
    runtime("PLAIN_KAFKA_CHECKPOINT")("location" -> location)

  def checkpointEdited(checkpoint: String): Runtime =
    runtime("CHECKPOINT_EDITED")("checkpoint" -> checkpoint)

  /** @param missing what the metadata lack, `migrated` the cluster ids of the checkpoint, `known` those of the metadata */
  def migrationMismatch(
      missing: Seq[String],
      migrated: Seq[String],
      known: Seq[String],
      suggestion: Option[String]
  ): Runtime =
    runtime("MIGRATION_MISMATCH")(
      "missing" -> missing.mkString(", "),
      "migrated" -> migrated.mkString(", "),
      "known" -> (if (known.isEmpty) "none" else known.mkString(", ")),
      "suggestion" -> suggestion.fold("")(meant)
    )

  def unreachableReplay(cluster: String, ranges: String, reason: String, cause: Throwable): Runtime =
    runtime("UNREACHABLE_REPLAY", cause)("cluster" -> cluster, "ranges" -> ranges, "reason" -> reason)

  /** @param column the column of the DataFrame to write */
  def invalidColumn(column: String, reason: String): IllegalArgument =
    illegal("INVALID_COLUMN")("column" -> column, "reason" -> reason)

  def unroutableRow(
      stream: Option[String],
      cluster: Option[String],
      topic: Option[String],
      reason: String
  ): Runtime = {
    def quoted(value: Option[String]) = value.fold("-")(v => s"'$v'")
    runtime("UNROUTABLE_ROW")(
      "stream" -> quoted(stream),
      "cluster" -> quoted(cluster),
      "topic" -> quoted(topic),
      "reason" -> reason
    )
  }

  /** @param what the target of the request: a topic, a transaction, broker settings */
  def writeFailed(
      cluster: String,
      bootstrap: String,
      what: String,
      reason: String,
      cause: Throwable
  ): Runtime =
    runtime("WRITE_FAILED", cause)(
      "cluster" -> cluster,
      "bootstrapServers" -> bootstrap,
      "what" -> what,
      "reason" -> reason
    )

  def exactlyOnceRefused(reason: String): IllegalArgument =
    illegal("EXACTLY_ONCE_REFUSED")("reason" -> reason)

  def transactionsAborted(batch: Long, reason: String): Runtime =
    runtime("TRANSACTIONS_ABORTED")("batch" -> batch.toString, "reason" -> reason)

  def commitIncomplete(batch: Long, pending: String, reason: String, cause: Throwable): Runtime =
    runtime("COMMIT_INCOMPLETE", cause)("batch" -> batch.toString, "pending" -> pending, "reason" -> reason)

  def partialCommit(batch: Long, missing: String, remedy: String): Runtime =
    runtime("PARTIAL_COMMIT")("batch" -> batch.toString, "missing" -> missing, "remedy" -> remedy)

  def transactionUnknown(batch: Long, unknown: String): Runtime =
    runtime("TRANSACTION_UNKNOWN")("batch" -> batch.toString, "unknown" -> unknown)

  def replayDiffers(batch: Long, reason: String): Runtime =
    runtime("REPLAY_DIFFERS")("batch" -> batch.toString, "reason" -> reason)

  def journalConflict(location: String, reason: String, cause: Throwable = null): Runtime =
    runtime("JOURNAL_CONFLICT", cause)("location" -> location, "reason" -> reason)

  private def ofCluster(sub: String, cluster: String, bootstrap: String, reason: String, cause: Throwable) =
    runtime(sub, cause)("cluster" -> cluster, "bootstrapServers" -> bootstrap, "reason" -> reason)

  private def illegal(sub: String, cause: Throwable = null)(parameters: (String, String)*) =
    new DynamicKafkaIllegalArgumentException(s"DYNAMIC_KAFKA.$sub", parameters.toMap, cause)

  private def runtime(sub: String, cause: Throwable = null)(parameters: (String, String)*) =
    new DynamicKafkaRuntimeException(s"DYNAMIC_KAFKA.$sub", parameters.toMap, cause)
}

/** A record, as an error names it. */
private[dynamickafka] final case class RecordPlace(
    stream: String,
    cluster: String,
    topic: String,
    partition: Int,
    offset: Long
)
