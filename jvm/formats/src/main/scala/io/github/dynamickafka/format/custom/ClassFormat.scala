package io.github.dynamickafka.format.custom

import org.apache.spark.sql.types.StructType

import io.github.dynamickafka.extension.CustomFormat
import io.github.dynamickafka.format.{Decoder, Encoder, Format, FormatWriter, SideLayout, SideSource}
import io.github.dynamickafka.option.NamedClass

/** A format that a class of the user implements: `format=class:<name>`. */
private[dynamickafka] final case class ClassFormat(className: String, columns: Option[StructType])
    extends Format(ClassFormat.Prefix + className) {
  override def fixedSchema: Option[StructType] = columns
  override def decodesFields: Boolean = false
  override def decoder(side: SideLayout): Decoder = new ClassDecoder(className, side)
  override def writer: Option[FormatWriter] = Some(ClassFormat.Writer)
}

private[dynamickafka] object ClassFormat {
  val Prefix = "class:"

  /** The format of a text that names a class, or why it is none; None for all other texts. */
  def parse(text: String): Option[Either[String, ClassFormat]] =
    Option.when(text.toLowerCase(java.util.Locale.ROOT).startsWith(Prefix)) {
      val name = text.drop(Prefix.length).trim
      // Some classes determine the columns of a table, so an instance is needed before there is a task.
      NamedClass.create(name, classOf[CustomFormat]).map(created =>
        ClassFormat(name, Option(created.schema()))
      )
    }

  private object Writer extends FormatWriter {
    override def encoder(fields: SideSource.Fields): Encoder = new ClassEncoder(fields)
  }
}
