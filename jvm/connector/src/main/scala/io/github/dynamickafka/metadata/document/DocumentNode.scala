package io.github.dynamickafka.metadata.document

import scala.collection.mutable

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.document.DocumentTree._

/**
 * A value in a metadata document and where it stands. Every accessor either gives what it says or fails with
 * the place; failures name keys but never print values of a kind that could be a secret.
 *
 * @param line 1-based; for a value of a mapping the line of its key
 * @param path the names that lead here, as the error text shows them
 */
private[metadata] final class DocumentNode(
    node: DocumentTree,
    origin: String,
    val line: Int,
    path: Vector[String]
) {
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
    case sequence: Sequence => sequence.elements.map(e => new DocumentNode(e, origin, e.line, path))
    case _ => fail(s"must be a list, but is $shape")
  }

  /** Text that is written as text: a number or a date that stands for a name is more often a slip. */
  def text: String = node match {
    case scalar: Scalar if scalar.kind == Text => scalar.value
    case scalar: Scalar if Plain(scalar.kind) => fail(s"must be text, but is $shape: put it in quotes")
    case _ => fail(s"must be text, but is $shape")
  }

  /** Text, a number, a truth value or a date, as it is written: `0123` stays `0123`, `yes` stays `yes`. */
  def scalar: String = node match {
    case scalar: Scalar if Plain(scalar.kind) => scalar.value
    case _ => fail(s"must be text, a number or true or false, but is $shape")
  }

  /**
   * `true` or `false`. YAML 1.1 has more words for them, which readers of YAML 1.2 take for text: they are refused, so
   * that a document means the same to all.
   */
  def truth: Boolean = node match {
    case scalar: Scalar if scalar.kind == Truth =>
      scalar.value match {
        case "true" => true
        case "false" => false
        case _ => fail("must be written 'true' or 'false'")
      }
    case _ => fail(s"must be true or false, but is $shape")
  }

  def isList: Boolean = node.isInstanceOf[Sequence]
  def isMapping: Boolean = node.isInstanceOf[Mapping]

  /** This node under a name that its own content gives it, as entries of a list have. */
  def as(kind: String, name: String): DocumentNode = new DocumentNode(node, origin, line, named(kind, name))

  private def named(kind: String, name: String): Vector[String] =
    path.filterNot(_.startsWith("key ")) :+ s"$kind '$name'"

  private def pairs: Seq[(String, Int, DocumentTree)] = node match {
    case mapping: Mapping => merged(mapping, Set.empty)
    case _ => fail(s"must be a mapping, but is $shape")
  }

  /** Own keys first, then what `<<` brings and the mapping has not itself, as YAML defines it. */
  private def merged(mapping: Mapping, within: Set[DocumentTree]): Seq[(String, Int, DocumentTree)] = {
    if (within(mapping)) fail("it is merged into itself")
    val (merges, own) = mapping.pairs.partition {
      case (key: Scalar, _) => key.kind == Merge
      case _ => false
    }
    val seen = mutable.LinkedHashMap.empty[String, (String, Int, DocumentTree)]
    own.foreach { case (key, value) =>
      val name = nameOf(key)
      seen.put(name, (name, key.line, value))
        .foreach(first => failAt(key.line, s"key '$name' is given twice, first at line ${first._2}"))
    }
    val brought = merges.map(_._2).flatMap {
      case one: Mapping => Seq(one)
      case many: Sequence => many.elements.collect { case one: Mapping => one }
      case other => failAt(other.line, "'<<' must name a mapping")
    }
    brought.flatMap(merged(_, within + mapping)).foreach(entry => seen.getOrElseUpdate(entry._1, entry))
    seen.values.toSeq
  }

  private def nameOf(key: DocumentTree): String = key match {
    case scalar: Scalar if Plain(scalar.kind) => scalar.value
    case _ => failAt(key.line, "a key must be text")
  }

  private def shape: String = node match {
    case _: Mapping => "a mapping"
    case _: Sequence => "a list"
    case scalar: Scalar => scalar.kind.shape
  }
}

private[metadata] object DocumentNode {
  private val Plain = Set[Kind](Text, Number, Truth, Date)

  def root(node: DocumentTree, origin: String): DocumentNode =
    new DocumentNode(node, origin, node.line, Vector.empty)

  private def list(names: Seq[String]): String = names.map(n => s"'$n'").mkString(", ")
}
