package io.github.dynamickafka.metadata.document

import scala.collection.immutable.VectorMap

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.KafkaStream

/**
 * The streams of a document: a file, an option, or the answer of a service in another language.
 *
 * @param streams by id, in the order of the document
 * @param invalid why other streams cannot be used, by id: an error of queries that select them
 */
private[dynamickafka] final case class MetadataDocument(
    streams: Map[String, KafkaStream],
    invalid: Map[String, Throwable] = Map.empty
)

private[dynamickafka] object MetadataDocument {

  /**
   * A document with all its problems.
   *
   * @param streams what the document says, and only if there are no errors
   * @param errors why the document is refused, by line
   * @param warnings what is accepted and probably a mistake, by line; empty if there are errors
   */
  final class Checked(val streams: Map[String, KafkaStream], val errors: Seq[Problem], problems: Problems) {
    lazy val warnings: Seq[Problem] = if (errors.isEmpty) problems.allWarnings else Nil
  }

  /**
   * Parses version 1 of the format or Flink's list of streams, in YAML or JSON.
   *
   * Parsing is strict, because a mistake in the document affects data: anything unknown fails with METADATA_INVALID,
   * which names the origin, the line, the stream, the cluster and the key, but no value of a property.
   */
  def parse(text: String, origin: String): MetadataDocument = MetadataDocument(accepted(check(text), origin))

  /** As `parse`, with all errors in place of the first one. */
  def check(text: String): Checked = check(DocumentText.tree(text))

  def check(tree: => DocumentTree): Checked = {
    val problems = new Problems
    val streams = problems.attempt {
      val root = DocumentNode.root(tree, problems)
      if (root.isList) FlinkDocument.streams(root) else DocumentV1.streams(root)
    }
    new Checked(streams.getOrElse(Nil).map(s => s.streamId -> s).to(VectorMap), problems.allErrors, problems)
  }

  def accepted(document: Checked, origin: String): Map[String, KafkaStream] = {
    refuse(document.errors, origin)
    document.streams
  }

  /** Reads another document, such as the properties in a column of a table. */
  private[metadata] def read[A](text: String, origin: String)(read: DocumentNode => A): A = {
    val problems = new Problems
    val found = problems.attempt(read(DocumentNode.root(DocumentText.tree(text), problems)))
    refuse(problems.allErrors, origin)
    found.getOrElse(throw new IllegalStateException("a document without a value has a problem"))
  }

  /** METADATA_INVALID with the first problem, and the others after it. */
  private def refuse(errors: Seq[Problem], origin: String): Unit = errors.headOption.foreach { first =>
    val others = errors.slice(1, MostErrors).map(other => s"\n  ${other.text}")
    val more = if (errors.size > MostErrors) s"\n  and ${errors.size - MostErrors} more errors" else ""
    throw Errors.metadataInvalid(
      first.where.fold(origin)(where => s"$origin, $where"),
      first.reason + others.mkString + more
    )
  }

  private val MostErrors = 5
}
