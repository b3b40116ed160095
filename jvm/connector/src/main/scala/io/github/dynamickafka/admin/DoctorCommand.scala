package io.github.dynamickafka.admin

import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal

import io.github.dynamickafka.admin.doctor.{Brokers, Check, Network, Result}
import io.github.dynamickafka.catalog.StreamCatalog
import io.github.dynamickafka.error.FailureText
import io.github.dynamickafka.kafka.address.BrokerSocket
import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaStream}
import io.github.dynamickafka.redaction.Redaction
import io.github.dynamickafka.source.cluster.{ClusterConfig, ClusterConfigs}

/** `doctor`: whether the driver can use the clusters of the metadata service. Nothing is written. */
private[admin] object DoctorCommand {

  val all: Seq[Command] = Seq(
    Command.procedure(
      "doctor",
      "Checks from the driver whether queries can use the clusters of the metadata service",
      Nil,
      "cluster STRING, check STRING, status STRING, message STRING, remedy STRING"
    ) { (context, _) =>
      val catalog = context.catalog
      val checks = KafkaOffsets.inParallel(clusters(catalog.streams()))(examine(catalog, _)).flatten
      Check.withDuplicates(checks).map(c =>
        Seq(c.cluster, c.name, c.result.status, c.result.message, c.result.remedy.orNull)
      )
    }
  )

  private def examine(catalog: StreamCatalog, cluster: Cluster): Seq[Check] = {
    val config = ClusterConfigs(catalog.reading, Set(cluster.id))(cluster.id, cluster.properties)
    BrokerSocket.addresses(config.bootstrapServers) match {
      case None => Check.run(
          cluster.id,
          _ => Result.failed("bootstrap.servers is not host:port", "correct bootstrap.servers")
        )
      case Some(servers) =>
        val network = new Network(servers, math.min(config.attemptMs, Int.MaxValue.toLong).toInt)
        Using.resource(new Brokers(config.properties.admin, config.requestTimeoutMs))(brokers =>
          Check.run(cluster.id, name => safely(config)(check(name, cluster, network, brokers)))
        )
    }
  }

  private def check(
      name: String,
      cluster: Cluster,
      network: Network,
      brokers: Brokers
  ): Result = name match {
    case "dns" => network.dns
    case "tcp" => network.tcp
    case "tls" => brokers.tls(network.speaksTls)
    case "login" => brokers.login(network.speaksTls)
    case "versions" => network.versions(brokers.hasTls)
    case "topics" => brokers.topics(cluster.topics, cluster.patterns)
    case "groups" => brokers.groups(cluster.properties.get("group.id"))
    case "transactional_ids" => Result.skipped("only by the command, with --write-test TOPIC")
    case "cluster_id" => brokers.clusterId
    case "transaction_timeout" => brokers.transactionTimeout(cluster.properties.get("transaction.timeout.ms"))
    case "advertised" => network.advertised(brokers.advertised)
  }

  private def safely(config: ClusterConfig)(check: => Result): Result =
    try check
    catch {
      case NonFatal(e) =>
        Result(
          "failed",
          FailureText.of(Redaction.scrub(e, config.properties.client ++ config.properties.admin))
        )
    }

  /** What streams say about a cluster. */
  final case class Cluster(
      id: String,
      properties: Map[String, String],
      topics: Seq[String],
      patterns: Seq[String]
  )

  /** The clusters that streams use, without removed ones, which no query contacts. Pure. */
  def clusters(streams: Seq[KafkaStream]): Seq[Cluster] = {
    val entries =
      streams.flatMap(_.getClusterMetadataMap.asScala).filter(_._2.state != ClusterMetadata.Removed)
    entries.map(_._1).distinct.map { id =>
      val here = entries.collect { case (`id`, entry) => entry }
      Cluster(
        id,
        here.head.getProperties.asScala.toMap,
        here.flatMap(e => e.getTopics.asScala ++ e.getPartitions.asScala.keys).distinct,
        here.flatMap(e => Option(e.topicPattern)).distinct
      )
    }
  }
}
