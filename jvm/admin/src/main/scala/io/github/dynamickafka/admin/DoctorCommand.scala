package io.github.dynamickafka.admin

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal
import scala.util.{Success, Try, Using}

import org.apache.kafka.clients.admin.AdminClientConfig

import io.github.dynamickafka.base.{Json, Redaction}
import io.github.dynamickafka.error.{Errors, FailureText}
import io.github.dynamickafka.kafka.{BrokerSocket, ClientDefaults, SecretReferences, UnansweredAddresses}
import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaStream}
import io.github.dynamickafka.source.checkpoint.{RememberedTopology, SparkCheckpoint}
import io.github.dynamickafka.source.cluster.ClusterConfigs

/** `doctor`: whether this process can use the clusters of the metadata. Nothing is written without a topic for that. */
private[admin] object DoctorCommand {
  private val Checkpoint = Parameter.path(
    "checkpoint",
    "The checkpoint of a query: compare the cluster.id of the clusters that it has read"
  ).optional
  private val WriteTest = Parameter.text(
    "write_test",
    "A topic: write to it in a transaction on each cluster, and abort it. Checks the rights on transactional ids"
  ).optional.onlyOnLine

  val all: Seq[Command] = Seq(
    Command(
      "doctor",
      "Checks from this machine, or from the driver, whether queries can use the clusters of the metadata. For each cluster: names, " +
        "connections, TLS, log-in, versions, rights, cluster.id, and the addresses that the brokers advertise. Exit code 1: a check " +
        "has failed",
      Seq(Parameter.File, Checkpoint, WriteTest, Parameter.Timeout),
      "cluster STRING, check STRING, status STRING, message STRING, remedy STRING",
      (context, arguments) => {
        val streams = context.streams()
        val (known, lacking) = arguments.get(Checkpoint)
          .fold((Map.empty[String, KnownCluster], Seq.empty[Check]))(knownOf(context, _, streams))
        val checks = KafkaOffsets.inParallel(clusters(streams))(cluster =>
          new Examination(
            context,
            cluster,
            known.getOrElse(cluster.id, KnownCluster()),
            arguments.get(WriteTest)
          ).checks
        ).flatten
        new Checked(context, lacking ++ Check.withDuplicates(checks))
      }
    )
  )

  private[admin] final class Checked(context: Context, checks: Seq[Check]) extends Result {
    private val ok = !checks.exists(_.result.isFailed)

    private val table = Table(
      Seq("cluster", "check", "status", "message", "remedy"),
      checks.map(c => Seq(c.cluster, c.name, c.result.status, c.result.message, c.result.remedy))
    )

    override def rows: Seq[Seq[Any]] = table.rows

    override def json: Any = Json.fields("file" -> context.file, "ok" -> ok, "checks" -> table.json)

    override def text: String = Table(
      table.names.init,
      checks.map { c =>
        val remedy = c.result.remedy.fold("")(r => s". Remedy: $r")
        Seq(c.cluster, c.name, c.result.status, c.result.message + remedy)
      }
    ).text

    override def exitCode: Int = if (ok) 0 else 1
  }

  /** The checks of one cluster. */
  private final class Examination(
      context: Context,
      cluster: Cluster,
      known: KnownCluster,
      writeTest: Option[String]
  ) {
    private val configs = ClusterConfigs(context.catalog.reading, Set(cluster.id))
    private val config = configs(cluster.id, cluster.properties)

    def checks: Seq[Check] = addresses match {
      case Left(wrong) => Check.run(cluster.id, _ => wrong)
      case Right(servers) =>
        val network = new Network(servers, math.min(config.attemptMs, Int.MaxValue.toLong).toInt)
        Using.resource(new Brokers(config))(brokers =>
          Check.run(cluster.id, name => safely(check(name, network, brokers)))
        )
    }

    private def addresses: Either[Finding, Seq[(String, Int)]] = {
      // Kafka's own class, which resolves the references.
      def resolved = Try(new AdminClientConfig(config.properties.admin.asJava)
        .getList(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG).asScala.mkString(","))
      unresolved.toLeft(()).flatMap(_ => resolved.toEither.left.map(reason))
        .left.map(Finding.failed(_, "correct the properties of the cluster"))
        .flatMap(BrokerSocket.addresses(_).toRight(
          Finding.failed("bootstrap.servers is not host:port", "correct bootstrap.servers")
        ))
    }

    /** Kafka does not name the property, and keeps a reference to a variable or a key that does not exist. */
    private def unresolved: Option[String] = {
      val properties = config.properties.admin
      val areDefault = ClientDefaults.configProviders.forall { case (name, value) =>
        properties.get(name).contains(value)
      }
      properties.toSeq.sorted.filter(_ => areDefault).flatMap { case (name, value) =>
        Try(SecretReferences.resolve(Map(name -> value))).failed.toOption.map(e =>
          s"the reference of '$name' cannot be resolved: ${Redaction.scrub(e.getMessage, properties)}"
        )
      }.headOption
    }

    private def check(name: String, network: Network, brokers: Brokers): Finding = name match {
      case "dns" => network.dns
      case "tcp" => network.tcp
      case "tls" => brokers.tls(network.speaksTls)
      case "login" => brokers.login(network.speaksTls)
      case "versions" => network.versions(brokers.hasTls)
      case "advertised" =>
        val found = network.advertised(brokers.advertised)
        if (found.isFailed) found else brokers.unanswered.getOrElse(found)
      case _ if brokers.unanswered.isDefined => Finding.skipped("behind 'advertised'")
      case "topics" => known.topics(brokers.topics(cluster.topics, cluster.patterns))
      case "groups" => brokers.groups(cluster.properties.get("group.id"))
      case "transactional_ids" =>
        writeTest.fold(Finding.skipped("only by the command, with --write-test TOPIC"))(
          brokers.transactionalIds(_, configs.producer(cluster.id, cluster.properties))
        )
      case "cluster_id" => brokers.clusterId(known.clusterId)
      // "transaction_timeout"
      case _ => brokers.transactionTimeout(cluster.properties.get("transaction.timeout.ms"))
    }

    private def safely(check: => Finding): Finding =
      try check
      catch { case NonFatal(e) => Finding("failed", reason(e)) }

    private def reason(e: Throwable) =
      FailureText.of(Redaction.scrub(e, config.properties.client ++ config.properties.admin))
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
      streams.flatMap(_.entries).filter(_._2.state != ClusterMetadata.Removed)
    entries.map(_._1).distinct.map { id =>
      val here = entries.collect { case (`id`, entry) => entry }
      Cluster(
        id,
        here.head.properties,
        here.flatMap(_.named).distinct,
        here.flatMap(e => Option(e.topicPattern)).distinct
      )
    }
  }

  /**
   * What the checkpoint of a query says.
   *
   * @param kafkaId the `cluster.id` of Kafka, if it is known
   * @param policy the `replacedClusterPolicy` of the query
   * @param isMigrated whether `migrate` has written the positions, and the query has not run since
   * @param missingTopics topics of such positions that no stream has
   */
  private final case class KnownCluster(
      kafkaId: Option[String] = None,
      policy: String = "fail",
      isMigrated: Boolean = false,
      missingTopics: Seq[String] = Nil
  ) {

    /** Whether this is the Kafka cluster that the query has read. */
    def clusterId(found: String): Finding = kafkaId match {
      case _ if isMigrated =>
        Finding.warning(
          s"$found; whether the query has read it is not known: migrated checkpoints have no cluster.id",
          "compare bootstrap.servers with kafka.bootstrap.servers of the former query"
        )
      case None => Finding.ok(found)
      case Some(`found`) => Finding.ok(s"$found, as in the checkpoint")
      case Some(other) if policy != "fail" =>
        Finding.warning(
          s"$found, but the checkpoint has read $other: replacedClusterPolicy=$policy decides where the query continues",
          "look at what 'plan' says"
        )
      case Some(other) => Finding.failed(
          s"$found, but the checkpoint has read $other",
          "correct bootstrap.servers; if the cluster was replaced, see replacedClusterPolicy"
        )
    }

    /** Adds the topics that the first start would miss. */
    def topics(found: Finding): Finding =
      if (missingTopics.isEmpty) found
      else {
        val lacking =
          s"no stream has ${missingTopics.mkString(", ")} of the migrated checkpoint: MIGRATION_MISMATCH"
        Finding.failed(
          if (found.status == "ok") lacking else s"${found.message}; $lacking",
          found.remedy.getOrElse("add the topic to a stream of the query")
        )
      }
  }

  /** The checks by cluster, also of clusters that the metadata lack. */
  private def knownOf(
      context: Context,
      checkpoint: String,
      streams: Seq[KafkaStream]
  ): (Map[String, KnownCluster], Seq[Check]) = {
    val log = SparkCheckpoint(checkpoint, context.hadoop)
    val all = log.composite(log.newest).map { case (source, offset) =>
      val stored = log.source(source)
      val topology = stored.topology
      if (stored.initial.isEmpty && topology.isEmpty && offset.identities.isEmpty) {
        val migrated = QueryClusters.migrated(offset, streams)
        val lacking = migrated.missingClusters
        val known = offset.clusters.keys.filterNot(lacking.contains).map(id =>
          id -> KnownCluster(isMigrated = true, missingTopics = migrated.missingTopics(id))
        )
        known.toMap -> lacking.flatMap(lackingChecks(_, migrated.suggestion))
      } else {
        val policy = topology.getOrElse(RememberedTopology.empty).replacedClusterPolicy
        offset.identities.map { case (id, of) => id -> KnownCluster(of.kafkaId, policy) }.toMap -> Nil
      }
    }
    all.flatMap(_._1).toMap -> all.flatMap(_._2)
  }

  private def lackingChecks(id: String, suggestion: Option[String]): Seq[Check] = Check.run(
    id,
    {
      case "cluster_id" => Finding.failed(
          "no stream has this cluster of the migrated checkpoint: MIGRATION_MISMATCH." +
            suggestion.fold("")(Errors.meant),
          "give it its id of the metadata, with rename-cluster"
        )
      case _ => Finding.skipped("no stream has the cluster")
    }
  )
}

