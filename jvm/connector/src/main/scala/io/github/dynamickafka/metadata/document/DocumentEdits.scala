package io.github.dynamickafka.metadata.document

import java.util.regex.Pattern

import scala.jdk.CollectionConverters._

import org.yaml.snakeyaml.DumperOptions.{FlowStyle, ScalarStyle}
import org.yaml.snakeyaml.nodes.{CollectionNode, MappingNode, Node, ScalarNode, SequenceNode}

import io.github.dynamickafka.metadata.document.DocumentTree._
import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaStream}
import io.github.dynamickafka.option.Suggestions

/** An edit is refused, and nothing is changed. The message has no value of a property. */
private[dynamickafka] final class EditRefused(reason: String) extends RuntimeException(reason)

/**
 * Changes of a document that leave all other lines, comments among them, as they are. The whole document is validated before and
 * after. Pure. The cases are in `tests/conformance/edits`.
 */
private[dynamickafka] object DocumentEdits {
  import WrittenDocument.{Pair, Replacement}

  private type Streams = Map[String, KafkaStream]

  // What an entry for another cluster takes over; a registry, positions and `write` belong to the cluster.
  private val TakenOver = Set("topics", "topic_pattern", "partitions")
  private val ByHand = "change it by hand"

  // An anchor that others use may take several steps.
  private val MostSteps = 4

  /**
   * Sets the state of a cluster in one stream, or in every stream that it has.
   *
   * @throws EditRefused if an id is unknown, or the document cannot be changed in this way
   */
  def withState(text: String, cluster: String, state: String, stream: Option[String]): String = {
    val streams = version1(text)
    stream.foreach(check(streams, _, cluster))
    val chosen =
      stream.map(Seq(_)).getOrElse(streams.keys.filter(id => entries(streams(id)).contains(cluster)).toSeq)
    if (chosen.isEmpty) {
      val known = clusters(text)
      throw new EditRefused(
        if (known.contains(cluster)) s"no stream is on cluster '$cluster'"
        else s"'clusters' has no cluster '$cluster'.${Suggestions.didYouMean(cluster, known)}"
      )
    }
    edited(text, chosen.foldLeft(streams)(withState(_, _, cluster, state)))
  }

  /**
   * Drains a cluster of a stream, and adds another one with the same topics.
   *
   * @throws EditRefused if an id is unknown, the other cluster has other topics of the stream, or the document cannot be
   *                     changed in this way
   */
  def moved(text: String, stream: String, old: String, added: String): String = {
    val streams = version1(text)
    check(streams, stream, old)
    val known = clusters(text)
    if (!known.contains(added)) throw new EditRefused(
      s"'clusters' has no cluster '$added': first add it there, with its properties.${Suggestions.didYouMean(added, known)}"
    )
    if (added == old) throw new EditRefused(s"stream '$stream' cannot move from cluster '$old' to itself")
    val wanted = withState(streams, stream, old, ClusterMetadata.Draining)
    entries(streams(stream)).get(added) match {
      case None =>
        val more = withEntry(text, stream, old, added)
        // What the new entry says is what the document says; that nothing else changes is checked.
        val entry = entries(parse(more)(stream))(added)
        edited(more, having(wanted, stream, added, entry))
      case Some(there)
          if there.subscription != entries(streams(stream))(old).subscription ||
            there.state != ClusterMetadata.Active =>
        val (key, topics) = there.subscription
        throw new EditRefused(
          s"stream '$stream' has cluster '$added' already, with state '${there.state}' and $key $topics: $ByHand"
        )
      case _ => edited(text, wanted)
    }
  }

  /** Changes states until the document has these streams. */
  private def edited(text: String, wanted: Streams): String = {
    @annotation.tailrec
    def step(text: String, left: Int): String = {
      val now = parse(text)
      val found = if (now == wanted || left == 0) Nil else changes(text, now, wanted)
      if (found.nonEmpty) step(replaced(text, found), left - 1)
      else if (now == wanted) text
      else {
        val different = wanted.collectFirst { case (id, stream) if !now.get(id).contains(stream) => id }
        throw new EditRefused(
          s"stream '${different.mkString}' shares this part of the document with others, by an anchor or a merge key: $ByHand"
        )
      }
    }
    step(text, MostSteps)
  }

  /** Entries that are written out come first: an alias of one may then have the right state. */
  private def changes(text: String, now: Streams, wanted: Streams): Seq[Replacement] = {
    val written = new WrittenDocument(text)
    val there: Seq[(Pair, String)] = for {
      (id, stream) <- wanted.toSeq
      (cluster, entry) <- entries(stream).toSeq
      if !now.get(id).flatMap(entries(_).get(cluster)).exists(_.state == entry.state)
      found <- written.entries(id).get(cluster)
    } yield found -> entry.state
    val own = there.filter(_._1.alias.isEmpty)
    (if (own.nonEmpty) own else there).map { case (entry, state) => written.withState(entry, state) }.distinct
  }

  private def replaced(text: String, all: Seq[Replacement]): String =
    all.sortBy(-_.start).foldLeft(text)((t, r) => t.substring(0, r.start) + r.text + t.substring(r.end))

  private def withEntry(text: String, stream: String, old: String, added: String): String =
    new WrittenDocument(text).withEntry(stream, old, added, DocumentText.tree(text), TakenOver)
      .fold(throw new EditRefused(
        s"the clusters of stream '$stream' are those of an anchor or a merge key: $ByHand"
      ))(entry => replaced(text, Seq(entry)))

  private def withState(streams: Streams, stream: String, cluster: String, state: String): Streams =
    having(streams, stream, cluster, entries(streams(stream))(cluster).withState(state))

  private def having(streams: Streams, id: String, cluster: String, entry: ClusterMetadata): Streams = {
    val stream = streams(id)
    val all = entries(stream).updated(cluster, entry).asJava
    streams.updated(id, new KafkaStream(id, all, stream.getFormatOptions, stream.getHistory))
  }

  private def entries(stream: KafkaStream): Map[String, ClusterMetadata] = stream.entries.toMap

  /** @throws EditRefused if the document is not valid */
  private def parse(text: String): Streams = {
    val found = MetadataDocument.check(text)
    found.errors.headOption.foreach(e =>
      throw new EditRefused(s"the document would not be valid (${e.text}): $ByHand")
    )
    found.streams
  }

  private def version1(text: String): Streams = {
    val streams = MetadataDocument.parse(text, "the document")
    if (!DocumentText.tree(text).isInstanceOf[Mapping])
      throw new EditRefused("Flink's list of streams has no states: use a document of version 1")
    streams
  }

  private def clusters(text: String): Seq[String] = DocumentText.tree(text).fields("clusters").keys.toSeq

  private def check(streams: Streams, id: String, cluster: String): Unit = {
    val known = entries(streams.getOrElse(
      id,
      throw new EditRefused(s"there is no stream '$id'.${Suggestions.didYouMean(id, streams.keys)}")
    ))
    if (!known.contains(cluster)) throw new EditRefused(
      s"stream '$id' is not on cluster '$cluster'.${Suggestions.didYouMean(cluster, known.keys)}"
    )
  }
}

