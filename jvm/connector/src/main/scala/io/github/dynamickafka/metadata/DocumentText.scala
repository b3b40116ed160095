package io.github.dynamickafka.metadata

import java.io.StringReader

import scala.util.matching.Regex

import org.yaml.snakeyaml.LoaderOptions
import org.yaml.snakeyaml.composer.Composer
import org.yaml.snakeyaml.error.{MarkedYAMLException, YAMLException}
import org.yaml.snakeyaml.parser.ParserImpl
import org.yaml.snakeyaml.reader.{ReaderException, StreamReader}

import io.github.dynamickafka.error.Errors

/**
 * YAML or JSON text to nodes, for the subset of YAML that `docs/metadata.md` describes. Nothing is constructed but
 * nodes.
 */
private[metadata] object DocumentText {

  /** @param origin what the text is, for error texts: `file s3a://conf/streams.yaml` */
  def read(text: String, origin: String): DocumentNode = {
    // snakeyaml applies its own limit only after it has read a scalar as a whole.
    if (text.length > MaxCharacters) throw broken(origin, 1, s"it has more than $MaxCharacters characters")
    val isJson = text.dropWhile(c => c.isWhitespace || c == '\uFEFF').headOption.exists("{[".contains(_))
    if (!isJson) refuseTabs(text, origin)
    val root =
      try compose(if (isJson) withoutJsonSpecials(text) else text, origin)
      catch {
        // Neither the exception itself nor as a cause: its text quotes the document, which holds secrets.
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

  private def compose(text: String, origin: String) = {
    val options = new LoaderOptions
    // The parser below applies the limit, with a line.
    options.setNestingDepthLimit(2 * StrictParser.MaxDepth)
    val parser = new ParserImpl(new StreamReader(new StringReader(text)), options)
    val strict = new StrictParser(parser, (line, reason) => throw refused(origin, line, reason))
    new Composer(strict, StrictScalars, options).getSingleNode
  }

  /** YAML allows a tab between tokens but not in an indentation, and parsers differ in where exactly. */
  private def refuseTabs(text: String, origin: String): Unit = {
    val tab = text.indexOf('\t')
    if (tab >= 0)
      throw refused(origin, text.take(tab).count(_ == '\n') + 1, "a tab is not allowed, write spaces")
  }

  private def broken(origin: String, line: Int, reason: String) =
    refused(origin, line, s"this is no YAML or JSON: $reason")

  private def refused(origin: String, line: Int, reason: String) =
    Errors.metadataInvalid(s"$origin, line $line", reason)

  /** The problem without what could be a part of a value: in `password: !hunter2!x` snakeyaml sees a tag handle. */
  private def problem(e: MarkedYAMLException): String =
    e.getProblem.replaceFirst("(undefined tag handle)\\b.*", "$1")

  /** JSON has tabs between tokens and the escape `\/`, which YAML 1.1 does not have. */
  private def withoutJsonSpecials(text: String): String =
    Escape.replaceAllIn(
      text.replace('\t', ' '),
      m => Regex.quoteReplacement(if (m.matched == "\\/") "/" else m.matched)
    )

  private val MaxCharacters = new LoaderOptions().getCodePointLimit
  private val Escape = """(?s)\\.""".r
}
