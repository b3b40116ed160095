package io.github.dynamickafka.metadata.document

import java.io.StringReader
import java.util.regex.Pattern

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import org.yaml.snakeyaml.DumperOptions.{FlowStyle, ScalarStyle}
import org.yaml.snakeyaml.LoaderOptions
import org.yaml.snakeyaml.composer.Composer
import org.yaml.snakeyaml.nodes.{MappingNode, Node, NodeId, ScalarNode, SequenceNode, Tag}
import org.yaml.snakeyaml.parser.ParserImpl
import org.yaml.snakeyaml.reader.StreamReader

import io.github.dynamickafka.metadata.document.DocumentTree._

/**
 * The text of a valid document: where its parts are, and what is written to change them. The cases are in `tests/conformance/edits`.
 */
private[document] final class WrittenDocument(text: String) {
  import WrittenDocument._

  private val isJson =
    text.dropWhile(c => c == '\uFEFF' || c.isWhitespace).headOption.exists("{[".contains(_))
  private val endOfLine = if (text.contains("\r\n")) "\r\n" else "\n"

  /** Without JSON's escape `\/`, which YAML 1.1 does not have; tabs are as long as spaces. */
  private val composed =
    if (isJson) SlashEscape.matcher(text.replace('\t', ' ')).replaceAll("$1$2") else text.replace('\t', ' ')

  /** Where the text of the parser has lost a backslash, by the code points of that text. */
  private val shifts: Array[Int] =
    if (!isJson) Array.empty
    else {
      val found = SlashEscape.matcher(text)
      Iterator.continually(found).takeWhile(_.find()).zipWithIndex
        .map { case (m, n) => text.codePointCount(0, m.end(1)) - n }.toArray
    }

  private val root: Node = {
    val options = new LoaderOptions
    options.setMaxAliasesForCollections(Int.MaxValue)
    options.setNestingDepthLimit(2 * StrictParser.MaxDepth)
    new Composer(
      new ParserImpl(new StreamReader(new StringReader(composed)), options),
      StrictScalars,
      options
    )
      .getSingleNode
  }

  /** The entries of a stream, by cluster id, that are written at the stream itself. */
  def entries(stream: String): Map[String, Pair] =
    Seq("streams", stream, "clusters").foldLeft(Option(root)) { (node, name) =>
      node.flatMap(own(_).get(name)).filter(_.alias.isEmpty).map(_.value)
    }.fold(Map.empty[String, Pair])(own)

  /** Sets the state of a cluster of a stream. */
  def withState(entry: Pair, state: String): Replacement = entry.alias match {
    case Some((start, end)) =>
      Replacement(start, end, s"{<<: ${text.substring(start, end)}, state: $state}")
    case None => own(entry.value).get("state") match {
        case Some(pair) => scalar(pair, state)
        case None => added(mapping(entry.value), pairs(entry.value), "state", word(state))
      }
  }

  /** Adds an entry after the one of another cluster, with these keys of it. */
  def withEntry(stream: String, old: String, added: String, expanded: DocumentTree, keys: Set[String])
      : Replacement = {
    val path = Seq("streams", stream, "clusters")
    val parent = path.foldLeft(root)((node, name) => own(node)(name).value)
    val source = (path :+ old).foldLeft(expanded)((tree, name) => child(tree, name))
    val taken = source match {
      case Mapping(line, all) => Mapping(line, all.filter(pair => keys(pair._1.value)))
      case other => other
    }
    val all = pairs(parent)
    val at = all.indexWhere(_.key.getValue == old)
    this.added(mapping(parent), all.take(at + 1), added, flow(taken), after = true)
  }

  /** The entries of a mapping, without those that are merged into it. */
  private def own(node: Node): Map[String, Pair] =
    pairs(node).filterNot(pair => pair.key.getValue == "<<" && pair.key.isPlain)
      .map(pair => pair.key.getValue -> pair).toMap

  private def pairs(node: Node): Seq[Pair] = node match {
    case mapping: MappingNode => mapping.getValue.asScala.toSeq.map { tuple =>
        val key = tuple.getKeyNode.asInstanceOf[ScalarNode]
        Pair(key, tuple.getValueNode, alias(end(key)))
      }
    case _ => Nil
  }

  private def alias(from: Int): Option[(Int, Int)] = {
    val found = Alias.matcher(text).region(from, text.length)
    Option.when(found.lookingAt())((found.start(1), found.end(1)))
  }

  private def scalar(pair: Pair, word: String): Replacement = pair.alias match {
    case Some((from, to)) => Replacement(from, to, word)
    case None =>
      val node = pair.value.asInstanceOf[ScalarNode]
      val anchor = Anchor.matcher(text).region(start(node), text.length)
      val from = if (anchor.lookingAt()) anchor.end() else start(node)
      val quote = node.getScalarStyle match {
        case ScalarStyle.SINGLE_QUOTED => "'"
        case ScalarStyle.DOUBLE_QUOTED => "\""
        case _ => ""
      }
      Replacement(from, end(node), s"$quote$word$quote")
  }

  /**
   * Adds an entry to a mapping after one of these, preferably the last one.
   *
   * @param among its entries, or the first of them
   * @param after whether it has to follow the last one, however many lines that has
   */
  private def added(
      mapping: MappingNode,
      among: Seq[Pair],
      name: String,
      value: String,
      after: Boolean = false
  ): Replacement = {
    val written = s"${word(name)}: $value"
    if (mapping.getFlowStyle == FlowStyle.FLOW) {
      val at = end(among.last)
      val first = start(among.last.key)
      val indent = first - startOfLine(first)
      val isAlone = indent > 0 && text.substring(startOfLine(first), first).forall(_.isWhitespace)
      if (isAlone && restOfLine(at).forall(c => ", \t".contains(c)))
        Replacement(at, at, s",$endOfLine${" " * indent}$written")
      else Replacement(at, at, s", $written")
    } else {
      val first = start(among.head.key)
      val line = " " * (first - startOfLine(first)) + written
      val candidates = if (after) Seq(among.last) else among.reverse
      candidates.map(pair => pair -> end(pair))
        .collectFirst {
          case (pair, at) if after || lineOf(at) == lineOf(start(pair.key)) => lineAfter(at, line)
        }
        .getOrElse(Replacement(startOfLine(first), startOfLine(first), line + endOfLine))
    }
  }

  private def lineAfter(at: Int, line: String): Replacement = {
    val end = at + restOfLine(at).length
    if (end == text.length) Replacement(end, end, endOfLine + line)
    else {
      val next = end + (if (text.startsWith(endOfLine, end)) endOfLine.length else 1)
      Replacement(next, next, line + endOfLine)
    }
  }

  private def end(pair: Pair): Int = pair.alias.fold(endOf(pair.value))(_._2)

  /** Where the text of a node ends; the mark of a block is at what follows it. */
  private def endOf(node: Node): Int = node match {
    case mapping: MappingNode if mapping.getFlowStyle != FlowStyle.FLOW => pairs(mapping).map(end).max
    case sequence: SequenceNode if sequence.getFlowStyle != FlowStyle.FLOW =>
      val items = sequence.getValue.asScala.toSeq
      if (items.forall(item => start(node) <= start(item) && start(item) < end(node))) items.map(endOf).max
      // An alias has no place: the end is before blank lines and comments.
      else withoutComments(end(node))
    case _: ScalarNode => trimmed(end(node))
    case _ => end(node)
  }

  @annotation.tailrec
  private def withoutComments(until: Int): Int = {
    val at = trimmed(until)
    val line = startOfLine(at)
    if (line > 0 && text.substring(line, at).dropWhile(_.isWhitespace).startsWith("#")) withoutComments(line)
    else at
  }

  private def trimmed(until: Int): Int = text.lastIndexWhere(!_.isWhitespace, until - 1) + 1

  private def start(node: Node): Int = place(node.getStartMark.getIndex)
  private def end(node: Node): Int = place(node.getEndMark.getIndex)

  /** The place in the text of a code point of the parser's text. */
  private def place(codePoint: Int): Int =
    text.offsetByCodePoints(0, codePoint + shifts.count(_ < codePoint))

  private def startOfLine(at: Int): Int = text.lastIndexWhere(c => c == '\n' || c == '\r', at - 1) + 1

  private def restOfLine(at: Int): String = text.substring(at).takeWhile(c => c != '\n' && c != '\r')

  private def lineOf(at: Int): Int = LineBreak.matcher(text.substring(0, at)).results().count().toInt

  private def word(text: String): String =
    if (!isJson && Plain.matcher(text).matches && isText(text)) text else mapper.writeValueAsString(text)

  /** Keys are text, however they are written, but for null. */
  private def key(text: String): String =
    if (!isJson && Plain.matcher(text).matches && !isNull(text)) text else mapper.writeValueAsString(text)

  private def flow(tree: DocumentTree): String = tree match {
    case Sequence(_, elements) => elements.map(flow).mkString("[", ", ", "]")
    case Mapping(_, all) =>
      all.map { case (name, value) => s"${key(name.value)}: ${flow(value)}" }.mkString("{", ", ", "}")
    case Scalar(_, Text, value) => word(value)
    case Scalar(_, _, value) => value
  }
}

