package io.github.dynamickafka.python

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.ObjectMapper

import io.github.dynamickafka.error.PythonServiceException

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
