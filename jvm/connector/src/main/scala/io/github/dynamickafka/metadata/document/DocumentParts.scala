package io.github.dynamickafka.metadata.document

import java.{util => ju}

/** The common parts of both document formats. */
private[metadata] object DocumentParts {

  val Bootstrap = "bootstrap.servers"

  def streamId(id: String, node: DocumentNode): String =
    if (id.isBlank) node.fail("a stream id must not be blank") else id

  def clusterId(id: String, node: DocumentNode): String =
    if (Names.isClusterId(id)) id else node.fail(s"'$id' is not a valid cluster id: ${Names.ClusterIdRule}")

  def notBlank(node: DocumentNode): String = {
    val text = node.text
    if (text.isBlank) node.fail("must not be blank")
    text
  }

  def topics(node: DocumentNode): ju.Collection[String] = {
    val found = new ju.LinkedHashSet[String]
    node.elements.foreach { element =>
      val topic = element.text
      if (!Names.isTopic(topic)) element.fail(s"'$topic' is not a valid topic name: ${Names.TopicRule}")
      if (!found.add(topic)) element.fail(s"topic '$topic' is duplicate")
    }
    if (found.isEmpty) node.fail("must contain at least one topic")
    found
  }

  def partitions(node: DocumentNode): ju.Map[String, ju.Collection[Integer]] = {
    val found = new ju.LinkedHashMap[String, ju.Collection[Integer]]
    node.items("topic").foreach { case (topic, numbers) =>
      if (!Names.isTopic(topic)) numbers.fail(s"'$topic' is not a valid topic name: ${Names.TopicRule}")
      val distinct = new ju.LinkedHashSet[Integer]
      numbers.elements.foreach { element =>
        val number = element.scalar.toIntOption.filter(_ >= 0)
          .getOrElse(element.fail("must be a partition number of at least 0"))
        if (!distinct.add(number)) element.fail(s"partition $number is duplicate")
      }
      if (distinct.isEmpty) numbers.fail("must contain at least one partition")
      found.put(topic, distinct)
    }
    if (found.isEmpty) node.fail("must contain partitions of at least one topic")
    found
  }
}
