package io.github.dynamickafka.metadata

import java.io.StringReader
import java.util.IdentityHashMap

import scala.jdk.CollectionConverters._

import org.yaml.snakeyaml.constructor.SafeConstructor
import org.yaml.snakeyaml.error.{MarkedYAMLException, YAMLException}
import org.yaml.snakeyaml.nodes.{MappingNode, Node, ScalarNode, SequenceNode, Tag}
import org.yaml.snakeyaml.reader.ReaderException
import org.yaml.snakeyaml.{LoaderOptions, Yaml}

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.DocumentTree._

/**
 * YAML text to a tree. Nothing is constructed but nodes, so a tag can't name a class, and snakeyaml's default limits
 * on size, depth and aliases hold.
 *
 * The one user of snakeyaml, which comes with Spark's Kubernetes module and so is not on every class path.
 */
private[metadata] object YamlText {

  /** None if the text is empty. */
  def read(text: String, origin: String): Option[DocumentTree] =
    try Option(
        new Yaml(new SafeConstructor(new LoaderOptions)).compose(new StringReader(text))
      ).map(new Trees().of)
    catch {
      // Never the exception itself, nor as a cause: its text quotes the document, where secrets are.
      case e: MarkedYAMLException => throw broken(origin, e.getProblemMark.getLine + 1, problem(e))
      case e: ReaderException =>
        throw broken(
          origin,
          text.take(e.getPosition).count(_ == '\n') + 1,
          "a character that is not allowed"
        )
      case e: YAMLException =>
        throw Errors.metadataInvalid(origin, s"this is no YAML or JSON: ${e.getMessage}")
    }

  private def broken(origin: String, line: Int, reason: String) =
    Errors.metadataInvalid(s"$origin, line $line", s"this is no YAML or JSON: $reason")

  /** The problem without what could be a piece of a value: `password: *hunter2` is an alias to the parser. */
  private def problem(e: MarkedYAMLException): String =
    e.getProblem
      .replaceFirst("(undefined alias|undefined tag handle|Global tag is not allowed)\\b.*", "$1")
      .replaceFirst("\\. \\(Do not .*", "")

  /** One tree for each node, however many aliases lead to it. */
  private final class Trees {
    private val made = new IdentityHashMap[Node, DocumentTree]

    def of(node: Node): DocumentTree = made.computeIfAbsent(node, make)

    private def make(node: Node): DocumentTree = {
      val line = node.getStartMark.getLine + 1
      node match {
        case mapping: MappingNode =>
          new Mapping(line, mapping.getValue.asScala.toSeq.map(p => of(p.getKeyNode) -> of(p.getValueNode)))
        case sequence: SequenceNode => new Sequence(line, sequence.getValue.asScala.toSeq.map(of))
        case scalar: ScalarNode => new Scalar(line, kindOf(scalar.getTag), scalar.getValue)
        case _ => new Scalar(line, Other, "")
      }
    }
  }

  private def kindOf(tag: Tag): Kind = tag match {
    case Tag.STR => Text
    case Tag.INT | Tag.FLOAT => Number
    case Tag.BOOL => Truth
    case Tag.TIMESTAMP => Date
    case Tag.NULL => Empty
    case Tag.MERGE => Merge
    case _ => Other
  }
}
