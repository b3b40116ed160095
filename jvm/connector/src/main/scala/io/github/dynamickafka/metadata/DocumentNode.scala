package io.github.dynamickafka.metadata

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.yaml.snakeyaml.nodes.{MappingNode, Node, NodeTuple, ScalarNode, SequenceNode, Tag}

import io.github.dynamickafka.error.Errors

/**
 * A value in a metadata document with its place. Every accessor returns what its name says or fails with the place.
 * Failures name keys, and never print a value that could be a secret.
 *
 * @param line 1-based; for a value of a mapping the line of its key
 * @param path the names that lead here, as the error text shows them
 */
private[metadata] final class DocumentNode(node: Node, origin: String, val line: Int, path: Vector[String]) {
  import DocumentNode._

  def fail(reason: String): Nothing = failAt(line, reason)

  private def failAt(at: Int, reason: String): Nothing =
    throw Errors.metadataInvalid((origin +: s"line $at" +: path).mkString(", "), reason)

  /** The values of a mapping whose keys are given, in the document's order. Another key fails. */
  def fields(known: Seq[String]): Map[String, DocumentNode] = {
    val found = pairs.map { case (name, keyLine, value) =>
      if (!known.contains(name)) {
        new DocumentNode(value, origin, keyLine, path :+ s"key '$name'")
          .fail(s"there is no such key here, the keys are ${list(known)}.${Names.didYouMean(name, known)}")
      }
      name -> new DocumentNode(value, origin, keyLine, path :+ s"key '$name'")
    }
    found.toMap
  }

  /** The values of a mapping whose keys are the user's names for things of one kind, in the document's order. */
  def items(kind: String): Seq[(String, DocumentNode)] =
    pairs.map { case (name, keyLine, value) =>
      name -> new DocumentNode(value, origin, keyLine, named(kind, name))
    }

  def elements: Seq[DocumentNode] = node match {
    case sequence: SequenceNode =>
      sequence.getValue.asScala.toSeq.map(e => new DocumentNode(e, origin, lineOf(e), path))
    case _ => isNot("a list")
  }

  /** Text: a number or a truth value in the place of a name is more often a mistake. */
  def text: String = node match {
    case scalar: ScalarNode if scalar.getTag == Tag.STR => scalar.getValue
    case scalar: ScalarNode if Plain(scalar.getTag) => fail(s"must be text, but is $shape: put it in quotes")
    case _ => isNot("text")
  }

  /** Text, a number or a truth value as it is written: `1.50` stays `1.50`. */
  def scalar: String = node match {
    case scalar: ScalarNode if Plain(scalar.getTag) => scalar.getValue
    case _ => isNot("text, a number or true or false")
  }

  /** `true` or `false`. */
  def truth: Boolean = node match {
    case scalar: ScalarNode if scalar.getTag == Tag.BOOL => scalar.getValue == "true"
    case _ => isNot("true or false")
  }

  def isList: Boolean = node.isInstanceOf[SequenceNode]
  def isMapping: Boolean = node.isInstanceOf[MappingNode]

  /** This node under a name that its own content gives it, as entries of a list have. */
  def as(kind: String, name: String): DocumentNode = new DocumentNode(node, origin, line, named(kind, name))

  private def named(kind: String, name: String): Vector[String] =
    path.filterNot(_.startsWith("key ")) :+ s"$kind '$name'"

  private def pairs: Seq[(String, Int, Node)] = node match {
    case mapping: MappingNode =>
      val seen = mutable.LinkedHashMap.empty[String, (String, Int, Node)]
      mapping.getValue.asScala.foreach { tuple =>
        val (name, keyLine) = (keyOf(tuple), lineOf(tuple.getKeyNode))
        seen.put(name, (name, keyLine, tuple.getValueNode))
          .foreach(first => failAt(keyLine, s"key '$name' is given twice, first at line ${first._2}"))
      }
      seen.values.toSeq
    case _ => isNot("a mapping")
  }

  /** A key is text, however it is written. */
  private def keyOf(tuple: NodeTuple): String = tuple.getKeyNode match {
    case key: ScalarNode if key.getValue == "<<" && key.isPlain => failAt(lineOf(key), StrictParser.MergeKeys)
    case key: ScalarNode if key.getTag != Tag.NULL => key.getValue
    case key => failAt(lineOf(key), "a key must be text")
  }

  private def isNot(wanted: String): Nothing =
    fail(if (node.getTag == StrictScalars.Ambiguous) StrictParser.Ambiguous
    else s"must be $wanted, but is $shape")

  private def shape: String = node match {
    case _: MappingNode => "a mapping"
    case _: SequenceNode => "a list"
    case _ =>
      node.getTag match {
        case Tag.NULL => "empty"
        case Tag.STR => "text"
        case Tag.INT | Tag.FLOAT => "a number"
        case _ => "true or false"
      }
  }
}

private[metadata] object DocumentNode {
  private val Plain = Set(Tag.STR, Tag.INT, Tag.FLOAT, Tag.BOOL)

  def root(node: Node, origin: String): DocumentNode =
    new DocumentNode(node, origin, lineOf(node), Vector.empty)

  private def lineOf(node: Node): Int = node.getStartMark.getLine + 1

  private def list(names: Seq[String]): String = names.map(n => s"'$n'").mkString(", ")
}
