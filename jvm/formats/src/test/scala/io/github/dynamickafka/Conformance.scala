package io.github.dynamickafka

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

/** The cases in `tests/conformance`, some of which pytest also reads. */
object Conformance {
  private val mapper = new ObjectMapper

  /** All cases of a folder of `tests/conformance`. */
  def cases(kind: String): Seq[JsonNode] = {
    val folder = Path.of(sys.props("dynamickafka.root"), "tests", "conformance", kind)
    val files =
      Using.resource(Files.walk(folder))(_.iterator.asScala.filter(_.toString.endsWith(".json")).toSeq)
    files.sorted.flatMap(file => mapper.readTree(Files.readString(file)).elements.asScala)
  }

  /** The elements of a JSON array of strings. */
  def texts(array: JsonNode): Seq[String] = array.elements.asScala.map(_.asText).toSeq
}
