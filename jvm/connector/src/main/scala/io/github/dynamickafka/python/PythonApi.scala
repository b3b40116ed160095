package io.github.dynamickafka.python

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.spark.sql.streaming.{DataStreamWriter, StreamingQuery}
import org.apache.spark.sql.{DataFrame, Row}

import io.github.dynamickafka.build.BuildInfo
import io.github.dynamickafka.config.OffsetsFunctions
import io.github.dynamickafka.error.PythonServiceException
import io.github.dynamickafka.metadata.service.ServiceRegistry
import io.github.dynamickafka.page.LivePage
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

  /** Spark's writer of a streaming DataFrame, with the sink of the mode that its trigger selects. */
  def streamWriter(frame: DataFrame): DataStreamWriter[Row] = new StreamWriter(frame)

  /** Stops a query: `DynamicKafka.stop`. */
  def stop(query: StreamingQuery): Unit = RealTimeQueries.stop(query)

  /** `DynamicKafka.uiAddress`; null if there is no page. */
  def uiAddress(): String = LivePage.address.orNull

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