private[document] object WrittenDocument {
  private val mapper = new ObjectMapper
  private val Alias = Pattern.compile("\\s*:\\s*(?:#[^\\r\\n]*[\\r\\n]\\s*)*(\\*[^\\s,\\[\\]{}]+)")
  private val Anchor = Pattern.compile("&[^\\s,\\[\\]{}]+\\s*")
  private val LineBreak = Pattern.compile("\\r\\n|\\r|\\n")

  /** An escaped slash after an even number of backslashes: `$1` and the slash `$2`. */
  private val SlashEscape = Pattern.compile("((?<!\\\\)(?:\\\\\\\\)*)\\\\(/)")

  /** Text that needs no quotes anywhere, not even in a flow mapping. */
  private val Plain = Pattern.compile("[A-Za-z_][A-Za-z0-9_.-]*")

  /** Text to write instead of that between two places. */
  final case class Replacement(start: Int, end: Int, text: String)

  /**
   * An entry of a mapping.
   *
   * @param value of an alias, the node of its anchor
   * @param alias where the alias is, if the value is one
   */
  final case class Pair(key: ScalarNode, value: Node, alias: Option[(Int, Int)])

  private def isText(word: String) = StrictScalars.resolve(NodeId.scalar, word, true) == Tag.STR
  private def isNull(word: String) = StrictScalars.resolve(NodeId.scalar, word, true) == Tag.NULL

  private def mapping(node: Node): MappingNode = node match {
    case mapping: MappingNode => mapping
    case _ => throw new IllegalStateException("an entry of a valid document is a mapping")
  }

  private def child(tree: DocumentTree, name: String): DocumentTree = tree match {
    case Mapping(_, all) => all.collectFirst { case (key, value) if key.value == name => value }
        .getOrElse(throw new IllegalStateException("a valid document has this part"))
    case _ => throw new IllegalStateException("a part of a valid document is a mapping")
  }
}
