package io.github.dynamickafka

import java.{util => ju}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.spark.sql.streaming.{DataStreamWriter, StreamingQuery}
import org.apache.spark.sql.{DataFrame, Row}

import io.github.dynamickafka.build.BuildInfo
import io.github.dynamickafka.config.{
  ClusterScope,
  OffsetsFunctions,
  OptionCheck,
  SinkOptionSpecs,
  SourceOptionSpecs
}
import io.github.dynamickafka.error.{Errors, PythonServiceException}
import io.github.dynamickafka.metadata.document.MetadataDocument
import io.github.dynamickafka.metadata.service.ServiceRegistry
import io.github.dynamickafka.metadata.{KafkaMetadataService, KafkaStream}
import io.github.dynamickafka.page.DriverPage
import io.github.dynamickafka.sink.StreamWriter
import io.github.dynamickafka.source.realtime.RealTimeQueries

/**
 * The only class that the Python package refers to by name. Everything else goes through the options of the data
 * source.
 *
 * Python gets the instance from the field `MODULE$`, through the context class loader, which has the jars of
 * `--packages`.
 */
private[dynamickafka] object PythonApi {

  /** The version of the build. The Python package rejects a jar of a different version. */
  def version(): String = BuildInfo.version

  /** The Spark minor that this jar was built for, such as `4.0`. */
  def sparkLine(): String = BuildInfo.sparkLine

  /**
   * Registers a metadata service written in Python in this JVM.
   *
   * @return the value of the option `metadataService.handle`
   */
  def register(service: PythonMetadataService): String =
    ServiceRegistry.register(new JsonMetadataService(service))

  /** Registers a function written in Python for the text `function:<handle>` of the options. */
  def registerOffsets(handle: String, function: PythonOffsetsFunction): Unit =
    OffsetsFunctions.register(handle, new JsonOffsetsFunction(function))

  /**
   * Checks an option where Python's builder sets it.
   *
   * @param cluster null: the option is not of one cluster
   */
  def check(writes: Boolean, cluster: String, name: String, value: String): Unit = {
    val table = if (writes) SinkOptionSpecs.table else SourceOptionSpecs.table
    OptionCheck(Option(cluster).fold(name)(ClusterScope.option(_, name, table)), value, table)
  }

  /** Spark's writer of a streaming DataFrame, with the sink of the mode that its trigger selects. */
  def streamWriter(frame: DataFrame): DataStreamWriter[Row] = new StreamWriter(frame)

  /** Stops a query: `DynamicKafka.stop`. */
  def stop(query: StreamingQuery): Unit = RealTimeQueries.stop(query)

  /** `DynamicKafka.uiAddress`; null if there is no page. */
  def uiAddress(): String = DriverPage.ofJar.address.orNull

  /** Does not close the service, because Python owns it. */
  def unregister(handle: String): Unit = ServiceRegistry.unregister(handle)
}

/** Adapts a function written in Python that determines offsets. */
private[dynamickafka] final class JsonOffsetsFunction(python: PythonOffsetsFunction)
    extends ((String, String, Seq[Int]) => Map[Int, Long]) {
  import JsonOffsetsFunction._

  override def apply(cluster: String, topic: String, partitions: Seq[Int]): Map[Int, Long] = {
    val answer =
      try python.offsets(cluster, topic, mapper.writeValueAsString(partitions.asJava))
      catch { case NonFatal(e) => throw new PythonServiceException(JsonMetadataService.pythonText(e), e) }
    // Python has checked the types.
    mapper.readTree(answer).properties.asScala.map(e => e.getKey.toInt -> e.getValue.longValue).toMap
  }
}

private object JsonOffsetsFunction {
  private val mapper = new ObjectMapper
}

/**
 * Adapts a metadata service written in Python to the SPI.
 *
 * A call cannot be interrupted while Python code runs. The time limit of the watcher does not rely on interruption.
 */
private[dynamickafka] final class JsonMetadataService(python: PythonMetadataService)
    extends KafkaMetadataService {
  import JsonMetadataService._

  override def getAllStreams(): ju.Set[KafkaStream] = {
    val document = parse(called("get_all_streams")(python.getAllStreams()), "get_all_streams")
    new ju.LinkedHashSet(document.values.toSeq.asJava)
  }

  override def describeStreams(streamIds: ju.Collection[String]): ju.Map[String, KafkaStream] = {
    val ids = mapper.writeValueAsString(streamIds)
    val document = parse(called("describe_streams")(python.describeStreams(ids)), "describe_streams")
    new ju.LinkedHashMap(document.asJava)
  }

  override def isClusterActive(clusterId: String): Boolean =
    called("is_cluster_active")(python.isClusterActive(clusterId))

  override def close(): Unit = called("close")(python.close())

  private def parse(json: String, method: String): Map[String, KafkaStream] = {
    val origin = s"the return value of $method()"
    if (json == null) throw Errors.metadataInvalid(origin, "it is None")
    MetadataDocument.parse(json, origin)
  }

  private def called[A](method: String)(call: => A): A =
    try call
    catch { case NonFatal(e) => throw new PythonServiceException(s"$method() raised ${pythonText(e)}", e) }
}

private[dynamickafka] object JsonMetadataService {
  private val mapper = new ObjectMapper

  /**
   * The last line of the Python exception, such as `ValueError: no such table`, without the traceback that py4j
   * includes. A text without traceback is returned unchanged.
   */
  private[dynamickafka] def pythonText(e: Throwable): String = {
    val text = Option(e.getMessage).getOrElse(e.toString)
    val lines = text.replace("\\n", "\n").linesIterator.toVector
    val lastFrame = lines.lastIndexWhere(_.startsWith("  File \""))
    if (lastFrame < 0) text
    else lines.drop(lastFrame).dropWhile(_.startsWith("  ")).mkString("\n").trim
  }
}

/**
 * The interface that a metadata service written in Python implements over py4j. It passes streams as JSON in the format
 * of the metadata file, so that a call takes one round trip.
 */
private[dynamickafka] trait PythonMetadataService {

  /** Returns `{"version": 1, "clusters": {...}, "streams": {...}}` with all streams. */
  def getAllStreams(): String

  /** Returns the same format, with the existing streams of these ids. */
  def describeStreams(idsAsJsonArray: String): String

  def isClusterActive(id: String): Boolean

  def close(): Unit
}

/** The interface that Python implements over py4j for a function of `OffsetsInitializer.of`. */
private[dynamickafka] trait PythonOffsetsFunction {

  /** Returns the offsets by partition, as a JSON object. */
  def offsets(cluster: String, topic: String, partitionsAsJsonArray: String): String
}
