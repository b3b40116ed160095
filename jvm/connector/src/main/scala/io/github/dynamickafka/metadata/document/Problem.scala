package io.github.dynamickafka.metadata.document

import scala.collection.mutable
import scala.util.control.NoStackTrace

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
    (Seq(
      line.fold(file)(n => s"$file:$n")
    ) ++ Option.when(place.path.nonEmpty)(place.names.mkString(", ")) :+ reason)
      .mkString(": ")

  /** The line and the place. None: the whole document. */
  def where: Option[String] =
    Some((line.map(n => s"line $n").toSeq ++ place.names).mkString(", ")).filter(_.nonEmpty)
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

  def names: Seq[String] = path.map { case (kind, name) => s"$kind '$name'" }

  def at(kind: String, name: String): Place = Place(path :+ (kind -> name))

  /** Below a thing that needs no key before it to be found. */
  def in(kind: String, name: String): Place = Place(path.filterNot(_._1 == Place.Key) :+ (kind -> name))

  private def find(kind: String) = path.collectFirst { case (`kind`, name) => name }
}

private[dynamickafka] object Place {
  val Stream = "stream"
  val Cluster = "cluster"
  val Key = "key"
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
