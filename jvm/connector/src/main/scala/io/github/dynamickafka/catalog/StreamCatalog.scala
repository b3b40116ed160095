package io.github.dynamickafka.catalog

import java.util.concurrent.TimeoutException
import java.util.concurrent.atomic.AtomicReference
import java.{util => ju}

import scala.jdk.CollectionConverters._
import scala.util.{Failure, Success, Try}

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.config.{SinkOptions, SourceOptionSpecs, SourceOptions}
import io.github.dynamickafka.error.{DynamicKafkaIllegalArgumentException, Errors, FailureText}
import io.github.dynamickafka.metadata.service.MetadataServices
import io.github.dynamickafka.metadata.watch.{AnswerCheck, LimitedCalls}
import io.github.dynamickafka.metadata.{KafkaMetadataService, KafkaStream, OffsetsPolicy}
import io.github.dynamickafka.option.{ClusterKeys, OptionName, OptionSpec, Suggestions}
import io.github.dynamickafka.sink.DynamicKafkaSinkTable
import io.github.dynamickafka.source.DynamicKafkaTable

/**
 * The streams of one metadata service. The service is created at the first use, and kept as long as the session, so that
 * it may keep its answers for `metadataService.ttlMs`.
 *
 * @param name the name of the catalog
 * @param settings see [[CatalogSettings]]
 * @param configuration returns that with which files are read
 */
private[dynamickafka] final class StreamCatalog(
    val name: String,
    settings: Map[String, String],
    configuration: () => Configuration
) {

  private val own = new CatalogSettings(Some(name), settings)

  /** The options of a read, without a stream. */
  lazy val reading: SourceOptions = {
    own.check()
    parsed(own.forReading("-", CaseInsensitiveStringMap.empty))
  }

  /**
   * The options of a query, without what delays a batch or makes it smaller: that decides nothing about clusters and topics.
   *
   * @param remembered what the checkpoint of the query has of its options
   */
  def readingAs(remembered: Map[String, String]): SourceOptions = {
    def is(name: String, specs: OptionSpec[_]*) = specs.exists(_.named(name))
    val (selecting, others) = SourceOptions.remembered(remembered).partition { case (name, _) =>
      is(name, SourceOptionSpecs.StreamIds, SourceOptionSpecs.StreamPattern)
    }
    val deciding = others.filterNot { case (name, _) =>
      is(name, SourceOptionSpecs.MinOffsetsPerTrigger, SourceOptionSpecs.Alignment)
    }
    own.check()
    parsed(own.reading(selecting, new CaseInsensitiveStringMap(deciding.asJava)))
  }

  /** The options of a write, without a stream. */
  def writing: SinkOptions = {
    own.check()
    SinkOptions.parse(own.forWriting("-", CaseInsensitiveStringMap.empty), isCatalogTable = true)
  }

  def hadoop: Configuration = configuration()

  lazy val service: KafkaMetadataService = MetadataServices.create(reading.metadata.service, hadoop)

  private lazy val lookup =
    new StreamLookup(service, reading.metadata.service.name, reading.metadata.discovery.callTimeoutMs)

  /** All streams, sorted by id. */
  def streams(): Seq[KafkaStream] = lookup.all()

  def format(stream: KafkaStream): String =
    parsed(stream.streamId, stream.getFormatOptions.asScala.toMap).records.format.value.format.name

  private def parsed(options: CaseInsensitiveStringMap): SourceOptions =
    DynamicKafkaTable.parse(options, isCatalogTable = true)

  private def parsed(stream: String, document: Map[String, String]): SourceOptions =
    try parsed(own.forReading(stream, CaseInsensitiveStringMap.empty, document))
    catch {
      case e: DynamicKafkaIllegalArgumentException if e.condition.endsWith(".MISSING_OPTION") =>
        throw Errors.missingOption(e.parameters("option"), s"${e.parameters("reason")} Stream '$stream'.")
    }

  def ids(): Seq[String] = streams().map(_.streamId)

  def has(stream: String): Boolean = lookup.stream(stream).isDefined

  /** The stream that the name of no stream probably means; None also if the service cannot list its streams. */
  def nearest(stream: String): Option[String] =
    Try(lookup.knownIds()).toOption.flatMap(ids => Suggestions.closest(stream, ids.filter(_ != stream)))

  /** None: the metadata service does not have the stream. Asks no Kafka cluster. */
  def table(stream: String): Option[StreamTable] = lookup.stream(stream).map { found =>
    val document = found.getFormatOptions.asScala.toMap
    val options = parsed(stream, document)
    val answer = new AnswerOnce(found, Clock.System)
    val read =
      DynamicKafkaTable.of(options, None, answer, ofTable = Some(own.forReading(stream, _, document)))
    val tableName = s"$name.$stream"
    new StreamTable(
      tableName,
      read,
      new DynamicKafkaSinkTable(read.schema(), own.forWriting(stream, _, document), Some(tableName), answer),
      StreamProperties.of(found, options.records.format.value.format.name)
    )
  }

  /** The stream as of a time, in microseconds since 1970-01-01 UTC. */
  def table(stream: String, asOf: Long): Option[Table] = table(stream).map(new PastTable(_, asOf))
}

