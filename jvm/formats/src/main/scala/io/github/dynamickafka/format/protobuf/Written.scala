package io.github.dynamickafka.format.protobuf

import scala.util.control.NonFatal

import io.github.dynamickafka.format.SideLayout
import io.github.dynamickafka.protobuf.{MessageFit, ProtoMessage, ProtoTypes}

/** What the records with one schema of a registry and one path are. */
private[format] sealed trait Written {

  /** @return the decoder of the record, or why there is none */
  def message(bytes: Array[Byte], from: Int): Either[String, ProtobufBody]
}

private[format] object Written {

  final case class Bad(reason: String) extends Written {
    override def message(bytes: Array[Byte], from: Int): Either[String, ProtobufBody] = Left(reason)
  }

  final case class Message(body: ProtobufBody) extends Written {
    private val found = Right(body)
    override def message(bytes: Array[Byte], from: Int): Either[String, ProtobufBody] = found
  }

  /**
   * Serializers count messages in different ways, see [[ProtoTypes.at]]: a record is the message that its bytes fit. If they fit
   * several, `messageName` decides; without it, the record is a bad one.
   */
  private final case class OneOf(readings: Seq[Reading]) extends Written {
    override def message(bytes: Array[Byte], from: Int): Either[String, ProtobufBody] = {
      val fitting = readings.filter(_.fit.fits(bytes, from))
      val chosen = fitting match {
        case Seq(one) => Some(one)
        case several => Some(several.filter(_.isWanted)).collect { case Seq(one) => one }
      }
      chosen.fold[Either[String, ProtobufBody]](Left(reason))(_.written.message(bytes, from))
    }

    private def reason =
      s"its path can mean ${readings.map(r => s"'${r.name}'").mkString(" or ")}, because serializers count the " +
        "entries of maps in different ways: set 'messageName'"
  }

  /** @param isWanted whether `messageName` is this message */
  private final case class Reading(name: String, fit: MessageFit, written: Written, isWanted: Boolean)

  /** @param wanted the option `messageName` */
  def of(path: Seq[Int], types: ProtoTypes, side: SideLayout, wanted: Option[String]): Written =
    types.at(path) match {
      case Seq() => Bad("its schema does not have the message that it begins with")
      case Seq(one) => single(one, types, side, wanted)
      case several =>
        OneOf(several.map { message =>
          val isWanted = wanted.exists(isNamed(message, _))
          Reading(
            message.name,
            new MessageFit(message, types),
            single(message, types, side, wanted),
            isWanted
          )
        })
    }

  private def single(
      message: ProtoMessage,
      types: ProtoTypes,
      side: SideLayout,
      wanted: Option[String]
  ): Written =
    if (!wanted.forall(isNamed(message, _))) Bad(s"it is a message '${message.name}', not '${wanted.get}'")
    else
      try Message(new ProtobufBody(message, types, side, strict = false))
      catch {
        case MessageMismatch(_, reason) => Bad(reason)
        case NonFatal(_) => Bad("the schema it was written with cannot be resolved to that of the query")
      }

  private def isNamed(message: ProtoMessage, name: String) =
    message.name == name || message.name.endsWith(s".$name")
}