/**
 * Names and ports of brokers, without a Kafka client. Nothing but the versions of requests is asked, so that no certificate has to be
 * trusted.
 *
 * @param servers hosts and ports
 * @param timeoutMs the time limit of a connection, and of a response
 */
private[admin] final class Network(servers: Seq[(String, Int)], timeoutMs: Int) {

  /** The version of the request for metadata with topic ids, in Kafka 2.8. */
  private val WithTopicIds = 10

  def dns: Finding = {
    val unknown = servers.map(_._1).distinct.filterNot(BrokerSocket.resolves)
    of(unknown.size, "names resolve", s"no address for ${unknown.mkString(", ")}")(
      "correct bootstrap.servers, or the name server of this machine"
    )
  }

  def tcp: Finding = {
    val bad = unreachable(servers)
    of(bad.size, "addresses accept connections", s"no connection to ${bad.mkString("; ")}")(
      "start the broker, correct the port, or open the firewall"
    )
  }

  /** Whether the addresses can be reached by which brokers want to be reached. */
  def advertised(addresses: Seq[(String, Int)]): Finding = {
    val bad = unreachable(addresses)
    if (bad.isEmpty) Finding.ok(s"${addresses.size} of ${addresses.size} brokers can be reached")
    else Finding.failed(
      s"brokers want to be reached at ${bad.mkString("; ")}",
      "correct advertised.listeners of the brokers, or the names and routes of this machine"
    )
  }

  /** Whether a port that should be without TLS answers with it. */
  def speaksTls: Boolean =
    servers.headOption.exists(address => Try(BrokerSocket.handshake(address, timeoutMs)).isSuccess)

  /** Kafka answers this before a log-in. */
  def versions(hasTls: Boolean): Finding = {
    val answers = servers.iterator.map(address =>
      Try(BrokerSocket.using(address, hasTls, timeoutMs)(BrokerSocket.newestMetadata))
    )
    answers.collectFirst { case Success(newest) => newest } match {
      case None => Finding("warning", "the broker does not say which requests it supports")
      case Some(newest) if newest < WithTopicIds =>
        Finding.warning(
          "the broker is older than Kafka 2.8, without topic ids: a recreated topic may not be recognized",
          "update the brokers"
        )
      case Some(newest) => Finding.ok(s"Kafka 2.8 or later (Metadata up to version $newest)")
    }
  }

  private def of(bad: Int, good: String, message: String)(remedy: String) =
    if (bad == 0) Finding.ok(s"${servers.size} of ${servers.size} $good")
    else if (bad < servers.size) Finding.warning(message, remedy)
    else Finding.failed(message, remedy)

  private def unreachable(addresses: Seq[(String, Int)]): Seq[String] =
    for {
      (host, port) <- addresses.distinct
      reason <- UnansweredAddresses.refusal((host, port), timeoutMs)
    } yield s"$host:$port ($reason)"
}
