package io.github.dynamickafka.metadata.document

import java.io.StringReader

import scala.util.matching.Regex

import org.yaml.snakeyaml.constructor.SafeConstructor
import org.yaml.snakeyaml.error.{MarkedYAMLException, YAMLException}
import org.yaml.snakeyaml.reader.ReaderException
import org.yaml.snakeyaml.{LoaderOptions, Yaml}

import io.github.dynamickafka.error.Errors

/**
 * YAML or JSON text to nodes. Nothing is constructed but nodes, so a tag can't name a class, and snakeyaml's
 * default limits on size, depth and aliases hold.
 */
private[metadata] object DocumentText {

  /** @param origin what the text is, for error texts: `file s3a://conf/streams.yaml` */
  def read(text: String, origin: String): DocumentNode = {
    val root =
      try new Yaml(new SafeConstructor(new LoaderOptions)).compose(new StringReader(plain(text)))
      catch {
        // Never the exception itself, nor as a cause: its text quotes the document, where secrets are.
        case e: MarkedYAMLException => throw broken(origin, e.getProblemMark.getLine + 1, problem(e))
        case e: ReaderException =>
          throw broken(
            origin,
            text.take(e.getPosition).count(_ == '\n') + 1,
            "a character that is not allowed"
          )
        case e: YAMLException =>
          throw Errors.metadataInvalid(origin, s"this is no YAML or JSON: ${e.getMessage}")
      }
    if (root == null) throw Errors.metadataInvalid(origin, "the document is empty")
    DocumentNode.root(root, origin)
  }

  private def broken(origin: String, line: Int, reason: String) =
    Errors.metadataInvalid(s"$origin, line $line", s"this is no YAML or JSON: $reason")

  /** The problem without what could be a piece of a value: `password: *hunter2` is an alias to the parser. */
  private def problem(e: MarkedYAMLException): String =
    e.getProblem
      .replaceFirst("(undefined alias|undefined tag handle|Global tag is not allowed)\\b.*", "$1")
      .replaceFirst("\\. \\(Do not .*", "")

  /** YAML 1.1 is nearly a superset of JSON: not of its tabs and of its `\/`, which some writers emit. */
  private def plain(text: String): String =
    if (!text.dropWhile(c => c.isWhitespace || c == '\uFEFF').headOption.exists("{[".contains(_))) text
    else
      Escape.replaceAllIn(
        text.replace('\t', ' '),
        m => Regex.quoteReplacement(if (m.matched == "\\/") "/" else m.matched)
      )

  private val Escape = """(?s)\\.""".r
}
