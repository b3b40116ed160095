package io.github.dynamickafka.metadata.document

import com.fasterxml.jackson.core.{
  JsonFactory,
  JsonParser,
  JsonProcessingException,
  JsonToken,
  StreamReadConstraints
}
import com.fasterxml.jackson.databind.ObjectMapper

import io.github.dynamickafka.metadata.document.DocumentTree._

/** JSON text to a tree, by the Jackson that Spark itself needs: with its lines, and with keys that are given twice. */
private[metadata] object JsonText {
  // A deeper document is left to YamlText, which names the line.
  private val factory = new JsonFactory()
    .setStreamReadConstraints(
      StreamReadConstraints.builder().maxNestingDepth(StrictParser.MaxDepth).build()
    )

  /** None if the text is no JSON. */
  def read(text: String): Option[DocumentTree] = {
    val parser = factory.createParser(text)
    try {
      val token = parser.nextToken()
      if (token == null) None else Some(tree(parser)).filter(_ => parser.nextToken() == null)
    } catch {
      // Its text quotes the document, where secrets are.
      case _: JsonProcessingException => None
    } finally parser.close()
  }

  /**
   * As text that every JSON library reads to the same values: numbers that one could round are text, which means the same in a document.
   */
  def write(tree: DocumentTree): String = tree match {
    case Mapping(_, all) =>
      all.map { case (name, value) => s"${quoted(name.value)}: ${write(value)}" }.mkString("{", ", ", "}")
    case Sequence(_, elements) => elements.map(write).mkString("[", ", ", "]")
    case Scalar(_, Truth, value) => value
    case Scalar(_, Number, value) if value.matches(Exact) => value
    case Scalar(_, Empty, _) => "null"
    case Scalar(_, _, value) => quoted(value)
  }

  private def quoted(text: String) = mapper.writeValueAsString(text)

  private val mapper = new ObjectMapper
  private val Exact = "0|-?[1-9][0-9]{0,14}"

  /** Of the parser's current token, up to its end. */
  private def tree(parser: JsonParser): DocumentTree = {
    val line = lineOf(parser)
    parser.currentToken match {
      case JsonToken.START_OBJECT =>
        val pairs = Iterator.continually(parser.nextToken()).takeWhile(_ != JsonToken.END_OBJECT).map { _ =>
          val key = Scalar(lineOf(parser), Text, parser.getText)
          parser.nextToken()
          key -> tree(parser)
        }.toVector
        Mapping(line, pairs)
      case JsonToken.START_ARRAY =>
        val elements = Iterator.continually(parser.nextToken()).takeWhile(_ != JsonToken.END_ARRAY)
          .map(_ => tree(parser)).toVector
        Sequence(line, elements)
      case token => Scalar(line, kindOf(token), parser.getText)
    }
  }

  private def kindOf(token: JsonToken): Kind = token match {
    case JsonToken.VALUE_STRING => Text
    case JsonToken.VALUE_TRUE | JsonToken.VALUE_FALSE => Truth
    case JsonToken.VALUE_NULL => Empty
    case _ => Number
  }

  private def lineOf(parser: JsonParser): Int = parser.currentTokenLocation.getLineNr
}
