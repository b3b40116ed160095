package io.github.dynamickafka.format

import io.github.dynamickafka.option.OptionType

/** An entry of the option `metadataColumns`. */
private[dynamickafka] sealed trait MetadataItem extends Product with Serializable {

  /** The name of the column, without `metadataPrefix`. */
  def name: String
}

private[dynamickafka] object MetadataItem {

  /** About the record: `offset`, `offset AS position`. */
  final case class OfRecord(column: MetadataColumn, as: Option[String] = None) extends MetadataItem {
    override def name: String = as.getOrElse(column.name)
  }

  /**
   * Metadata of the format of the values: `value.source.table`.
   *
   * @param key as the user wrote it, without `value.`
   */
  final case class OfFormat(key: String, as: Option[String] = None) extends MetadataItem {
    override def name: String = as.getOrElse(FormatMetadata.column(key))
  }

  val default: Seq[MetadataItem] = MetadataColumn.default.map(OfRecord(_))
  val ofRecord: Seq[MetadataItem] = MetadataColumn.all.map(OfRecord(_))

  private val Renamed = raw"(?i)(\S+)\s+AS\s+(\S+)".r
  private val Value = "value."

  val list: OptionType[Seq[MetadataItem]] =
    OptionType(
      "list (`;` or `,`)",
      { text =>
        val parsed = text.split("[;,]").map(_.trim).filter(_.nonEmpty).toSeq.map(item)
        val items = parsed.collect { case Right(found) => found }
        parsed.collectFirst { case Left(reason) => reason }
          .orElse(items.map(_.name).diff(items.map(_.name).distinctBy(_.toLowerCase)).headOption.map(n =>
            s"it contains '$n' twice."
          ))
          .toLeft(items)
      }
    )

  private def item(text: String): Either[String, MetadataItem] = {
    val (source, as) = text match {
      case Renamed(found, name) => (found, Some(name))
      case _ => (text, None)
    }
    if (source.toLowerCase.startsWith(Value)) Right(OfFormat(source.drop(Value.length), as))
    else MetadataColumn.find(source).map(OfRecord(_, as)).toRight {
      val known = MetadataColumn.all.map(c => s"'${c.name}'").mkString(", ")
      s"there is no column '$source'; there are $known."
    }
  }
}
