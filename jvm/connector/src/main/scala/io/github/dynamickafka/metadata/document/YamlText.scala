package io.github.dynamickafka.metadata.document

import java.io.StringReader
import java.{util => ju}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.yaml.snakeyaml.LoaderOptions
import org.yaml.snakeyaml.composer.Composer
import org.yaml.snakeyaml.error.{MarkedYAMLException, YAMLException}
import org.yaml.snakeyaml.events.{
  AliasEvent,
  CollectionEndEvent,
  CollectionStartEvent,
  Event,
  NodeEvent,
  ScalarEvent
}
import org.yaml.snakeyaml.nodes.{MappingNode, Node, NodeTuple, ScalarNode, SequenceNode}
import org.yaml.snakeyaml.parser.{Parser, ParserImpl}
import org.yaml.snakeyaml.reader.{ReaderException, StreamReader}
import org.yaml.snakeyaml.resolver.Resolver

import io.github.dynamickafka.metadata.document.DocumentTree._

/**
 * YAML text to a tree, for the subset of YAML that `docs/metadata.md` describes. Nothing is constructed but nodes.
 *
 * The one user of snakeyaml, which comes with Spark's Kubernetes module and so is not on every class path.
 */
private[document] object YamlText {
  private val MaxCharacters = new LoaderOptions().getCodePointLimit

  /** None if the text is empty. */
  def read(text: String): Option[DocumentTree] = {
    // snakeyaml applies its own limit only after it has read a scalar as a whole.
    if (text.length > MaxCharacters) broken(1, s"it has more than $MaxCharacters characters")
    try Option(compose(text)).map(new YamlExpansion().tree(_))
    catch {
      // Neither the exception itself nor as a cause: its text quotes the document, which holds secrets.
      // Without what could be a part of a value: in `password: !hunter2!x` snakeyaml sees a tag handle.
      case e: MarkedYAMLException => broken(
          e.getProblemMark.getLine + 1,
          e.getProblem.replaceFirst("(undefined tag handle)\\b.*", "$1")
        )
      case e: ReaderException =>
        broken(text.take(e.getPosition).count(_ == '\n') + 1, "a character that is not allowed")
      case e: YAMLException =>
        DocumentText.refuse(None, s"the document is not valid YAML or JSON: ${e.getMessage}")
    }
  }

  /** YAML allows a tab between tokens but not in an indentation, and parsers differ in where exactly. */
  def refuseTabs(text: String): Unit = {
    val tab = text.indexOf('\t')
    if (tab >= 0) refused(text.take(tab).count(_ == '\n') + 1, "a tab is not allowed, write spaces")
  }

  /** @param checked what the parser becomes; the text of a valid document needs no checks */
  def compose(text: String, checked: Parser => Parser = new StrictParser(_)): Node = {
    val options = new LoaderOptions
    // The strict parser applies the limit, with a line.
    options.setNestingDepthLimit(2 * StrictParser.MaxDepth)
    // What aliases expand to has a limit of its own.
    options.setMaxAliasesForCollections(Int.MaxValue)
    val parser = new ParserImpl(new StreamReader(new StringReader(text)), options)
    new Composer(checked(parser), new Resolver, options).getSingleNode
  }

  private def broken(line: Int, reason: String): Nothing =
    refused(line, s"the document is not valid YAML or JSON: $reason")

  private[document] def refused(line: Int, reason: String): Nothing = DocumentText.refuse(Some(line), reason)
}

/** Refuses what the subset of YAML in `docs/metadata.md` does not have. */
private final class StrictParser(parser: Parser) extends Parser {
  import YamlText.{refused => refuse}

  override def checkEvent(choice: Event.ID): Boolean = parser.checkEvent(choice)
  override def peekEvent(): Event = checked(parser.peekEvent())

  override def getEvent(): Event = {
    val event = checked(parser.getEvent())
    event match {
      case start: CollectionStartEvent =>
        depth += 1
        if (depth > StrictParser.MaxDepth) refuse(start.getStartMark.getLine + 1, StrictParser.TooDeep)
      case _: CollectionEndEvent => depth -= 1
      case _ => ()
    }
    event
  }

  private var depth = 0

  /** With the events of their nodes, each of which may be seen more than once. Their names could be parts of passwords. */
  private val anchors = mutable.HashMap.empty[String, Event]

  private def checked(event: Event): Event = {
    def fail(reason: String) = refuse(event.getStartMark.getLine + 1, reason)
    event match {
      case alias: AliasEvent => if (!anchors.contains(alias.getAnchor)) fail(StrictParser.NoAnchor)
      case node: NodeEvent =>
        val anchor = Option(node.getAnchor)
        if (anchor.flatMap(anchors.get).exists(_ ne event)) fail(StrictParser.TwoAnchors)
        val tag = node match {
          case scalar: ScalarEvent => scalar.getTag
          case collection: CollectionStartEvent => collection.getTag
          case _ => null
        }
        if (tag != null) fail(StrictParser.Tags)
        anchor.foreach(anchors.update(_, event))
      case _ => ()
    }
    event
  }
}