/**
 * The answer of the metadata service with which a table was made, for the read or write of the same statement. It is used once,
 * and only soon: a DataFrame may be executed again, or later, and the streams may have changed.
 */
private[catalog] final class AnswerOnce(stream: KafkaStream, clock: Clock)
    extends (() => Option[KafkaStream]) {
  private val answer = new AtomicReference(Option(stream))
  private val since = clock.nanoTime()

  override def apply(): Option[KafkaStream] =
    answer.getAndSet(None).filter(_ => clock.nanoTime() - since < AnswerOnce.LimitNanos)
}

private[catalog] object AnswerOnce {
  val LimitNanos: Long = 10L * 1000 * 1000 * 1000
}

/**
 * A stream as of a time, for batch reads: of each partition the records before the first one with this timestamp or a later one, as
 * `endingTimestamp` has it.
 *
 * @param micros since 1970-01-01 UTC
 */
private[catalog] final class PastTable(table: StreamTable, micros: Long) extends Table with SupportsRead {
  import PastTable._

  override def name(): String = table.name()

  override def schema(): StructType = table.schema()

  override def properties(): ju.Map[String, String] = table.properties()

  override def capabilities(): ju.Set[TableCapability] = ju.EnumSet.of(TableCapability.BATCH_READ)

  override def newScanBuilder(ofQuery: CaseInsensitiveStringMap): ScanBuilder = {
    val query = ofQuery.asCaseSensitiveMap.asScala.toMap.filterNot { case (name, _) => isOfSpark(name) }
    query.find { case (name, _) => isEnding(name) }.foreach { case (name, value) =>
      throw Errors.invalidOption(
        name,
        value,
        "the query reads the table as of a time, which is where reading stops."
      )
    }
    val options =
      new CaseInsensitiveStringMap((query + (SourceOptionSpecs.EndingTimestamp.name -> ms.toString)).asJava)
    if (table.starting(options) == OffsetsPolicy.Latest)
      throw Errors.invalidOption(
        SourceOptionSpecs.StartingOffsets.name,
        "latest",
        "the query reads the table as of a time, and all records of that time are before the latest offsets. Read it WITH " +
          "('startingOffsets' = 'earliest')."
      )
    table.newScanBuilder(options)
  }

  /** Kafka's timestamps are milliseconds: the first one that is not before the time. */
  private def ms = math.max(0L, -Math.floorDiv(-micros, 1000L))
}

private[catalog] object PastTable {
  private def isEnding(name: String) = SourceOptionSpecs.Ending.exists(_.named(name)) ||
    OptionName.afterPrefix(name, OptionName.Cluster)
      .flatMap(ClusterKeys.endsWithOption(_, SourceOptionSpecs.table)).exists(option =>
        SourceOptionSpecs.Ending.contains(option._2)
      )

  /** Whether the option is the time itself, which Spark passes on as an option of `spark.read`. */
  private def isOfSpark(name: String) =
    SparkSession.active.conf.get("spark.sql.timeTravelTimestampKey").equalsIgnoreCase(name)
}

/**
 * Asks the metadata service for streams, once for each call, and never two calls at a time, as the SPI guarantees.
 * Thread-safe.
 *
 * @param name the name of the service, for errors
 * @param timeoutMs how long a call may take, in milliseconds
 */
private[dynamickafka] final class StreamLookup(service: KafkaMetadataService, name: String, timeoutMs: Long) {
  private val calls = new LimitedCalls(s"dynamic-kafka-catalog-$name", timeoutMs)
  @volatile private var listed = Option.empty[Seq[String]]

  /** @throws DynamicKafkaRuntimeException `METADATA_UNAVAILABLE` */
  def all(): Seq[KafkaStream] = {
    val found = answer("getAllStreams")(service.getAllStreams()).asScala.toSeq.sortBy(_.streamId)
    listed = Some(found.map(_.streamId))
    found
  }

  /** The ids of all streams as of the last answer, without a call if there was one: for suggestions. */
  def knownIds(): Seq[String] = listed.getOrElse(all().map(_.streamId))

  /** @return None if the service does not have the stream */
  def stream(id: String): Option[KafkaStream] = {
    val streams = answer("describeStreams")(service.describeStreams(ju.List.of(id)))
    Option(streams.get(id)).map(AnswerCheck.stream(id, _))
  }

  private[catalog] def isBusy: Boolean = calls.isBusy

  private def answer[A <: AnyRef](method: String)(call: => A): A = synchronized {
    val found = calls(_ => call) match {
      case Success(answer) => answer
      case Failure(late: TimeoutException) if calls.isBusy =>
        calls.interrupt()
        throw unavailable(late.getMessage, late)
      case Failure(e) => throw unavailable(FailureText.of(e), e)
    }
    if (found == null) throw Errors.metadataInvalid(s"the return value of $method", "it is null")
    found
  }

  private def unavailable(reason: String, cause: Throwable) =
    Errors.metadataUnavailable(name, failures = 1, reason, cause)
}
