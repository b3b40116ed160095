package io.github.dynamickafka.metadata.document

/** What a metadata document consists of, whatever format it is written in. Lines are 1-based. */
private[metadata] sealed trait DocumentTree {
  def line: Int
}

private[metadata] object DocumentTree {

  /** By need, because an alias of YAML can lead back to what holds it; compared by identity for the same reason. */
  final class Mapping(val line: Int, contents: => Seq[(DocumentTree, DocumentTree)]) extends DocumentTree {
    lazy val pairs: Seq[(DocumentTree, DocumentTree)] = contents
  }

  final class Sequence(val line: Int, contents: => Seq[DocumentTree]) extends DocumentTree {
    lazy val elements: Seq[DocumentTree] = contents
  }

  /** @param value as it is written in the document, without quotes and escapes */
  final class Scalar(val line: Int, val kind: Kind, val value: String) extends DocumentTree

  sealed abstract class Kind(val shape: String)
  case object Text extends Kind("text")
  case object Number extends Kind("a number")
  case object Truth extends Kind("true or false")
  case object Date extends Kind("a date")
  case object Empty extends Kind("empty")
  case object Merge extends Kind("of a type that is not supported")
  case object Other extends Kind("of a type that is not supported")
}
