package io.github.dynamickafka.metadata.document

import scala.collection.mutable

import org.yaml.snakeyaml.events.{
  AliasEvent,
  CollectionEndEvent,
  CollectionStartEvent,
  Event,
  NodeEvent,
  ScalarEvent
}
import org.yaml.snakeyaml.nodes.{NodeId, Tag}
import org.yaml.snakeyaml.parser.Parser
import org.yaml.snakeyaml.resolver.Resolver

/**
 * Refuses what the subset of YAML in `docs/metadata.md` does not have.
 *
 * @param refuse is called with a 1-based line and a reason, and throws
 */
private[document] final class StrictParser(parser: Parser, refuse: (Int, String) => Nothing) extends Parser {

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
    val tag = event match {
      case scalar: ScalarEvent => scalar.getTag
      case collection: CollectionStartEvent => collection.getTag
      case _ => null
    }
    val line = event.getStartMark.getLine + 1
    event match {
      case alias: AliasEvent if !anchors.contains(alias.getAnchor) => refuse(line, StrictParser.NoAnchor)
      case _: AliasEvent => event
      case node: NodeEvent if node.getAnchor != null && anchors.get(node.getAnchor).exists(_ ne event) =>
        refuse(line, StrictParser.TwoAnchors)
      case _ if tag != null => refuse(line, StrictParser.Tags)
      case node: NodeEvent if node.getAnchor != null =>
        anchors.put(node.getAnchor, event)
        event
      case _ => event
    }
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

/** The type of a scalar without quotes: only what YAML 1.1 and YAML 1.2 agree about has one. */
private[document] object StrictScalars extends Resolver {

  /** The scalars that are something else than text to YAML 1.1 or to YAML 1.2, but not the same to both. */
  val Ambiguous = new Tag("ambiguous")

  private val Null = "|~|null|Null|NULL"
  private val Whole = "[-+]?(0|[1-9][0-9]*)"
  private val Decimal = s"$Whole(\\.[0-9]+)?([eE][-+]?[0-9]+)?"
  private val Differing = Seq(
    "y|n|yes|no|on|off|true|false",
    "[-+]?([0-9][0-9_]*(\\.[0-9_]*)?|\\.[0-9_]+)(e[-+]?[0-9]+)?",
    "[-+]?0(b[01_]+|o[0-7_]+|x[0-9a-f_]+)",
    "[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\\.[0-9_]*)?",
    "[-+]?\\.(inf|nan)",
    "[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([T ].*)?"
  ).mkString("(?i)", "|", "")

  override def resolve(kind: NodeId, value: String, isPlain: Boolean): Tag =
    if (kind != NodeId.scalar || !isPlain) super.resolve(kind, value, isPlain)
    else if (value.matches(Null)) Tag.NULL
    else if (value == "true" || value == "false") Tag.BOOL
    else if (value.matches(Whole)) Tag.INT
    else if (value.matches(Decimal)) Tag.FLOAT
    else if (value.matches(Differing)) Ambiguous
    else Tag.STR
}
