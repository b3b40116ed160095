package io.github.dynamickafka.latency

import scala.io.Source
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.node.ObjectNode
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

/** A program that responds to each line of JSON on stdin with one on stdout, until stdin ends. */
private[latency] object Conversation {
  private val mapper = new ObjectMapper

  def answer(): ObjectNode = mapper.createObjectNode()

  def texts(node: JsonNode): Seq[String] = node.elements.asScala.map(_.asText).toSeq

  /** @param respond an exception becomes the field `error` */
  def run(respond: JsonNode => ObjectNode): Unit =
    Source.stdin.getLines().foreach { line =>
      val answered =
        try respond(mapper.readTree(line))
        catch { case NonFatal(e) => answer().put("error", e.toString) }
      println(mapper.writeValueAsString(answered))
    }
}
