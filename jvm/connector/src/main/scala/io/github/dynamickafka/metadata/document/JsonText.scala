package io.github.dynamickafka.metadata.document

import com.fasterxml.jackson.core.{
  JsonFactory,
  JsonParser,
  JsonProcessingException,
  JsonToken,
  StreamReadConstraints
}

import io.github.dynamickafka.metadata.document.DocumentTree._

/** JSON text to a tree, by the Jackson that Spark itself needs: with its lines, and with keys that are given twice. */
private[document] object JsonText {
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
