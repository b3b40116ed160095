package io.github.dynamickafka.metadata.document

import scala.collection.mutable

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.document.DocumentTree._

/**
 * A value in a metadata document with its place. Every accessor returns what its name says or fails with the place.
 * Failures name keys, and never print a value that could be a secret.
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
    case _ => isNot("a list")
  }

  /** Text. A number or a boolean instead of a name is usually a mistake. */
  def text: String = node match {
    case scalar: Scalar if scalar.kind == Text => scalar.value
    case scalar: Scalar if Plain(scalar.kind) => fail(s"must be text, but is $shape: put it in quotes")
    case _ => isNot("text")
  }

  /** Text, a number or a boolean as it is written: `1.50` stays `1.50`. */
  def scalar: String = node match {
    case scalar: Scalar if Plain(scalar.kind) => scalar.value
    case _ => isNot("text, a number or true or false")
  }

  /** `true` or `false`. */
  def truth: Boolean = node match {
    case scalar: Scalar if scalar.kind == Truth => scalar.value == "true"
    case _ => isNot("true or false")
  }

  def isList: Boolean = node.isInstanceOf[Sequence]
  def isMapping: Boolean = node.isInstanceOf[Mapping]

  /** This node under a name that its own content gives it, as entries of a list have. */
  def as(kind: String, name: String): DocumentNode = new DocumentNode(node, origin, line, named(kind, name))

  private def named(kind: String, name: String): Vector[String] =
    path.filterNot(_.startsWith("key ")) :+ s"$kind '$name'"

  private def pairs: Seq[(String, Int, DocumentTree)] = node match {
    case mapping: Mapping =>
      val seen = mutable.LinkedHashMap.empty[String, (String, Int, DocumentTree)]
      mapping.pairs.foreach { case (key, value) =>
        seen.put(key.value, (key.value, key.line, value))
          .foreach(first => failAt(key.line, s"key '${key.value}' is given twice, first at line ${first._2}"))
      }
      seen.values.toSeq
    case _ => isNot("a mapping")
  }

  private def isNot(wanted: String): Nothing = node match {
    case Scalar(_, Ambiguous, _) => fail(StrictParser.Ambiguous)
    case _ => fail(s"must be $wanted, but is $shape")
  }

  private def shape: String = node match {
    case _: Mapping => "a mapping"
    case _: Sequence => "a list"
    case scalar: Scalar => scalar.kind.shape
  }
}

private[metadata] object DocumentNode {
  private val Plain = Set[Kind](Text, Number, Truth)

  def root(node: DocumentTree, origin: String): DocumentNode =
    new DocumentNode(node, origin, node.line, Vector.empty)

  private def list(names: Seq[String]): String = names.map(n => s"'$n'").mkString(", ")
}
