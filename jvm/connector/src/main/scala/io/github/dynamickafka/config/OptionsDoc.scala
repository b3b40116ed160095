package io.github.dynamickafka.config

import io.github.dynamickafka.config.option.{OptionTable, UnsupportedOptions}
import io.github.dynamickafka.kafka.ClientDefaults

/** `docs/options.md`, made from [[SourceOptionSpecs]], [[SinkOptionSpecs]] and [[ClientDefaults]]. */
private[dynamickafka] object OptionsDoc {

  def render: String =
    Seq(intro, ofSource, ofSink, perCluster, precedence, clientDefaults, services, flink).mkString(
      "",
      "\n\n",
      "\n"
    )

  private val intro =
    """# Options
      |
      |<!-- Generated from the declarations in the code by `make docs-options`: changes by hand are lost. -->
      |
      |Options of `format("dynamic-kafka")`. Names are not case-sensitive and hyphens in them are ignored, so that
      |`stream-metadata-discovery-interval-ms` is `streamMetadataDiscoveryIntervalMs`. Cluster ids, Kafka properties
      |and arguments of the metadata service are taken to the letter. Spark itself knows no upper and lower case in
      |options: of two cluster ids that differ in case only, just one can have `cluster.<id>.` options.
      |
      |An unknown option is an error, and so is one of the other side: of the sink where a query reads, of the source where
      |it writes. Times take milliseconds or a unit: `500ms`, `10s`, `5min`, `2h`, `7d`.
      |
      |`spark.datasource.dynamic-kafka.<option>` in the session's configuration sets an option for all reads and writes of
      |the session that know it.""".stripMargin

  private def ofSource =
    "## Options of the source\n\n" + options(SourceOptionSpecs.table) + "\n\n" +
      """`timestamp:<epoch ms>` is the time of `startingTimestamp` in places that take one text, such as
        |`cluster.<id>.startingOffsets` and the metadata.""".stripMargin

  private def ofSink =
    """## Options of the sink
      |
      |What they do together is in [sink.md](sink.md).""".stripMargin + "\n\n" + options(
      SinkOptionSpecs.table
    )

  private def options(all: OptionTable) =
    table(
      Seq("option", "default", "type", "meaning"),
      all.all.map(spec => Seq(s"`${spec.name}`", spec.defaultText, spec.valueType.label, spec.doc))
    )

  private def perCluster =
    s"""## Options of one cluster
       |
       |`cluster.<id>.<option>` sets these of the source for one cluster: ${SourceOptionSpecs.table.perCluster.map(
        s =>
          s"`${s.name}`"
      ).mkString(", ")}.
       |JSON offsets have no level of the cluster there: `{"orders": {"0": 42}}`. The sink has none.
       |
       |`cluster.<id>.kafka.<property>` sets a property of Kafka's clients for one cluster, in reads and in writes; the
       |`kafka.` can be left out. Where ids contain each other, the longest known id that a key starts with is meant.""".stripMargin

  private val precedence =
    """## Precedence
      |
      |For each property and each cluster, the first of these that is there counts:
      |
      |1. `cluster.<id>.<key>` option
      |2. the cluster's entry in the metadata
      |3. shared `kafka.<key>` option, or the option for the whole query
      |4. default
      |
      |What appears in a running query starts by `newClusterStartingOffsets` or `newTopicStartingOffsets` in the place
      |of `startingOffsets`, where 1. and 2. say nothing.""".stripMargin

  private def clientDefaults =
    """## Settings of Kafka's clients
      |
      |`kafka.<property>` sets a property for all clusters. Some defaults differ from Kafka's. Of the source, which
      |reads several times as fast with them:""".stripMargin + "\n\n" +
      table(
        Seq("property", "default here"),
        ClientDefaults.consumerFetch.map { case (name, value) => Seq(s"`$name`", s"`$value`") }
      ) + "\n\n" +
      s"""What they cost: the consumer of a task holds up to `max.partition.fetch.bytes` (8 MiB) of fetched data, compressed
        |as it is in Kafka, beside up to `max.poll.records` records that were handed to the task: of records of 1 KB,
        |20000 are 20 MB. A task that reads several partitions holds that for each of them, up to `fetch.max.bytes`
        |(50 MiB by Kafka's default) for a fetch; a record batch that is larger is fetched all the same. Executors keep
        |idle consumers with what they hold for five minutes (`spark.kafka.consumer.cache.timeout`), at most 64 of them
        |(`spark.kafka.consumer.cache.capacity`). With large records, many partitions or little memory, lower
        |`max.partition.fetch.bytes` and `max.poll.records`.
        |
        |Of the sink, whose tasks write many records in one go:
        |""".stripMargin + "\n" +
      table(
        Seq("property", "default here"),
        ClientDefaults.producerBatches.map { case (name, value) => Seq(s"`$name`", s"`$value`") }
      ) + "\n\n" +
      s"""With `exactly-once`, `transaction.timeout.ms` is 15 minutes unless the brokers allow less; see
        |[sink.md](sink.md#time-limits-of-transactions).
        |
        |`request.timeout.ms` and `default.api.timeout.ms` follow from `clusterRequestTimeoutMs`. SecretReferences such as
        |`$${file:/etc/secrets/blue.properties:password}` are resolved by Kafka's clients: where a property holds one,
        |`config.providers` is set to Kafka's own `file`, `env` and `dir` unless you have set it. The driver's admin clients
        |are not in JMX unless you set `kafka.auto.include.jmx.reporter=true`.
        |
        |A `kafka.group.id` is a base: each cluster's consumers add the cluster id and a code that changes with the
        |properties of the cluster. `committed` and `commitOffsets` mean the group as you named it.
        |
        |Spark shows the options of a query in plans and in its UI, and hides only values whose names match
        |`spark.redaction.regex`; `kafka.sasl.jaas.config` does not. Keep secrets in the metadata, or refer to them.
        |
        |These cannot be set in reads, because the source sets them itself, or because an address belongs to one cluster:
        |""".stripMargin + refusedProperties(UnsupportedOptions.OfSource) + "\n\nAnd these in writes:\n" +
      refusedProperties(UnsupportedOptions.OfSink) + "\n\n" +
      """In the metadata they are ignored, since others that use the cluster may need them.""".stripMargin

  private def refusedProperties(unsupported: UnsupportedOptions) =
    (unsupported.kafkaPropertyNames.toSeq :+ ClusterProperties.BootstrapServers).sorted
      .map(property => s"- `kafka.$property`")
      .mkString("\n", "\n", "")

  private val services =
    "## Arguments of the metadata service\n\n`metadataService.<argument>`:\n\n" + table(
      Seq("service", "argument", "default", "type", "meaning"),
      MetadataServiceSpecs.all.flatMap { service =>
        val declared = service.arguments.map(a => Seq(a.name, a.defaultText, a.valueType.label, a.doc))
        val prefixed = service.prefix.map(p => Seq(p.name + p.placeholder, "", "string", p.doc))
        (declared ++ prefixed).map(cells => Seq(s"`${service.name}`", s"`${cells.head}`") ++ cells.tail)
      } :+ Seq(
        "a class name",
        "any",
        "",
        "string",
        "For a constructor with a `java.util.Map[String, String]`; names are taken to the letter."
      )
    )

  private val flink =
    "## For users of Flink's Dynamic Kafka Source\n\n" + table(
      Seq("Flink", "here"),
      Seq(
        Seq("`stream-ids`, `stream-pattern`", "the same"),
        Seq("`metadata-service`, `metadata-service.cluster-id`", "the same"),
        Seq("`stream-metadata-discovery-interval-ms`", "the same; default 30000, where Flink asks once"),
        Seq("`stream-metadata-discovery-failure-threshold`", "the same; default 10, Flink's is 1"),
        Seq(
          "`stream-metadata-removed-cluster-retention-ms`",
          "the same; default for ever, Flink's is not at all"
        ),
        Seq("`properties.<kafka property>`", "`kafka.<kafka property>`"),
        Seq("`scan.startup.mode`", "`startingOffsets`; default `earliest`"),
        Seq("`scan.bounded.mode`", "`endingOffsets`")
      )
    )

  /** Not to be put through `stripMargin`, which takes the bar at the beginning of a line. */
  private def table(header: Seq[String], rows: Seq[Seq[String]]): String =
    (header +: header.map(_ => "---") +: rows)
      .map(_.map(_.replace("|", "\\|")).mkString("| ", " | ", " |"))
      .mkString("\n")
}
