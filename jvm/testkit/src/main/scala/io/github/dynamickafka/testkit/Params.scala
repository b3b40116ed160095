package io.github.dynamickafka.testkit

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode

/** The typed parameters of a request. The error for a missing parameter names it. */
private[testkit] final class Params(node: JsonNode) {
  def string(key: String): String = required(key).asText
  def int(key: String): Int = required(key).asInt
  def long(key: String): Long = required(key).asLong
  def double(key: String): Double = required(key).asDouble
  def boolean(key: String): Boolean = required(key).asBoolean
  def texts(key: String): Map[String, String] = texts(required(key))

  /** Empty if it is missing. */
  def strings(key: String): Seq[String] = optional(key).toSeq.flatMap(_.elements.asScala.map(_.asText))

  def ints(key: String): Seq[Int] = strings(key).map(_.toInt)

  /** Open by default. */
  def security: Security = optional("security").fold[Security](Security.Open) { node =>
    val params = new Params(node)
    params.string("kind") match {
      case "scram" => Security.Scram(params.texts("users"), params.boolean("acls"))
      case "mutual-tls" => Security.MutualTls(params.boolean("acls"))
      case other => throw new IllegalArgumentException(s"unknown security '$other'")
    }
  }

  def records(key: String): Seq[Record] = required(key).elements.asScala.map { record =>
    val params = new Params(record)
    Record(
      params.int("partition"),
      params.optional("key").map(_.asText),
      params.optional("value").map(_.asText).orNull,
      params.texts("headers"),
      params.optional("timestamp").map(_.asLong)
    )
  }.toSeq

  /** Two numbers, or None. */
  def range(key: String): Option[(Long, Long)] =
    optional(key).map(node => node.get(0).asLong -> node.get(1).asLong)

  /** None if the parameter is missing or null. */
  def optional(key: String): Option[JsonNode] = Option(node.get(key)).filterNot(_.isNull)

  private def required(key: String): JsonNode =
    optional(key).getOrElse(throw new IllegalArgumentException(s"the parameter '$key' is missing"))

  private def texts(node: JsonNode): Map[String, String] =
    node.properties.asScala.map(entry => entry.getKey -> entry.getValue.asText).toMap
}
