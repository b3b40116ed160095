package io.github.dynamickafka.metadata.document

/** What a metadata document consists of, whatever format it is written in. Lines are 1-based. */
private[metadata] sealed trait DocumentTree {
  def line: Int
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
  case object Ambiguous extends Kind("ambiguous")
}
