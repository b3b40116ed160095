package io.github.dynamickafka.metadata.document

import java.{util => ju}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.yaml.snakeyaml.nodes.{MappingNode, Node, NodeTuple, ScalarNode, SequenceNode, Tag}

import io.github.dynamickafka.metadata.document.DocumentTree._

/**
 * YAML's nodes to a tree, in which the values of anchors are copied to the places of their aliases, and merged keys into their
 * mapping, before its own keys, which take precedence. Python's `expansion.py` does the same.
 *
 * @param refuse is called with a 1-based line, if there is one, and a reason, and throws
 */
private[document] final class YamlExpansion(refuse: (Option[Int], String) => Nothing) {
  import YamlExpansion._

  private type Pair = (Scalar, DocumentTree)

  /** By identity: an alias is the node of its anchor. */
  private val seen = identities()
  private val open = identities()
  private var copied = 0L

  def tree(root: Node): DocumentTree = tree(root, again = false)

  private def tree(node: Node, again: Boolean): DocumentTree = {
    val copy = visit(node, again)
    node match {
      case mapping: MappingNode => Mapping(lineOf(node), pairs(mapping, copy))
      case sequence: SequenceNode =>
        within(node)(Sequence(lineOf(node), sequence.getValue.asScala.toSeq.map(tree(_, copy))))
      case scalar: ScalarNode => Scalar(lineOf(node), kind(scalar.getTag), scalar.getValue)
      case other => refuse(Some(lineOf(other)), NoAnchor)
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
      case scalar: ScalarNode if scalar.getTag != Tag.NULL => Scalar(lineOf(node), Text, scalar.getValue)
      case other => refuse(Some(lineOf(other)), "a key must be text")
    }
  }

  /** Whether this is a copy; counts it. */
  private def visit(node: Node, again: Boolean): Boolean = {
    val copy = !seen.add(node) || again
    if (copy) {
      copied += 1
      node match {
        case scalar: ScalarNode => copied += scalar.getValue.length
        case _ => ()
      }
      if (copied > MaxCharacters) refuse(None, TooLarge)
    }
    copy
  }

  private def within[A](node: Node)(body: => A): A = {
    if (!open.add(node)) refuse(Some(lineOf(node)), Itself)
    if (open.size > StrictParser.MaxDepth) refuse(Some(lineOf(node)), StrictParser.TooDeep)
    val result = body
    open.remove(node)
    result
  }
}

private object YamlExpansion {
  private val MaxCharacters = 1024 * 1024
  private val TooLarge = "aliases and merge keys expand to more than 1 MB"
  private val Itself = "an anchor contains an alias of itself"
  private val NoAnchor = StrictParser.NoAnchor
  private val NoMapping =
    "a merge key ('<<') needs a mapping or a list of mappings: put '<<' in quotes if it is a name"

  private def identities(): ju.Set[Node] =
    ju.Collections.newSetFromMap(new ju.IdentityHashMap[Node, java.lang.Boolean])

  private def isMerge(pair: NodeTuple): Boolean = pair.getKeyNode match {
    case scalar: ScalarNode => scalar.getValue == "<<" && scalar.isPlain
    case _ => false
  }

  private def lineOf(node: Node): Int = node.getStartMark.getLine + 1

  private def kind(tag: Tag): Kind = tag match {
    case Tag.STR => Text
    case Tag.INT | Tag.FLOAT => Number
    case Tag.BOOL => Truth
    case Tag.NULL => Empty
    case _ => Ambiguous
  }
}
