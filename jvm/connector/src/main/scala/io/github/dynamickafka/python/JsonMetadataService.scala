package io.github.dynamickafka.python

import java.{util => ju}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.ObjectMapper

import io.github.dynamickafka.error.{Errors, PythonServiceException}
import io.github.dynamickafka.metadata.document.MetadataDocument
import io.github.dynamickafka.metadata.{KafkaMetadataService, KafkaStream}

/**
 * Adapts a metadata service written in Python to the SPI.
 *
 * Its calls cannot be interrupted while Python code runs. The time limit of the watcher does not rely on interruption.
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
