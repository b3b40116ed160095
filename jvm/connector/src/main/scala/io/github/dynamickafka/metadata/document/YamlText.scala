package io.github.dynamickafka.metadata.document

import java.io.StringReader

import scala.collection.mutable

import org.yaml.snakeyaml.LoaderOptions
import org.yaml.snakeyaml.composer.Composer
import org.yaml.snakeyaml.error.{MarkedYAMLException, YAMLException}
import org.yaml.snakeyaml.events.{AliasEvent, CollectionStartEvent, Event, NodeEvent, ScalarEvent}
import org.yaml.snakeyaml.nodes.Node
import org.yaml.snakeyaml.parser.{Parser, ParserImpl}
import org.yaml.snakeyaml.reader.{ReaderException, StreamReader}
import org.yaml.snakeyaml.resolver.Resolver

import io.github.dynamickafka.metadata.document.DocumentText.{MaxDepth, refuse}
import io.github.dynamickafka.metadata.document.DocumentTree._

/**
 * YAML text to a tree, for the subset of YAML that `docs/metadata.md` describes. Nothing is constructed but trees.
 *
 * The one user of snakeyaml, which comes with Spark's Kubernetes module and so is not on every class path.
 */
private[document] object YamlText {
  private val MaxCharacters = new LoaderOptions().getCodePointLimit

  /** None if the text is empty. */
  def read(text: String): Option[DocumentTree] = {
    // snakeyaml applies its own limit only after it has read a scalar as a whole.
    if (text.length > MaxCharacters) broken(1, s"it has more than $MaxCharacters characters")
    try new YamlTree(parser(text, new LoaderOptions)).document()
    catch {
      // Neither the exception itself nor as a cause: its text quotes the document, which holds secrets.
      // Without what could be a part of a value: in `password: !hunter2!x` snakeyaml sees a tag handle.
      case e: MarkedYAMLException => broken(
          e.getProblemMark.getLine + 1,
          e.getProblem.replaceFirst(
            "(undefined tag handle)\\b.*",
            "$1"
          ).replaceFirst("but got (\\S+)$", "but got '$1'")
        )
      case e: ReaderException =>
        broken(text.take(e.getPosition).count(_ == '\n') + 1, "a character that is not allowed")
      case e: YAMLException => refuse(None, s"the document is not valid YAML or JSON: ${e.getMessage}")
    }
  }

  /** YAML allows a tab between tokens but not in an indentation, and parsers differ in where exactly. */
  def refuseTabs(text: String): Unit = {
    val tab = text.indexOf('\t')
    if (tab >= 0) refuse(Some(text.take(tab).count(_ == '\n') + 1), "a tab is not allowed, write spaces")
  }

  /** The text of a valid document, with the places of its parts. */
  def compose(text: String): Node = {
    val options = new LoaderOptions
    options.setNestingDepthLimit(2 * MaxDepth)
    options.setMaxAliasesForCollections(Int.MaxValue)
    new Composer(parser(text, options), new Resolver, options).getSingleNode
  }

  private def parser(text: String, options: LoaderOptions): Parser =
    new ParserImpl(new StreamReader(new StringReader(text)), options)

  private[document] def broken(line: Int, reason: String): Nothing =
    refuse(Some(line), s"the document is not valid YAML or JSON: $reason")
}

/** Scalars without quotes: only what YAML 1.1 and YAML 1.2 agree about is something else than text. */
private[document] object PlainScalars {
  private val Null = "|~|null|Null|NULL"
  private val Decimal = "[-+]?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][-+]?[0-9]+)?"
  private val Differing = Seq(
    "y|n|yes|no|on|off|true|false",
    "[-+]?([0-9][0-9_]*(\\.[0-9_]*)?|\\.[0-9_]+)(e[-+]?[0-9]+)?",
    "[-+]?0(b[01_]+|o[0-7_]+|x[0-9a-f_]+)",
    "[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\\.[0-9_]*)?",
    "[-+]?\\.(inf|nan)",
    "[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([T ].*)?"
  ).mkString("(?i)", "|", "")

  def kind(text: String): Kind =
    if (text.matches(Null)) Empty
    else if (text == "true" || text == "false") Truth
    else if (text.matches(Decimal)) Number
    else if (text.matches(Differing)) Ambiguous
    else Text
}

/**
 * Refuses what the subset of YAML in `docs/metadata.md` does not have. In the tree, the values of anchors are copied to the places of their
 * aliases, and merged keys into their mapping, before its own keys, which take precedence.
 */
private final class YamlTree(parser: Parser) {
  import YamlTree._

  /** Anchors by name, which could be a part of a password. */
  private val anchors = mutable.HashMap.empty[String, Anchor]
  private var depth = 0

  /** Nodes and characters of scalars: all, and those of aliases. */
  private var size = 0L
  private var copied = 0L

  /** None if there is nothing in it. */
  def document(): Option[DocumentTree] = {
    parser.getEvent()
    Option.unless(parser.checkEvent(Event.ID.StreamEnd)) {
      parser.getEvent()
      val root = tree()
      parser.getEvent()
      val next = parser.peekEvent()
      if (!next.is(Event.ID.StreamEnd)) YamlText.broken(lineOf(next), "but found another document")
      root
    }
  }

