package io.github.dynamickafka.catalog

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.table.{FormatOptionSpecs, WriteOptionSpecs}
import io.github.dynamickafka.option.{FormatKey, OptionSpec, OptionTable}

/**
 * Puts what the metadata says about the format of a stream over the settings of a catalog. Pure.
 *
 * @param table the options of the side that is used
 * @param other the options of the other side, which the metadata may contain as well
 */
private[catalog] final class DocumentFormats(table: OptionTable, other: OptionTable) {
  import DocumentFormats._

  /**
   * With a `format` in the metadata, `schema` and the options of other formats in the settings do not apply.
   *
   * @throws DynamicKafkaIllegalArgumentException `METADATA_INVALID` for an option that is not about formats
   */
  def over(
      settings: Map[String, String],
      document: Map[String, String],
      stream: String
  ): Map[String, String] = {
    val known = document.filter { case (name, _) => isKnown(name, stream) }
    val own = known.keySet.map(key)
    val kept = settings.filterNot { case (name, _) =>
      own(key(name)) || Alternatives.exists(of =>
        of.exists(_.named(name)) && of.exists(spec => own(spec.key))
      )
    }
    if (!own(FormatOptionSpecs.ValueFormat.key)) kept ++ known
    else {
      val inUse = (known ++ kept).collect {
        case (name, value)
            if Seq(FormatOptionSpecs.ValueFormat, FormatOptionSpecs.KeyFormat).exists(_.named(name)) =>
          value.trim.toLowerCase(java.util.Locale.ROOT)
      }.toSet
      kept.filterNot { case (name, _) =>
        FormatOptionSpecs.Schema.named(name) || FormatKey.of(name, formats).exists(k => !inUse(k.format))
      } ++ known
    }
  }

  private def isKnown(name: String, stream: String): Boolean =
    if (name.startsWith(Registry)) false
    else if (FormatKey.of(name, formats).isDefined) !other.has(name) || table.has(name)
    else if ((FormatOptionSpecs.all ++ WriteOptionSpecs.classes).exists(_.named(name))) table.has(name)
    else throw Errors.metadataInvalid(
      s"stream '$stream', key 'options'",
      s"'$name' is not an option of a format"
    )

  private def key(name: String) = table.find(name).orElse(other.find(name)).fold(name)(_.key)

  private def formats = (table.formats ++ other.formats).distinct
}

private[catalog] object DocumentFormats {
  private val Registry = "registry."

  /** The options that name the format of one side, of which only one may be set. */
  private val Alternatives: Seq[Seq[OptionSpec[_]]] = Seq(
    Seq(FormatOptionSpecs.ValueFormat, FormatOptionSpecs.ValueDeserializer, WriteOptionSpecs.ValueSerializer),
    Seq(FormatOptionSpecs.KeyFormat, FormatOptionSpecs.KeyDeserializer, WriteOptionSpecs.KeySerializer)
  )
}
