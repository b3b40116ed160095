package io.github.dynamickafka.metadata

import java.{util => ju}

/** What both document formats have. */
private[metadata] object DocumentParts {

  val Bootstrap = "bootstrap.servers"

  def streamId(id: String, node: DocumentNode): String =
    if (id.isBlank) node.fail("a stream id must not be blank") else id

  def clusterId(id: String, node: DocumentNode): String =
    if (Names.isClusterId(id)) id else node.fail(s"'$id' is a bad id: ${Names.ClusterIdRule}")

  def topics(node: DocumentNode): ju.Collection[String] = {
    val found = new ju.LinkedHashSet[String]
    node.elements.foreach { element =>
      val topic = element.text
      if (!Names.isTopic(topic)) element.fail(s"'$topic' is a bad topic name: ${Names.TopicRule}")
      if (!found.add(topic)) element.fail(s"topic '$topic' is given twice")
    }
    if (found.isEmpty) node.fail("must name at least one topic")
    found
  }
}
