package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode

import io.github.dynamickafka.error.Errors

/**
 * Reads the sections of a composite offset.
 *
 * @param numbers reads the offsets of the partitions of a topic, given their node and its path
 */
private[offset] final class OffsetJsonReader(numbers: OffsetJsonReader.Partitions) {
  import OffsetJsonReader._

  def read(root: JsonNode): CompositeOffset = {
    fields(root).find { case (name, _) => !Sections(name) }.foreach { case (name, _) =>
      throw Errors.invalidOffset(s"unknown section '$name'")
    }
    if (!root.has("clusters")) throw Errors.invalidOffset("section 'clusters' is missing")
    // In the order in which they are written: packed offsets have their numbers in this order.
    val clusters = section(root, "clusters")(positions)
    val entered = section(root, "entered")(positions)
    CompositeOffset(
      clusters = clusters,
      entered = entered,
      retained = section(root, "retained")(retained),
      draining = section(root, "draining")(positions),
      ends = section(root, "ends")((topics, where) => byName(topics, where)(topicEnds)),
      identities = section(root, "identities")((_, _)).map { case (id, (entry, where)) =>
        def of(all: SortedMap[String, Positions]) = all.getOrElse(id, Positions.empty)
        id -> identity(entry, where, of(clusters), of(entered))
      },
      earlier = Option.when(root.has("earlier"))(array(root.get("earlier"), "earlier"))
        .fold(Vector.empty[EarlierEntries])(_.map { case (entry, where) => earlier(entry, where) }),
      history = section(root, "history")(number)
    )
  }

  private def earlier(entry: JsonNode, where: String): EarlierEntries = {
    known(entry, where, Set("batch", "entered", "epochs"))
    val entered = byName(required(entry, "entered", where), s"$where.entered")(positions)
    val epochsOf = Option(entry.get("epochs")).map(byName(_, s"$where.epochs")((_, _)))
      .getOrElse(SortedMap.empty[String, (JsonNode, String)])
    EarlierEntries(
      text(required(entry, "batch", where), s"$where.batch"),
      Entries(
        entered,
        epochsOf.map { case (id, (ofCluster, at)) =>
          id -> epochs(ofCluster, at, entered.getOrElse(id, Positions.empty))
        }
      )
    )
  }

  private def section[A](root: JsonNode, name: String)(read: (JsonNode, String) => A): SortedMap[String, A] =
    Option(root.get(name)).fold(SortedMap.empty[String, A])(byName(_, name)(read))

  private def retained(entry: JsonNode, where: String): Retained = {
    known(entry, where, Set("topics", "drained", "past"))
    def names(of: String) = entry.path(of).elements.asScala.map(_.asText).toSet
    Retained(
      byName(required(entry, "topics", where), s"$where.topics")(retainedTopic),
      names("drained"),
      names("past")
    )
  }

  private def retainedTopic(entry: JsonNode, where: String): RetainedTopic = {
    known(entry, where, Set("since", "id", "former", "offsets", "epochs"))
    val offsets = numbers(required(entry, "offsets", where), s"$where.offsets")
    RetainedTopic(
      number(entry.get("since"), s"$where.since"),
      offsets,
      Option(entry.get("id")).map(text(_, s"$where.id")),
      Option(entry.get("epochs")).fold(SortedMap.empty[Int, Long])(epochsOf(_, s"$where.epochs", offsets)),
      Option(entry.get("former")).map(former(_, s"$where.former"))
    )
  }

  private def former(entry: JsonNode, where: String): FormerCluster = {
    known(entry, where, Set("id", "cluster"))
    FormerCluster(
      text(required(entry, "id", where), s"$where.id"),
      Option(entry.get("cluster")).map(text(_, s"$where.cluster"))
    )
  }

  private def topicEnds(entry: JsonNode, where: String): TopicEnds = {
    known(entry, where, Set("by", "offsets"))
    if (!entry.path("by").isTextual) throw Errors.invalidOffset(s"text field 'by' is missing in $where")
    TopicEnds(entry.get("by").textValue, numbers(required(entry, "offsets", where), s"$where.offsets"))
  }

  private def identity(
      entry: JsonNode,
      where: String,
      positions: Positions,
      entered: Positions
  ): ClusterIdentity = {
    known(entry, where, Set("cluster", "topics", "epochs", "entered"))
    ClusterIdentity(
      Option(entry.get("cluster")).map(text(_, s"$where.cluster")),
      Option(entry.get("topics")).fold(SortedMap.empty[String, String])(byName(_, s"$where.topics")(text)),
      epochs(entry.get("epochs"), s"$where.epochs", positions),
      epochs(entry.get("entered"), s"$where.entered", entered)
    )
  }

  private def positions(node: JsonNode, where: String): Positions = Positions(byName(node, where)(numbers))
}

