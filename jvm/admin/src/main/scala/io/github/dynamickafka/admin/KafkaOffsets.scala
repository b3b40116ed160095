package io.github.dynamickafka.admin

import java.time.Duration
import java.util.concurrent.{CompletableFuture, TimeUnit}
import java.{util => ju}

import scala.collection.concurrent.TrieMap
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal
import scala.util.{Failure, Try, Using}

import org.apache.kafka.clients.admin.OffsetSpec
import org.apache.kafka.clients.consumer.{ConsumerConfig, KafkaConsumer}
import org.apache.kafka.common.TopicPartition

import io.github.dynamickafka.base.{DaemonThreads, Redaction}
import io.github.dynamickafka.catalog.StreamProperties
import io.github.dynamickafka.config.{SourceOptionSpecs, SourceOptions}
import io.github.dynamickafka.kafka.{ClusterClient, ClusterFailure, KafkaProperties, Opening}
import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaStream, TopologyCluster}
import io.github.dynamickafka.offset.{CompositeOffset, LogKey}
import io.github.dynamickafka.source.checkpoint.{
  MigratedPositions,
  Refusal,
  RememberedTopology,
  SourceId,
  SparkCheckpoint
}
import io.github.dynamickafka.source.cluster.{ClusterConfig, ClusterConfigs, Futures}

/** Requests to the clusters of a catalog, each with a client of its own and the time limit of the catalog. Blocks. */
private[admin] object KafkaOffsets {

  /** Offsets of partitions; a failure is a [[Refusal]] that says why they are not known, without secrets. */
  type Answer = Map[TopicPartition, Try[Long]]

  def at(of: LogKey): TopicPartition = new TopicPartition(of.topic, of.partition)

  /** The partitions share one time limit, and the addresses of the cluster are asked once for all that have no answer. */
  def of(context: Context, config: ClusterConfig, specs: Map[TopicPartition, OffsetSpec]): Answer = {
    val end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(config.requestTimeoutMs.toLong)
    val answers = Try(withClient(context, config) { client =>
      client.offsets(specs, config.isolation).map { case (at, answer) =>
        at -> Try(answer.get(math.max(0L, end - System.nanoTime()), TimeUnit.NANOSECONDS).offset)
      }
    }).fold(e => specs.map { case (at, _) => at -> Failure(e) }, identity)
    val refusals = answers.values.collect { case Failure(e) => text(config, e) -> e }.toMap
      .map { case (text, e) => text -> Failure(new Refusal(located(config, text, e), e)) }
    answers.map {
      case (at, Failure(e)) => at -> refusals(text(config, e))
      case known => known
    }
  }

  /** Kafka's `cluster.id`, if the cluster has one. */
  def kafkaId(config: ClusterConfig, client: ClusterClient): Option[String] =
    Option(await(config, client.clusterId)).filter(_.nonEmpty)

  def await[A](config: ClusterConfig, answer: CompletableFuture[A]): A =
    answer.get(config.requestTimeoutMs, TimeUnit.MILLISECONDS)

  /**
   * @param of what the reason begins with
   * @throws Refusal if something fails
   */
  def using[A](context: Context, config: ClusterConfig, of: String = "")(use: ClusterClient => A): A =
    try withClient(context, config)(use)
    catch {
      case e: Refusal => throw e
      case NonFatal(e) => throw new Refusal(of + reason(config, e), e)
    }

  private def withClient[A](context: Context, config: ClusterConfig)(use: ClusterClient => A): A =
    Using.resource(context.connect(config))(use)

  /**
   * The average size of some records from an offset on; 0 if none is returned in time.
   *
   * @throws Refusal if something fails
   */
  def recordBytes(config: ClusterConfig, at: TopicPartition, offset: Long): Double =
    try Using.resource(new KafkaConsumer[Array[Byte], Array[Byte]](config.consumer.forConsumer)) { consumer =>
        consumer.assign(ju.List.of(at))
        consumer.seek(at, offset)
        val found = consumer.poll(Duration.ofMillis(config.attemptMs)).iterator.asScala.take(Sample)
        val sizes =
          found.map(r => math.max(0, r.serializedKeySize) + math.max(0, r.serializedValueSize)).toSeq
        if (sizes.isEmpty) 0.0 else sizes.sum.toDouble / sizes.size
      }
    catch { case NonFatal(e) => throw new Refusal(reason(config, e), e) }

  private val Sample = 100
  private val threads = new DaemonThreads("dynamic-kafka-procedure")

  /** The failure of a request, without secrets. */
  private def reason(config: ClusterConfig, e: Throwable): String = located(config, text(config, e), e)

  private def text(config: ClusterConfig, e: Throwable): String =
    ClusterFailure.explain(Futures.cause(e), config.requestTimeoutMs, properties(config))

  private def located(config: ClusterConfig, text: String, e: Throwable): String =
    s"${config.bootstrapServers}: ${ClusterFailure.located(text, Futures.cause(e), properties(config))}"

  private def properties(config: ClusterConfig) = config.properties.admin ++ config.properties.client

  /** Calls the function for all clusters at once, each on a thread of its own, because the functions wait. */
  def inParallel[A, B](all: Seq[A])(f: A => B): Seq[B] = Opening.answers(all, threads)(f)
}

