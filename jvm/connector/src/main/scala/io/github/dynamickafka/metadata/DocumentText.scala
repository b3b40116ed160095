package io.github.dynamickafka.metadata

import java.io.StringReader

import scala.util.matching.Regex

import org.yaml.snakeyaml.constructor.SafeConstructor
import org.yaml.snakeyaml.error.{MarkedYAMLException, YAMLException}
import org.yaml.snakeyaml.reader.ReaderException
import org.yaml.snakeyaml.{LoaderOptions, Yaml}

import io.github.dynamickafka.error.Errors

/**
 * Parses YAML or JSON text into nodes. Constructs nothing but nodes, so a tag cannot instantiate a class. The default
 * limits of SnakeYAML for size, depth and aliases apply.
 */
private[metadata] object DocumentText {

  /** @param origin the origin of the text for error messages, such as `file s3a://conf/streams.yaml` */
  def read(text: String, origin: String): DocumentNode = {
    val root =
      try new Yaml(new SafeConstructor(new LoaderOptions)).compose(new StringReader(plain(text)))
      catch {
        // The exception must not become the cause: its message quotes the document, which may contain secrets.
        case e: MarkedYAMLException => throw broken(origin, e.getProblemMark.getLine + 1, problem(e))
        case e: ReaderException =>
          throw broken(
            origin,
            text.take(e.getPosition).count(_ == '\n') + 1,
            "a character that is not allowed"
          )
        case e: YAMLException =>
          throw Errors.metadataInvalid(origin, s"the text is not valid YAML or JSON: ${e.getMessage}")
      }
    if (root == null) throw Errors.metadataInvalid(origin, "the document is empty")
    DocumentNode.root(root, origin)
  }

  private def broken(origin: String, line: Int, reason: String) =
    Errors.metadataInvalid(s"$origin, line $line", s"the text is not valid YAML or JSON: $reason")

  /** The problem without parts of values: in `password: *hunter2`, the parser takes the secret for an alias. */
  private def problem(e: MarkedYAMLException): String =
    e.getProblem
      .replaceFirst("(undefined alias|undefined tag handle|Global tag is not allowed)\\b.*", "$1")
      .replaceFirst("\\. \\(Do not .*", "")

  /** YAML 1.1 is a superset of JSON except for tabs and the escape `\/`, which some writers emit. */
  private def plain(text: String): String =
    if (!text.dropWhile(c => c.isWhitespace || c == '\uFEFF').headOption.exists("{[".contains(_))) text
    else
      Escape.replaceAllIn(
        text.replace('\t', ' '),
        m => Regex.quoteReplacement(if (m.matched == "\\/") "/" else m.matched)
      )

  private val Escape = """(?s)\\.""".r
}
