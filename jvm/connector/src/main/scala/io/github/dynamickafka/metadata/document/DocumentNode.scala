package io.github.dynamickafka.metadata.document

import java.util.regex.{Pattern, PatternSyntaxException}

import scala.collection.mutable
import scala.util.control.NoStackTrace

import io.github.dynamickafka.metadata.ClusterMetadata
import io.github.dynamickafka.metadata.document.DocumentTree._
import io.github.dynamickafka.option.Suggestions

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
  def fail(reason: String): Nothing = throw new Fault(Problem(Some(line), place, reason))

  /** The value, unless there is a problem with it. */
  def checked[A](value: A)(problem: A => Option[String]): A = {
    problem(value).foreach(fail)
    value
  }

  /** Adds an error, where `fail` would throw it: what is read has a value all the same. */
  def report(reason: String): Unit = problems.error(Problem(Some(line), place, reason))

  def warn(reason: => Option[String]): Unit = problems.warn(line, place)(reason)

  def attempt[A](read: => A): Option[A] = problems.attempt(read)

  /** None: a part has a problem. */
  def whole[A](read: => A): Option[A] = problems.whole(read)

  /** The values of a mapping whose keys are given. */
  def fields(known: Seq[String]): Fields = {
    val all = children(place.at(Place.Key, _))
    all.foreach { case (name, field) =>
      if (!known.contains(name)) field.report(
        s"there is no such key here, the keys are ${known.map(n => s"'$n'").mkString(", ")}." +
          Suggestions.didYouMean(name, known)
      )
    }
    new Fields(this, all.toMap)
  }

  /** What is made of the values of a mapping whose keys are the user's names for things of one kind, in the document's order. */
  def items[A](kind: String)(read: (String, DocumentNode) => A): Seq[(String, A)] =
    children(place.at(kind, _)).flatMap { case (name, item) => attempt(read(name, item)).map(name -> _) }

  def elements[A](read: DocumentNode => A): Seq[A] = node match {
    case sequence: Sequence =>
      sequence.elements.flatMap(e => attempt(read(new DocumentNode(e, problems, e.line, place))))
    case _ => isNot("a list")
  }

  /** Text. A number or a boolean instead of a name is usually a mistake. */
  def text: String = node match {
    case Scalar(_, Text, value) => value
    case Scalar(_, Number | Truth, _) => fail(s"must be text, but is $shape: put it in quotes")
    case _ => isNot("text")
  }

  /** Text, a number or a boolean as it is written: `1.50` stays `1.50`. */
  def scalar: String = node match {
    case Scalar(_, Text | Number | Truth, value) => value
    case _ => isNot("text, a number or true or false")
  }

  def truth: Boolean = node match {
    case Scalar(_, Truth, value) => value == "true"
    case _ => isNot("true or false")
  }

  def isList: Boolean = node.isInstanceOf[Sequence]
  def isMapping: Boolean = node.isInstanceOf[Mapping]

  /** Whether it is a list or a mapping without an entry. */
  def isEmpty: Boolean = node match {
    case Mapping(_, pairs) => pairs.isEmpty
    case Sequence(_, elements) => elements.isEmpty
    case _ => false
  }

  /** This node under a name that its own content gives it, as entries of a list have. */
  def as(kind: String, key: String): DocumentNode = node match {
    case Mapping(_, all) =>
      all.collectFirst { case (name, Scalar(_, Text | Number | Truth, id)) if name.value == key => id }
        .fold(this)(id => new DocumentNode(node, problems, line, place.at(kind, id)))
    case _ => this
  }

  /** The values of a mapping with their keys, and with the places that their keys give. */
  private def children(at: String => Place): Seq[(String, DocumentNode)] = node match {
    case mapping: Mapping =>
      val lines = mutable.Map.empty[String, Int]
      mapping.pairs.flatMap { case (Scalar(line, _, key), value) =>
        lines.get(key).foreach(first =>
          problems.error(Problem(Some(line), place, s"key '$key' is given twice, first at line $first"))
        )
        Option.when(lines.put(key, lines.getOrElse(key, line)).isEmpty)(
          key -> new DocumentNode(value, problems, line, at(key))
        )
      }
    case _ => isNot("a mapping")
  }

  private def isNot(wanted: String): Nothing = node match {
    case Scalar(_, Ambiguous, _) => fail(Ambiguous.reason)
    case _ => fail(s"must be $wanted, but is $shape")
  }

  private def shape: String = node match {
    case _: Mapping => "a mapping"
    case _: Sequence => "a list"
    case scalar: Scalar => scalar.kind.shape
  }
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

/**
 * An error or a warning about a document. The text names keys and ids, and never the value of a property.
 *
 * @param line 1-based; for a value of a mapping the line of its key. None: the whole document
 */
