package io.github.dynamickafka.protobuf

import java.util.Base64

import scala.util.control.NonFatal

/** Types of descriptors and of the schemas of registries. Pure. */
private[dynamickafka] object ProtoSchemas {

  /** @return the reason, if the bytes are not a descriptor set */
  def ofDescriptors(set: Array[Byte]): Either[String, ProtoTypes] =
    try {
      val files = DescriptorBytes.files(set)
      if (files.forall(_.messages.isEmpty)) Left("it contains no message.") else Right(ProtoTypes.of(files))
    } catch {
      case ProtoSyntaxException(reason) => Left(s"$reason.")
      case NonFatal(_) => Left("it is not a descriptor set, as 'protoc --descriptor_set_out' writes it.")
    }

  /**
   * @param text a .proto file, or a descriptor of it in base 64, which some clients register and registries give back
   * @param references files that it imports
   * @return the reason, if one of them cannot be parsed
   */
  def ofRegistry(text: String, references: Seq[(String, String)]): Either[String, ProtoTypes] =
    try {
      val files = references.map { case (name, own) => file(name, own) } :+ file("", text)
      Right(ProtoTypes.of(files, WellKnownTypes.files))
    } catch {
      case ProtoSyntaxException(reason) => Left(s"the Protobuf schema cannot be parsed: $reason.")
      case NonFatal(e) => Left(s"the Protobuf schema cannot be parsed: ${e.getClass.getSimpleName}.")
    }

  private def file(name: String, text: String): FileDefinition = {
    val compact = text.filterNot(_.isWhitespace)
    if (compact.nonEmpty && compact.forall(c => c.isLetterOrDigit || "+/=".contains(c)))
      DescriptorBytes.file(Base64.getDecoder.decode(compact))
    else ProtoText.parse(name, text)
  }
}