/**
 * How the clusters of a query are reached: as the metadata and the settings of the catalog say, and otherwise as the checkpoint
 * says, which has no secrets. Thread-safe.
 */
private[admin] final class QueryClusters(context: Context, log: SparkCheckpoint, streams: Seq[KafkaStream]) {
  private type Properties = Map[String, String]

  def this(context: Context, log: SparkCheckpoint) = this(context, log, context.streams())

  private val described: Map[String, Properties] =
    streams.flatMap(_.entries).map { case (id, cluster) => id -> cluster.properties }.toMap
  private val read = TrieMap.empty[SourceId, RememberedTopology]

  /** What the source has stored of the clusters in its offsets. */
  def remembered(source: SourceId): RememberedTopology =
    read.getOrElseUpdate(source, log.source(source).topology.getOrElse(RememberedTopology.empty))

  /** The settings of the catalog, and what decides up to which offset the query reads. */
  def reading(source: SourceId): SourceOptions =
    context.catalog.readingAs(
      remembered(source).options.filter { case (name, _) =>
        name.endsWith(ConsumerConfig.ISOLATION_LEVEL_CONFIG)
      }.updated(SourceOptionSpecs.StreamIds.name, "-")
    )

  /** The reason if there is no address, or credentials are missing. */
  def config(source: SourceId, id: String, options: SourceOptions): Either[String, ClusterConfig] = {
    def resolve(properties: Properties) = ClusterConfigs(options, described.keySet + id)(id, properties)
    val stored =
      Seq(remembered(source).current, remembered(source).former).flatMap(_.clusters.get(id)).headOption
    val properties = (described.get(id), stored) match {
      case (Some(found), _) => Right(found)
      case (None, Some(cluster)) => complete(cluster, resolve(Map.empty).properties.client.keySet)
      case (None, None) => Left(s"neither the metadata nor the checkpoint has cluster '$id'")
    }
    properties.map(resolve).filterOrElse(
      _.bootstrapServers.nonEmpty,
      "the checkpoint has no address of this cluster, because the metadata has a reference instead"
    )
  }

  /** @param set the names of properties that the settings of the catalog have */
  private def complete(stored: TopologyCluster, set: collection.Set[String]): Either[String, Properties] = {
    def missing(names: Iterable[String]) =
      names.filterNot(name => set(KafkaProperties.canonical(name))).toSeq.sorted.mkString(", ")
    // Whoever writes the checkpoint would get what references stand for on this machine, or a file that a property names.
    val references = missing(stored.properties.collect { case (name, value) if value.contains("${") => name })
    val withheld = missing(stored.withheld)
    if (withheld.nonEmpty)
      Left(s"the cluster needs credentials ($withheld), which checkpoints do not contain")
    else if (references.nonEmpty) Left(
      s"the checkpoint has references ($references) for this cluster, which are resolved only if the metadata has them"
    )
    else Right(Redaction.storable(stored.properties))
  }
}

private[admin] object QueryClusters {

  /** What the first start with a checkpoint of `migrate` would miss in the metadata. */
  def migrated(start: CompositeOffset, streams: Seq[KafkaStream]): MigratedPositions = {
    val entries = streams.flatMap(_.entries).groupMap(_._1)(_._2)
    MigratedPositions(
      start,
      entries.map { case (id, of) => id -> ((topic: String) => of.exists(selects(_, topic))) },
      entries.values.flatten.flatMap(e => Option(e.replaces)).toSet
    )
  }

  private def selects(entry: ClusterMetadata, topic: String) =
    Option(entry.topicPattern).fold(StreamProperties.topics(entry).contains(topic))(topic.matches(_))
}