private[dynamickafka] final case class Problem(line: Option[Int], place: Place, reason: String) {

  /** `where: reason`, such as `line 14, stream 'orders', cluster 'blue', key 'state': ...` */
  def text: String = s"${where.fold("")(_ + ": ")}$reason"

  /** `file:line: place: reason`, which editors and terminals show as a link. */
  def textIn(file: String): String =
    (Some(line.fold(file)(n => s"$file:$n")) ++ place.shown ++ Some(reason)).mkString(": ")

  /** The line and the place. None: the whole document. */
  def where: Option[String] =
    Some((line.map(n => s"line $n") ++ place.shown).mkString(", ")).filter(_.nonEmpty)
}

/**
 * A place in a document, by the names that lead to it.
 *
 * @param path kinds and names: a stream, a cluster, keys of the format, and names of users below a key
 */
private[dynamickafka] final case class Place(path: Vector[(String, String)] = Vector.empty) {

  def stream: Option[String] = find(Place.Stream)
  def cluster: Option[String] = find(Place.Cluster)

  /** The key with the names below it, such as `starting_offsets.orders.0`; of a property its name. */
  def key: Option[String] = {
    val below = path.filterNot { case (kind, _) => kind == Place.Stream || kind == Place.Cluster }.map(_._2)
    Option.when(below.nonEmpty)(below.mkString("."))
  }

  def shown: Option[String] =
    Option.when(path.nonEmpty)(path.map { case (kind, name) => s"$kind '$name'" }.mkString(", "))

  /** A thing of users needs no key before it to be found. */
  def at(kind: String, name: String): Place =
    Place((if (Place.OfUsers(kind)) path.filterNot(_._1 == Place.Key) else path) :+ (kind -> name))

  private def find(kind: String) = path.collectFirst { case (`kind`, name) => name }
}

private[dynamickafka] object Place {
  val Stream = "stream"
  val Cluster = "cluster"
  val Key = "key"
  private val OfUsers = Set(Stream, Cluster, "property")
}

/** Collects the problems of a document while it is read. */
private[metadata] final class Problems {
  private val errors = mutable.ArrayBuffer.empty[Problem]

  /** A warning may need the whole document, and be expensive. */
  private val warnings = mutable.ArrayBuffer.empty[(Int, Place, () => Option[String])]

  def error(problem: Problem): Unit = errors += problem

  /** @param reason None: nothing is wrong. Called only if somebody asks for warnings */
  def warn(line: Int, place: Place)(reason: => Option[String]): Unit =
    warnings += ((line, place, () => reason))

  /** None: a problem, which is added. */
  def attempt[A](read: => A): Option[A] =
    try Some(read)
    catch {
      case fault: Fault =>
        error(fault.problem)
        None
    }

  /** None: problems are added meanwhile. */
  def whole[A](read: => A): Option[A] = {
    val before = errors.size
    Some(read).filter(_ => errors.size == before)
  }

  def allErrors: Seq[Problem] = inOrder(errors.toSeq)

  def allWarnings: Seq[Problem] = inOrder(warnings.toSeq.flatMap { case (line, place, reason) =>
    reason().map(Problem(Some(line), place, _))
  })

  private def inOrder(all: Seq[Problem]) = all.distinct.sortBy(_.line.getOrElse(0))
}

/** A problem after which the part of the document that is read has no value. */
private[document] final class Fault(val problem: Problem, cause: Throwable = null)
    extends RuntimeException(problem.reason, cause) with NoStackTrace

/** Rules for names, and suggestions for misspelled names. */
private[dynamickafka] object Names {

  /** Why a cluster cannot take the place of another one. */
  def replacesActive(former: String): String =
    s"it replaces cluster '$former', which is active in the same stream; set its 'state' to 'draining' or remove it"

  /** Why a cluster cannot have this state. */
  def badState(text: String): Option[String] = Option.unless(ClusterMetadata.States.contains(text))(
    s"'$text' is not a valid state, use 'active', 'draining' or 'removed'"
  )

  /** The names of the properties that differ: their values may be credentials. */
  def differing(one: Map[String, String], other: Map[String, String]): Seq[String] =
    (one.keySet ++ other.keySet).toSeq.sorted.filter(k => one.get(k) != other.get(k))

  /** The error in the regular expression of a topic pattern, if any. */
  def badPattern(text: String): Option[String] =
    if (text.isBlank) Some("must be a regular expression for whole topic names")
    else
      try {
        Pattern.compile(text)
        None
      } catch {
        case e: PatternSyntaxException =>
          Some(s"'$text' is not a valid regular expression: ${e.getDescription} near index ${e.getIndex}")
      }

  private val TopicRule =
    "a topic name has 1 to 249 letters, digits, '.', '_' or '-', and is neither '.' nor '..'"

  private val TopicName = "(?!\\.{1,2}$)[A-Za-z0-9._-]{1,249}".r

  /** Why there cannot be a topic of this name, by the rule of Kafka. */
  def badTopic(name: String): Option[String] =
    Option.unless(name != null && TopicName.matches(name))(s"'$name' is not a valid topic name: $TopicRule")

  /** An invalid value with the reason. JSON is omitted, because the reason contains the location in it. */
  def cannotBeUsed(text: String, reason: String): String =
    if (text.startsWith("{")) reason else s"'$text' is invalid: $reason"
}