/**
 * The text of a valid document: where its parts are, and what is written to change them. The cases are in `tests/conformance/edits`.
 */
private[document] final class WrittenDocument(text: String) {
  import WrittenDocument._

  private val isJson = DocumentText.isBracketed(text)
  private val endOfLine = if (text.contains("\r\n")) "\r\n" else "\n"

  /** Places in what is parsed are those of the text: a tab is a space, and an escaped slash of JSON another escape. */
  private val root: Node = YamlText.compose(
    if (isJson) DocumentText.jsonAsYaml(text, slash = "\\_") else text.replace('\t', ' ')
  )

  /** The entries of a stream, by cluster id, that are written at the stream itself. */
  def entries(stream: String): Map[String, Pair] = clusters(stream).fold(Map.empty[String, Pair])(own)

  private def clusters(stream: String): Option[Node] =
    Seq("streams", name(stream), "clusters").foldLeft(Option(root)) { (node, name) =>
      node.flatMap(own(_).get(name)).filter(_.alias.isEmpty).map(_.value)
    }

  /** An escaped slash of JSON is a space without break. */
  private def name(text: String): String = if (isJson) text.replace('/', '\u00A0') else text

  def withState(entry: Pair, state: String): Replacement = entry.alias match {
    case Some((start, end)) =>
      Replacement(start, end, s"{<<: ${text.substring(start, end)}, state: $state}")
    case None => own(entry.value).get("state") match {
        case Some(pair) => scalar(pair, state)
        case None => added(entry.value, pairs(entry.value), "state", word(state))
      }
  }

  /** Adds an entry after the one of another cluster of the stream, with these keys of it. */
  def withEntry(stream: String, old: String, added: String, expanded: DocumentTree, keys: Set[String])
      : Option[Replacement] = for {
    parent <- clusters(stream)
    all = pairs(parent)
    at = all.indexWhere(_.key.getValue == old)
    if at >= 0
    source <- expanded.at("streams", stream, "clusters", old)
  } yield {
    val taken = source match {
      case Mapping(line, all) => Mapping(line, all.filter(pair => keys(pair._1.value)))
      case other => other
    }
    this.added(parent, all.take(at + 1), added, flow(taken), after = true)
  }

  /** The entries of a mapping, without those that are merged into it. */
  private def own(node: Node): Map[String, Pair] =
    pairs(node).filterNot(pair => pair.key.getValue == "<<" && pair.key.isPlain)
      .map(pair => name(pair.key.getValue) -> pair).toMap

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
      mapping: Node,
      among: Seq[Pair],
      name: String,
      value: String,
      after: Boolean = false
  ): Replacement = {
    val written = s"${word(name)}: $value"
    if (isFlow(mapping)) {
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
      among.reverse.find(pair => after || isOnOneLine(pair)).map(pair => lineAfter(end(pair), line))
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
    case _: MappingNode if !isFlow(node) => pairs(node).map(end).max
    case sequence: SequenceNode if !isFlow(node) =>
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

  private def isFlow(node: Node): Boolean = node match {
    case collection: CollectionNode[_] => collection.getFlowStyle == FlowStyle.FLOW
    case _ => false
  }

  private def trimmed(until: Int): Int = text.lastIndexWhere(!_.isWhitespace, until - 1) + 1

  private def start(node: Node): Int = place(node.getStartMark.getIndex)
  private def end(node: Node): Int = place(node.getEndMark.getIndex)

  /** The place in the text of a code point of the parser's text. */
  private def place(codePoint: Int): Int = text.offsetByCodePoints(0, codePoint)

  private def startOfLine(at: Int): Int = text.lastIndexWhere(c => c == '\n' || c == '\r', at - 1) + 1

  private def restOfLine(at: Int): String = text.substring(at).takeWhile(c => c != '\n' && c != '\r')

  private def isOnOneLine(pair: Pair): Boolean =
    !text.substring(start(pair.key), end(pair)).exists(c => c == '\n' || c == '\r')

  private def word(text: String): String = word(text, PlainScalars.kind(text) == Text)

  private def word(text: String, isText: => Boolean): String =
    if (!isJson && Plain.matcher(text).matches && isText) text else JsonText.quoted(text)

  /** Keys are text, however they are written, but for null. */
  private def flow(tree: DocumentTree): String =
    JsonText.write(tree, name => word(name, PlainScalars.kind(name) != Empty)) {
      case Scalar(_, Text, value) => word(value)
      case Scalar(_, _, value) => value
    }
}

private[document] object WrittenDocument {
  private val Alias = Pattern.compile("\\s*:\\s*(?:#[^\\r\\n]*[\\r\\n]\\s*)*(\\*[^\\s,\\[\\]{}]+)")
  private val Anchor = Pattern.compile("&[^\\s,\\[\\]{}]+\\s*")

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
}
