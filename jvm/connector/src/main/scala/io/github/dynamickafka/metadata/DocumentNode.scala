package io.github.dynamickafka.metadata

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.yaml.snakeyaml.nodes.{MappingNode, Node, NodeTuple, ScalarNode, SequenceNode, Tag}

import io.github.dynamickafka.error.Errors

/**
 * A value in a metadata document with its location. Every accessor returns a value of the requested type or fails with
 * the location. Errors contain keys, but no values that could be secrets.
 *
 * @param line 1-based; for a value of a mapping, the line of its key
 * @param path the path to this value, as shown in error messages
 */
private[metadata] final class DocumentNode(node: Node, origin: String, val line: Int, path: Vector[String]) {
  import DocumentNode._

  def fail(reason: String): Nothing = failAt(line, reason)

  private def failAt(at: Int, reason: String): Nothing =
    throw Errors.metadataInvalid((origin +: s"line $at" +: path).mkString(", "), reason)

  /** The values of a mapping with a fixed set of keys, in the order of the document. Fails for any other key. */
  def fields(known: Seq[String]): Map[String, DocumentNode] = {
    val found = pairs.map { case (name, keyLine, value) =>
      if (!known.contains(name)) {
        new DocumentNode(value, origin, keyLine, path :+ s"key '$name'")
          .fail(s"the key is unknown; valid keys are ${list(known)}.${Names.didYouMean(name, known)}")
      }
      name -> new DocumentNode(value, origin, keyLine, path :+ s"key '$name'")
    }
    found.toMap
  }

  /** The values of a mapping with user-defined keys of one kind, such as stream ids, in the order of the document. */
  def items(kind: String): Seq[(String, DocumentNode)] =
    pairs.map { case (name, keyLine, value) =>
      name -> new DocumentNode(value, origin, keyLine, named(kind, name))
    }

  def elements: Seq[DocumentNode] = node match {
    case sequence: SequenceNode =>
      sequence.getValue.asScala.toSeq.map(e => new DocumentNode(e, origin, lineOf(e), path))
    case _ => fail(s"must be a list, but is $shape")
  }

  /** A string. An unquoted number or date is rejected, because as a name it is usually a mistake. */
  def text: String = node match {
    case scalar: ScalarNode if scalar.getTag == Tag.STR => scalar.getValue
    case scalar: ScalarNode if Plain(scalar.getTag) => fail(s"must be text, but is $shape: put it in quotes")
    case _ => fail(s"must be text, but is $shape")
  }

  /** The source text of a string, number, boolean or date: `0123` remains `0123`, and `yes` remains `yes`. */
  def scalar: String = node match {
    case scalar: ScalarNode if Plain(scalar.getTag) => scalar.getValue
    case _ => fail(s"must be text, a number, true or false, but is $shape")
  }

  /**
   * `true` or `false`. Other boolean words of YAML 1.1 are strings in YAML 1.2, so they are rejected: a document must
   * have the same meaning for all parsers.
   */
  def truth: Boolean = node match {
    case scalar: ScalarNode if scalar.getTag == Tag.BOOL =>
      scalar.getValue match {
        case "true" => true
        case "false" => false
        case _ => fail("must be written as 'true' or 'false'")
      }
    case _ => fail(s"must be true or false, but is $shape")
  }

  def isList: Boolean = node.isInstanceOf[SequenceNode]
  def isMapping: Boolean = node.isInstanceOf[MappingNode]

  /** This node with a name from its own content in the path, for entries of a list. */
  def as(kind: String, name: String): DocumentNode = new DocumentNode(node, origin, line, named(kind, name))

  private def named(kind: String, name: String): Vector[String] =
    path.filterNot(_.startsWith("key ")) :+ s"$kind '$name'"

  private def pairs: Seq[(String, Int, Node)] = node match {
    case mapping: MappingNode => merged(mapping, Set.empty)
    case _ => fail(s"must be a mapping, but is $shape")
  }

  /** The keys of the mapping, then the keys that `<<` merges and the mapping does not have, as defined by YAML. */
  private def merged(mapping: MappingNode, within: Set[Node]): Seq[(String, Int, Node)] = {
    if (within(mapping)) fail("it is merged into itself")
    val (merges, own) = mapping.getValue.asScala.toSeq.partition(_.getKeyNode.getTag == Tag.MERGE)
    val seen = mutable.LinkedHashMap.empty[String, (String, Int, Node)]
    own.foreach { tuple =>
      val name = keyOf(tuple)
      val keyLine = lineOf(tuple.getKeyNode)
      seen.put(name, (name, keyLine, tuple.getValueNode))
        .foreach(first => failAt(keyLine, s"key '$name' is duplicate, first used at line ${first._2}"))
    }
    val brought = merges.map(_.getValueNode).flatMap {
      case one: MappingNode => Seq(one)
      case many: SequenceNode => many.getValue.asScala.toSeq.collect { case one: MappingNode => one }
      case other => failAt(lineOf(other), "'<<' must refer to a mapping")
    }
    brought.flatMap(merged(_, within + mapping)).foreach(entry => seen.getOrElseUpdate(entry._1, entry))
    seen.values.toSeq
  }

  private def keyOf(tuple: NodeTuple): String = tuple.getKeyNode match {
    case key: ScalarNode if Plain(key.getTag) => key.getValue
    case key => failAt(lineOf(key), "a key must be text")
  }

  private def shape: String = node match {
    case _: MappingNode => "a mapping"
    case _: SequenceNode => "a list"
    case _ =>
      node.getTag match {
        case Tag.NULL => "empty"
        case Tag.STR => "text"
        case Tag.INT | Tag.FLOAT => "a number"
        case Tag.BOOL => "true or false"
        case Tag.TIMESTAMP => "a date"
        case _ => "of a type that is not supported"
      }
  }
}

private[metadata] object DocumentNode {
  private val Plain = Set(Tag.STR, Tag.INT, Tag.FLOAT, Tag.BOOL, Tag.TIMESTAMP)

  def root(node: Node, origin: String): DocumentNode =
    new DocumentNode(node, origin, lineOf(node), Vector.empty)

  private def lineOf(node: Node): Int = node.getStartMark.getLine + 1

  private def list(names: Seq[String]): String = names.map(n => s"'$n'").mkString(", ")
}