private[offset] object OffsetJsonReader {
  private val Sections =
    Set("version", "clusters", "entered", "retained", "draining", "ends", "identities", "earlier", "history")

  type Partitions = (JsonNode, String) => SortedMap[Int, Long]

  /** From a JSON object. */
  val plain: Partitions = (node, where) =>
    SortedMap.from(fields(obj(node, where)).map { case (partition, offset) =>
      val at = s"$where.$partition"
      partition.toIntOption.filter(_ >= 0).getOrElse {
        throw Errors.invalidOffset(s"'$partition' at $at is not a partition number")
      } -> number(offset, at)
    })

  private def epochs(node: JsonNode, where: String, positions: Positions): Positions =
    if (node == null) Positions.empty
    else
      Positions(fields(obj(node, where)).map { case (topic, epochs) =>
        topic -> epochsOf(epochs, s"$where.$topic", positions.of(topic))
      }.toSeq)

  /** One number for all partitions, or one for each in their order. */
  private def epochsOf(node: JsonNode, where: String, offsets: SortedMap[Int, Long]): SortedMap[Int, Long] =
    if (node.isArray && node.size == offsets.size)
      SortedMap.from(offsets.keysIterator.zip(node.elements.asScala).flatMap { case (p, number) =>
        Option.when(!number.isInt || number.intValue != OffsetJsonWriter.UnknownEpoch)(p -> epoch(
          number,
          where
        ))
      })
    else if (node.isArray)
      throw Errors.invalidOffset(s"$where has ${node.size} epochs for ${offsets.size} partitions")
    else {
      val all = epoch(node, where)
      offsets.transform((_, _) => all)
    }

  private def epoch(node: JsonNode, where: String): Long =
    if (node.isInt) number(node, where)
    else throw Errors.invalidOffset(s"$where is not a leader epoch: $node")

  private def byName[A](node: JsonNode, where: String)(read: (JsonNode, String) => A): SortedMap[String, A] =
    SortedMap.from(fields(obj(node, where)).map { case (name, below) =>
      name -> read(below, s"$where.$name")
    })

  private def array(node: JsonNode, where: String): Vector[(JsonNode, String)] =
    if (node.isArray) node.elements.asScala.zipWithIndex.map { case (e, i) => (e, s"$where[$i]") }.toVector
    else throw Errors.invalidOffset(s"$where is not a JSON array")

  private def known(entry: JsonNode, where: String, names: Set[String]): Unit =
    fields(obj(entry, where)).find { case (name, _) => !names(name) }.foreach {
      case (name, _) => throw Errors.invalidOffset(s"unknown field '$name' in $where")
    }

  private def required(entry: JsonNode, name: String, where: String): JsonNode =
    Option(entry.get(name)).getOrElse(throw Errors.invalidOffset(s"field '$name' is missing in $where"))

  private def obj(node: JsonNode, where: String): JsonNode =
    if (node.isObject) node else throw Errors.invalidOffset(s"$where is not a JSON object")

  private def text(node: JsonNode, where: String): String =
    if (node.isTextual && node.textValue.nonEmpty) node.textValue
    else throw Errors.invalidOffset(s"$where is not a text: $node")

  private def number(node: JsonNode, where: String): Long =
    if (node != null && node.isIntegralNumber && node.canConvertToLong && node.longValue >= 0) node.longValue
    else throw Errors.invalidOffset(s"$where is not an integer of at least 0: $node")

  private def fields(node: JsonNode): Iterator[(String, JsonNode)] =
    node.properties.iterator.asScala.map(e => e.getKey -> e.getValue)
}