  private def tree(): DocumentTree = parser.getEvent() match {
    case alias: AliasEvent => anchors.get(alias.getAnchor) match {
        case None => fail(lineOf(alias), NoAnchor)
        case Some(Anchor(line, None)) => fail(line, "an anchor contains an alias of itself")
        case Some(Anchor(_, Some((value, sizeOfValue)))) => copy(value, sizeOfValue)
      }
    case scalar: ScalarEvent => anchored(scalar, scalar.getTag) { line =>
        size += scalar.getValue.length
        Scalar(line, if (scalar.isPlain) PlainScalars.kind(scalar.getValue) else Text, scalar.getValue)
      }
    case start: CollectionStartEvent => anchored(start, start.getTag) { line =>
        depth += 1
        if (depth > MaxDepth) fail(line, TooDeep)
        val found =
          if (start.is(Event.ID.MappingStart)) Mapping(line, pairs())
          else Sequence(line, until(Event.ID.SequenceEnd)(tree()))
        depth -= 1
        found
      }
    case other => throw new IllegalStateException(s"an event of no node: $other")
  }

  private def anchored(node: NodeEvent, tag: String)(read: Int => DocumentTree): DocumentTree = {
    val (line, before, anchor) = (lineOf(node), size, Option(node.getAnchor))
    if (anchor.exists(anchors.contains)) fail(line, TwoAnchors)
    if (tag != null) fail(line, Tags)
    anchor.foreach(anchors.update(_, Anchor(line, None)))
    size += 1
    val value = read(line)
    anchor.foreach(anchors.update(_, Anchor(line, Some(value -> (size - before)))))
    value
  }

  private def copy(value: DocumentTree, sizeOfValue: Long): DocumentTree = {
    size += sizeOfValue
    copied += sizeOfValue
    if (copied > MaxCopied) refuse(None, "aliases and merge keys expand to more than 1 MB")
    below(value, MaxDepth - depth).foreach(lowest => fail(lowest.line, TooDeep))
    value
  }

  private def pairs(): Seq[(Scalar, DocumentTree)] = {
    val (merges, own) = until(Event.ID.MappingEnd) {
      val isMerge = parser.peekEvent() match {
        case scalar: ScalarEvent => scalar.isPlain && scalar.getValue == "<<"
        case _ => false
      }
      // A key is text, however it is written.
      val key = tree() match {
        case Scalar(line, kind, name) if kind != Empty => Scalar(line, Text, name)
        case other => fail(other.line, "a key must be text")
      }
      (isMerge, key -> tree())
    }.partitionMap { case (isMerge, pair) => Either.cond(!isMerge, pair, pair) }
    merges.drop(1).foreach { case (key, _) =>
      fail(key.line, s"key '<<' is given twice, first at line ${merges.head._1.line}")
    }
    val sources = merges.map(_._2).flatMap {
      case Sequence(_, all) => all
      case one => Seq(one)
    }.map {
      case Mapping(_, all) => all
      case other => fail(other.line, NoMapping)
    }
    sources.foldLeft(Seq.empty[(Scalar, DocumentTree)]) { (done, all) =>
      val known = (done ++ own).map(_._1.value).toSet
      done ++ all.filterNot(pair => known(pair._1.value))
    } ++ own
  }

  private def until[A](end: Event.ID)(read: => A): Seq[A] = {
    val found = Iterator.continually(()).takeWhile(_ => !parser.checkEvent(end)).map(_ => read).toVector
    parser.getEvent()
    found
  }
}

private object YamlTree {
  private val MaxCopied = 1024 * 1024
  private val TooDeep = s"the document is not valid YAML or JSON: it has more than $MaxDepth levels"
  private val NoAnchor = "an alias without an anchor before it: put text that begins with '*' in quotes"
  private val TwoAnchors =
    "an anchor is given twice: rename one of them, or put text that begins with '&' in quotes"
  private val Tags = "tags are not supported: leave the tag out, or put text that begins with '!' in quotes"
  private val NoMapping =
    "a merge key ('<<') needs a mapping or a list of mappings: put '<<' in quotes if it is a name"

  /** @param value with its size; None: it is not complete */
  private final case class Anchor(line: Int, value: Option[(DocumentTree, Long)])

  /** A list or mapping that is this many levels below the first one, or more. */
  private def below(tree: DocumentTree, levels: Int): Option[DocumentTree] = tree match {
    case _: Scalar => None
    case _ if levels <= 0 => Some(tree)
    case Mapping(_, all) => all.iterator.flatMap(pair => below(pair._2, levels - 1)).nextOption()
    case Sequence(_, all) => all.iterator.flatMap(below(_, levels - 1)).nextOption()
  }

  private def lineOf(event: Event): Int = event.getStartMark.getLine + 1

  private def fail(line: Int, reason: String): Nothing = refuse(Some(line), reason)
}
