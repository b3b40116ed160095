package io.github.dynamickafka.metadata.document

import scala.collection.immutable.VectorMap
import scala.util.matching.Regex

import com.fasterxml.jackson.core.{
  JsonFactory,
  JsonParser,
  JsonProcessingException,
  JsonToken,
  StreamReadConstraints
}
import com.fasterxml.jackson.databind.ObjectMapper

import io.github.dynamickafka.build.BuildInfo
import io.github.dynamickafka.metadata.document.DocumentTree._
import io.github.dynamickafka.option.NamedClass

/** What a metadata document consists of, whatever format it is written in. Lines are 1-based. */
private[metadata] sealed trait DocumentTree {
  def line: Int

  /** What these keys lead to. */
  final def at(path: String*): Option[DocumentTree] = path.foldLeft(Option(this)) {
    case (Some(Mapping(_, pairs)), key) =>
      pairs.collectFirst { case (name, value) if name.value == key => value }
    case _ => None
  }

  /** The fields of a mapping under a key. */
  final def fields(key: String): VectorMap[String, DocumentTree] =
    at(key).collect { case Mapping(_, pairs) => pairs }.getOrElse(Nil)
      .map { case (name, value) => name.value -> value }.to(VectorMap)
}

private[metadata] object DocumentTree {
  final case class Mapping(line: Int, pairs: Seq[(Scalar, DocumentTree)]) extends DocumentTree
  final case class Sequence(line: Int, elements: Seq[DocumentTree]) extends DocumentTree

  /** @param value as it is written in the document, without quotes and escapes */
  final case class Scalar(line: Int, kind: Kind, value: String) extends DocumentTree

  sealed abstract class Kind(val shape: String)
  case object Text extends Kind("text")
  case object Number extends Kind("a number")
  case object Truth extends Kind("true or false")
  case object Empty extends Kind("empty")

  /** Text to YAML 1.1 or to YAML 1.2, but not to both. */
  case object Ambiguous extends Kind("ambiguous") {
    val reason: String =
      "YAML 1.1 and YAML 1.2 differ about this unquoted value: put it in quotes, or write true, false or a decimal number"
  }
}

/** YAML or JSON text to nodes. JSON needs nothing beside Spark, YAML needs snakeyaml. */
private[document] object DocumentText {
  val MaxDepth = 50

  /** Throws [[Fault]]. */
  def tree(text: String): DocumentTree = {
    val content = text.stripPrefix("\uFEFF")
    val json = if (isBracketed(content)) JsonText.read(content) else None
    // What is not quite JSON may still be YAML, whose parser also names the line of an error.
    json.getOrElse {
      NamedClass.missing("org.yaml.snakeyaml.Yaml").foreach(refuse(
        None,
        "the document is not JSON, and YAML requires snakeyaml, which is not on the class path. Write the document in JSON, or " +
          s"add 'org.yaml:snakeyaml:${BuildInfo.snakeyaml}', for example to spark.jars.packages",
        _
      ))
      if (!isBracketed(content)) YamlText.refuseTabs(content)
      YamlText.read(if (isBracketed(content)) jsonAsYaml(content, slash = "/") else content)
        .getOrElse(refuse(None, "the document is empty"))
    }
  }

  def isBracketed(text: String): Boolean =
    text.dropWhile(c => c == '\uFEFF' || c.isWhitespace).headOption.exists("{[".contains(_))

  /** JSON has tabs between tokens and the escape `\/`, which YAML 1.1 does not have. */
  def jsonAsYaml(text: String, slash: String): String =
    Escape.replaceAllIn(
      text.replace('\t', ' '),
      m => Regex.quoteReplacement(if (m.matched == "\\/") slash else m.matched)
    )

  def refuse(line: Option[Int], reason: String, cause: Throwable = null): Nothing =
    throw new Fault(Problem(line, Place(), reason), cause)

  private val Escape = """(?s)\\.""".r
}

/** JSON text to a tree, by the Jackson that Spark itself needs: with its lines, and with keys that are given twice. */
private[metadata] object JsonText {
  // A deeper document is left to YamlText, which names the line.
  private val factory = new JsonFactory()
    .setStreamReadConstraints(
      StreamReadConstraints.builder().maxNestingDepth(DocumentText.MaxDepth).build()
    )

  /** None if the text is no JSON. */
  def read(text: String): Option[DocumentTree] = {
    val parser = factory.createParser(text)
    try
      Option(parser.nextToken()).map(_ => tree(parser)).filter(_ => parser.nextToken() == null)
    catch {
      // The text of the exception quotes the document, where secrets are.
      case _: JsonProcessingException => None
    } finally parser.close()
  }

  /**
   * The tree as text that every JSON library reads to the same values: numbers that one could round are text, which means the same here.
   */
  def write(tree: DocumentTree): String = write(tree, quoted) {
    case Scalar(_, Truth, value) => value
    case Scalar(_, Number, value) if value.matches(Exact) => value
    case Scalar(_, Empty, _) => "null"
    case Scalar(_, _, value) => quoted(value)
  }

  /** The tree as text, with keys and scalars as these functions write them. */
  def write(tree: DocumentTree, key: String => String)(scalar: Scalar => String): String = tree match {
    case Mapping(_, all) =>
      all.map { case (name, value) => s"${key(name.value)}: ${write(value, key)(scalar)}" }
        .mkString("{", ", ", "}")
    case Sequence(_, elements) => elements.map(write(_, key)(scalar)).mkString("[", ", ", "]")
    case one: Scalar => scalar(one)
  }

  def quoted(text: String): String = mapper.writeValueAsString(text)

  val mapper = new ObjectMapper
  private val Exact = "0|-?[1-9][0-9]{0,14}"

  /** Reads the parser's current token, up to its end. */
  private def tree(parser: JsonParser): DocumentTree = {
    def until[A](end: JsonToken)(read: => A) =
      Iterator.continually(parser.nextToken()).takeWhile(_ != end).map(_ => read).toVector
    val line = parser.currentTokenLocation.getLineNr
    def scalar(kind: Kind) = Scalar(line, kind, parser.getText)
    parser.currentToken match {
      case JsonToken.START_OBJECT => Mapping(
          line,
          until(JsonToken.END_OBJECT) {
            val key = Scalar(parser.currentTokenLocation.getLineNr, Text, parser.getText)
            parser.nextToken()
            key -> tree(parser)
          }
        )
      case JsonToken.START_ARRAY => Sequence(line, until(JsonToken.END_ARRAY)(tree(parser)))
      case JsonToken.VALUE_STRING => scalar(Text)
      case JsonToken.VALUE_TRUE | JsonToken.VALUE_FALSE => scalar(Truth)
      case JsonToken.VALUE_NULL => scalar(Empty)
      case _ => scalar(Number)
    }
  }
}
