package io.github.dynamickafka.metadata.document

import java.io.StringReader

import org.yaml.snakeyaml.LoaderOptions
import org.yaml.snakeyaml.composer.Composer
import org.yaml.snakeyaml.error.{MarkedYAMLException, YAMLException}
import org.yaml.snakeyaml.nodes.Node
import org.yaml.snakeyaml.parser.ParserImpl
import org.yaml.snakeyaml.reader.{ReaderException, StreamReader}

import io.github.dynamickafka.error.Errors

/**
 * YAML text to a tree, for the subset of YAML that `docs/metadata.md` describes. Nothing is constructed but nodes.
 *
 * The one user of snakeyaml, which comes with Spark's Kubernetes module and so is not on every class path.
 *
 * @param origin what the text is, for error texts
 */
private[document] final class YamlText(origin: String) {

  /** None if the text is empty. */
  def read(text: String): Option[DocumentTree] = {
    // snakeyaml applies its own limit only after it has read a scalar as a whole.
    if (text.length > YamlText.MaxCharacters)
      throw broken(1, s"it has more than ${YamlText.MaxCharacters} characters")
    try Option(compose(text)).map(new YamlExpansion(refuse).tree(_))
    catch {
      // Neither the exception itself nor as a cause: its text quotes the document, which holds secrets.
      case e: MarkedYAMLException => throw broken(e.getProblemMark.getLine + 1, problem(e))
      case e: ReaderException =>
        throw broken(text.take(e.getPosition).count(_ == '\n') + 1, "a character that is not allowed")
      case e: YAMLException =>
        throw Errors.metadataInvalid(origin, s"the document is not valid YAML or JSON: ${e.getMessage}")
    }
  }

  /** YAML allows a tab between tokens but not in an indentation, and parsers differ in where exactly. */
  def refuseTabs(text: String): Unit = {
    val tab = text.indexOf('\t')
    if (tab >= 0) throw refused(text.take(tab).count(_ == '\n') + 1, "a tab is not allowed, write spaces")
  }

  private def compose(text: String): Node = {
    val options = new LoaderOptions
    // The strict parser applies the limit, with a line.
    options.setNestingDepthLimit(2 * StrictParser.MaxDepth)
    // What aliases expand to has a limit of its own.
    options.setMaxAliasesForCollections(Int.MaxValue)
    val parser = new ParserImpl(new StreamReader(new StringReader(text)), options)
    val strict = new StrictParser(parser, (line, reason) => refuse(Some(line), reason))
    new Composer(strict, StrictScalars, options).getSingleNode
  }

  private def refuse(line: Option[Int], reason: String): Nothing =
    throw line.fold(Errors.metadataInvalid(origin, reason))(refused(_, reason))

  private def broken(line: Int, reason: String) =
    refused(line, s"the document is not valid YAML or JSON: $reason")

  private def refused(line: Int, reason: String) = Errors.metadataInvalid(s"$origin, line $line", reason)

  /** The problem without what could be a part of a value: in `password: !hunter2!x` snakeyaml sees a tag handle. */
  private def problem(e: MarkedYAMLException): String =
    e.getProblem.replaceFirst("(undefined tag handle)\\b.*", "$1")
}

private[document] object YamlText {
  private val MaxCharacters = new LoaderOptions().getCodePointLimit
}
