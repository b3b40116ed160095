package io.github.dynamickafka.metadata.document

import scala.util.Try

import org.apache.spark.sql.catalyst.parser.ParseException
import org.apache.spark.sql.types.StructType

import io.github.dynamickafka.format.table.Formats

/**
 * What a document says about the format of records, as options of the data source. Names and values are checked where they are
 * used; what is certainly wrong is a warning here. Values of a registry may be secrets.
 */
private[metadata] object DocumentFormat {
  val Registry = "registry"
  private val Options = "options"
  private val Texts = Map("format" -> "format", "key_format" -> "keyFormat", "schema" -> "schema")
  private val KeyFields = "key_fields"

  val Keys: Seq[String] = Seq("format", "key_format", KeyFields, "schema", Registry, Options)

  /** @param fields of a stream */
  def options(fields: Fields): Map[String, String] = {
    val further = fields.get(Options)(values).getOrElse(Map.empty)
    val texts = Texts.toSeq.flatMap { case (key, option) =>
      fields.get(key)(node => option -> known(key, node))
    }
    val keys = fields.get(KeyFields)(node =>
      "keyFields" -> (if (node.isList) names(node) else DocumentParts.notBlank(node))
    )
    further ++ texts ++ keys ++ fields.get(Registry)(registry).getOrElse(Map.empty)
  }

  /** The address, or a map of the options. */
  def registry(node: DocumentNode): Map[String, String] =
    if (node.isMapping) values(node).map { case (name, value) => s"$Registry.$name" -> value }
    else Map(s"$Registry.url" -> DocumentParts.notBlank(node))

  def isRegistry(option: String): Boolean = option.startsWith(s"$Registry.")

  def hasRegistry(options: Map[String, String]): Boolean = options.keys.exists(isRegistry)

  /** Why a cluster cannot have a format. */
  val OneFormat: String =
    "the records of a stream have one format on all clusters; make a stream for those of another format. A cluster can have a registry"

  def values(node: DocumentNode): Map[String, String] =
    node.items("option")((_, value) => value.scalar).toMap

  private def known(key: String, node: DocumentNode): String = {
    val text = DocumentParts.notBlank(node)
    node.warn(
      if (key == "schema") unknownType(text)
      else Formats.registered.toRead.parse(text).left.toOption.map(reason =>
        s"'$text' is no format of records: $reason"
      )
    )
    text
  }

  /** The word in place of a type, if Spark refuses DDL for that reason. */
  private def unknownType(ddl: String): Option[String] =
    Option.unless(ddl.trim.startsWith("{"))(Try(StructType.fromDDL(ddl))).flatMap(_.failed.toOption).collect {
      case e: ParseException if e.getCondition == "UNSUPPORTED_DATATYPE" =>
        val word = e.getMessageParameters.get("typeName").stripPrefix("\"").stripSuffix("\"")
        s"'$word' is not a type of Spark.${Names.didYouMean(word, Types)}"
    }

  /** The types that are written most, for suggestions. */
  private val Types =
    ("ARRAY BIGINT BINARY BOOLEAN DATE DECIMAL DOUBLE FLOAT INT INTEGER MAP SMALLINT STRING STRUCT TIMESTAMP " +
      "TIMESTAMP_NTZ TINYINT VARIANT").split(" ").toSeq

  private def names(node: DocumentNode): String = {
    val found = node.elements(DocumentParts.notBlank)
    if (node.isEmpty) node.fail("must contain at least one field")
    found.mkString(";")
  }
}
