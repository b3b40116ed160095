package io.github.dynamickafka.metadata.document

import java.{util => ju}

import scala.collection.immutable.VectorMap
import scala.jdk.CollectionConverters._

/** The common parts of both document formats. */
private[metadata] object DocumentParts {

  val Bootstrap = "bootstrap.servers"

  // As Kafka's clients read an entry of bootstrap.servers, and a port that exists.
  private val Address = """(?:[0-9A-Za-z%._-]*://)?\[?[0-9A-Za-z%._:-]+\]?:([0-9]{1,5})""".r
  private val LargestPort = 65535

  def streamId(id: String, node: DocumentNode): String =
    if (id.isBlank) node.fail("a stream id must not be blank") else id

  def clusterId(id: String, node: DocumentNode): String =
    if (Names.isClusterId(id)) id else node.fail(s"'$id' is not a valid cluster id: ${Names.ClusterIdRule}")

  def notBlank(node: DocumentNode): String = notBlank(node, node.text)

  private def notBlank(node: DocumentNode, text: String): String =
    if (text.isBlank) node.fail("must not be blank") else text

  /** Of `bootstrap.servers`. What a reference becomes is not known here. */
  def address(node: DocumentNode): String = {
    val text = notBlank(node, node.scalar)
    if (!text.contains("${")) text.split(",").map(_.trim).filter(_.nonEmpty).foreach(entry =>
      node.warn(Option.unless(entry match {
        case Address(port) => port.toInt <= LargestPort
        case _ => false
      })(s"'$entry' is not host:port, so that no client can connect"))
    )
    text
  }

  /** A stream without clusters is valid, because a metadata service may know it as such. */
  def warnWithoutClusters(stream: DocumentNode, clusters: Iterable[_]): Unit =
    stream.warn(Option.when(clusters.isEmpty)(
      "it has no cluster: polls of queries that read it fail, unless allowMissingStreams is true"
    ))

  def topics(node: DocumentNode): ju.Collection[String] = {
    val found = new ju.LinkedHashSet[String]
    node.elements { element =>
      val topic = element.text
      if (!Names.isTopic(topic)) element.fail(s"'$topic' is not a valid topic name: ${Names.TopicRule}")
      if (!found.add(topic)) element.fail(s"topic '$topic' is duplicate")
    }
    if (node.isEmpty) node.fail("must contain at least one topic")
    found
  }

  def partitions(node: DocumentNode): ju.Map[String, ju.Collection[Integer]] = {
    val found = node.items("topic") { (topic, numbers) =>
      if (!Names.isTopic(topic)) numbers.fail(s"'$topic' is not a valid topic name: ${Names.TopicRule}")
      val distinct = new ju.LinkedHashSet[Integer]
      numbers.elements { element =>
        val number = element.scalar.toIntOption.filter(_ >= 0)
          .getOrElse(element.fail("must be a partition number of at least 0"))
        if (!distinct.add(number)) element.fail(s"partition $number is duplicate")
      }
      if (numbers.isEmpty) numbers.fail("must contain at least one partition")
      distinct: ju.Collection[Integer]
    }
    if (node.isEmpty) node.fail("must contain partitions of at least one topic")
    found.to(VectorMap).asJava
  }
}
