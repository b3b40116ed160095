package io.github.dynamickafka.metadata.document

import scala.collection.mutable

import io.github.dynamickafka.metadata.document.DocumentTree._

/**
 * A value in a metadata document with its place. Every accessor returns what its name says or fails with the place; a part that
 * fails is left out of what contains it, so that the problems of all parts are found. Problems name keys, and never print a value
 * that could be a secret.
 *
 * @param line 1-based; for a value of a mapping the line of its key
 */
private[metadata] final class DocumentNode(
    node: DocumentTree,
    problems: Problems,
    val line: Int,
    val place: Place
) {
  import DocumentNode._

  def fail(reason: String): Nothing = throw new Fault(Problem(Some(line), place, reason))

  /** As `fail`, if what is read has a value all the same. */
  def report(reason: String): Unit = problems.error(Problem(Some(line), place, reason))

  def warn(reason: => Option[String]): Unit = problems.warn(line, place)(reason)

  def attempt[A](read: => A): Option[A] = problems.attempt(read)

  /** None: a part has a problem. */
  def whole[A](read: => A): Option[A] = problems.whole(read)

  /** The values of a mapping whose keys are given. */
  def fields(known: Seq[String]): Fields = {
    val all = pairs.map { case (name, keyLine, value) =>
      val field = new DocumentNode(value, problems, keyLine, place.at(Place.Key, name))
      if (!known.contains(name)) field.report(
        s"there is no such key here, the keys are ${list(known)}.${Names.didYouMean(name, known)}"
      )
      name -> field
    }
    new Fields(this, all.toMap)
  }

  /** What is made of the values of a mapping whose keys are the user's names for things of one kind, in the document's order. */
  def items[A](kind: String)(read: (String, DocumentNode) => A): Seq[(String, A)] =
    pairs.flatMap { case (name, keyLine, value) =>
      val item = new DocumentNode(value, problems, keyLine, below(kind, name))
      attempt(read(name, item)).map(name -> _)
    }

  def elements[A](read: DocumentNode => A): Seq[A] = node match {
    case sequence: Sequence =>
      sequence.elements.flatMap(e => attempt(read(new DocumentNode(e, problems, e.line, place))))
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

  /** Whether it is a list or a mapping without an entry. */
  def isEmpty: Boolean = node match {
    case mapping: Mapping => mapping.pairs.isEmpty
    case sequence: Sequence => sequence.elements.isEmpty
    case _ => false
  }

  /** This node under a name that its own content gives it, as entries of a list have. */
  def as(kind: String, key: String): DocumentNode = node match {
    case Mapping(_, all) =>
      all.collectFirst { case (name, Scalar(_, Text | Number | Truth, id)) if name.value == key => id }
        .fold(this)(id => new DocumentNode(node, problems, line, below(kind, id)))
    case _ => this
  }

  private def below(kind: String, name: String) =
    if (OfUsers(kind)) place.in(kind, name) else place.at(kind, name)

  private def pairs: Seq[(String, Int, DocumentTree)] = node match {
    case mapping: Mapping =>
      val seen = mutable.LinkedHashMap.empty[String, (String, Int, DocumentTree)]
      mapping.pairs.foreach { case (key, value) =>
        seen.get(key.value) match {
          case Some((_, first, _)) =>
            val reason = s"key '${key.value}' is given twice, first at line $first"
            problems.error(Problem(Some(key.line), place, reason))
          case None => seen.put(key.value, (key.value, key.line, value))
        }
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
  private val OfUsers = Set(Place.Stream, Place.Cluster, "property")

  def root(node: DocumentTree, problems: Problems): DocumentNode =
    new DocumentNode(node, problems, node.line, Place())

  private def list(names: Seq[String]): String = names.map(n => s"'$n'").mkString(", ")
}

/** The values of a mapping by their keys. A value that cannot be read is as if it were missing, and its problem is known. */
private[metadata] final class Fields(node: DocumentNode, all: Map[String, DocumentNode]) {

  def node(key: String): Option[DocumentNode] = all.get(key)

  def get[A](key: String)(read: DocumentNode => A): Option[A] =
    all.get(key).flatMap(value => value.attempt(read(value)))

  /** @param hint what to write */
  def required[A](key: String, hint: String = "")(read: DocumentNode => A): Option[A] = {
    if (!all.contains(key)) node.report(s"'$key' is missing$hint")
    get(key)(read)
  }
}