private[document] object StrictParser {

  /** Levels of nesting in a document. */
  val MaxDepth = 50
  val TooDeep = s"the document is not valid YAML or JSON: it has more than $MaxDepth levels"
  val NoAnchor = "an alias without an anchor before it: put text that begins with '*' in quotes"
  val TwoAnchors =
    "an anchor is given twice: rename one of them, or put text that begins with '&' in quotes"
  val Tags = "tags are not supported: leave the tag out, or put text that begins with '!' in quotes"
  val Ambiguous =
    "YAML 1.1 and YAML 1.2 differ about this unquoted value: put it in quotes, or write true, false or a decimal number"
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
 * YAML's nodes to a tree, in which the values of anchors are copied to the places of their aliases, and merged keys into their
 * mapping, before its own keys, which take precedence.
 */
private final class YamlExpansion {
  import DocumentText.refuse
  import YamlExpansion._

  private type Pair = (Scalar, DocumentTree)

  /** By identity: an alias is the node of its anchor. */
  private val seen = identities()
  private val open = identities()
  private var copied = 0L

  /** Found once for each scalar, however often it is copied. */
  private val kinds = new ju.IdentityHashMap[ScalarNode, Kind]

  def tree(root: Node): DocumentTree = tree(root, again = false)

  private def tree(node: Node, again: Boolean): DocumentTree = {
    val copy = visit(node, again)
    node match {
      case mapping: MappingNode => Mapping(lineOf(node), pairs(mapping, copy))
      case sequence: SequenceNode =>
        within(node)(Sequence(lineOf(node), sequence.getValue.asScala.toSeq.map(tree(_, copy))))
      case scalar: ScalarNode => Scalar(lineOf(node), kind(scalar), scalar.getValue)
      case other => refuse(Some(lineOf(other)), StrictParser.NoAnchor)
    }
  }

  private def pairs(mapping: MappingNode, again: Boolean): Seq[Pair] = within(mapping) {
    val (merges, own) = mapping.getValue.asScala.toSeq.partition(isMerge)
    merges.drop(1).foreach(second =>
      refuse(
        Some(lineOf(second.getKeyNode)),
        s"key '<<' is given twice, first at line ${lineOf(merges.head.getKeyNode)}"
      )
    )
    val known = mutable.Set.from(own.map(_.getKeyNode).collect { case key: ScalarNode => key.getValue })
    val merged = merges.flatMap(m => sources(m.getValueNode, again)).flatMap { case (source, copy) =>
      val found = pairs(source, copy).filterNot(p => known(p._1.value))
      known ++= found.map(_._1.value)
      found
    }
    merged ++ own.map(p => key(p.getKeyNode, again) -> tree(p.getValueNode, again))
  }

  private def sources(value: Node, again: Boolean): Seq[(MappingNode, Boolean)] = {
    val copy = visit(value, again)
    value match {
      case mapping: MappingNode => Seq(mapping -> copy)
      case sequence: SequenceNode => sequence.getValue.asScala.toSeq.map {
          case mapping: MappingNode => mapping -> visit(mapping, copy)
          case other => refuse(Some(lineOf(other)), NoMapping)
        }
      case other => refuse(Some(lineOf(other)), NoMapping)
    }
  }

  /** A key is text, however it is written. */
  private def key(node: Node, again: Boolean): Scalar = {
    val _ = visit(node, again)
    node match {
      case scalar: ScalarNode if kind(scalar) != Empty => Scalar(lineOf(node), Text, scalar.getValue)
      case other => refuse(Some(lineOf(other)), "a key must be text")
    }
  }

  /** Whether this is a copy; counts it. */
  private def visit(node: Node, again: Boolean): Boolean = {
    val copy = !seen.add(node) || again
    if (copy) copied += (node match {
      case scalar: ScalarNode => 1L + scalar.getValue.length
      case _ => 1L
    })
    if (copied > MaxCharacters) refuse(None, "aliases and merge keys expand to more than 1 MB")
    copy
  }

  private def kind(scalar: ScalarNode): Kind =
    kinds.computeIfAbsent(scalar, s => if (s.isPlain) PlainScalars.kind(s.getValue) else Text)

  private def within[A](node: Node)(body: => A): A = {
    if (!open.add(node)) refuse(Some(lineOf(node)), "an anchor contains an alias of itself")
    if (open.size > StrictParser.MaxDepth) refuse(Some(lineOf(node)), StrictParser.TooDeep)
    val result = body
    open.remove(node)
    result
  }
}

private object YamlExpansion {
  private val MaxCharacters = 1024 * 1024
  private val NoMapping =
    "a merge key ('<<') needs a mapping or a list of mappings: put '<<' in quotes if it is a name"

  private def identities(): ju.Set[Node] =
    ju.Collections.newSetFromMap(new ju.IdentityHashMap[Node, java.lang.Boolean])

  private def isMerge(pair: NodeTuple): Boolean = pair.getKeyNode match {
    case scalar: ScalarNode => scalar.getValue == "<<" && scalar.isPlain
    case _ => false
  }

  private def lineOf(node: Node): Int = node.getStartMark.getLine + 1
}
