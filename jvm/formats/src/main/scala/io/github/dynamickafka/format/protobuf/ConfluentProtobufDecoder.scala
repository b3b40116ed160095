package io.github.dynamickafka.format.protobuf

import java.{util => ju}

import io.github.dynamickafka.format.registry.ConfluentHeader
import io.github.dynamickafka.format.{DecodeFailure, DecodedValues, Decoder, SideLayout}
import io.github.dynamickafka.protobuf.{ProtoInput, ProtoTypes}
import io.github.dynamickafka.schemaregistry.{RegisteredSchema, WireFormat}

/**
 * Decodes Protobuf with the id of its schema in a registry and the path to its message in that schema. The fields of the message
 * are the columns of the same name.
 *
 * @param schemas the schema of an id in the registry of a cluster; None: the registry does not know the id
 */
private[format] final class ConfluentProtobufDecoder(
    side: SideLayout,
    schemas: (String, Int) => Option[RegisteredSchema]
) extends Decoder {
  import ConfluentProtobufDecoder._

  ProtobufSchemas.checkTypes(side.schema)

  private val wanted = side.format.options.get(ProtobufOptions.MessageName).map(_.trim.stripPrefix("."))
  private val schemaTypes = new ju.HashMap[(String, Int), Either[String, ProtoTypes]]
  private val bodies = new ju.HashMap[(String, Int, Seq[Int]), Written]
  private val in = new ProtoInput
  private var cluster: String = _

  // Most records have the schema and the message of the one before.
  private var lastId = 0
  private var lastPath: Seq[Int] = First
  private var last: Written = _

  override def from(next: String): Unit = if (next ne cluster) {
    cluster = next
    last = null
  }

  override def decode(bytes: Array[Byte], into: DecodedValues): DecodeFailure =
    if (!WireFormat.hasHeader(bytes)) {
      into.clear()
      ConfluentHeader.Missing
    } else {
      val id = WireFormat.id(bytes)
      val path =
        try {
          in.reset(bytes, WireFormat.HeaderLength)
          indexes()
        } catch { case ProtoInput.Malformed => Nil }
      if ((last eq null) || id != lastId || path != lastPath || (last eq Unknown)) {
        last = of(id, path)
        lastId = id
        lastPath = path
      }
      val failure = last.message(bytes, in.position) match {
        case Right(body) => body.decode(bytes, in.position, into)
        case Left(reason) =>
          into.clear()
          DecodeFailure(reason, None, unparsable = true)
      }
      if (failure eq null) null else failure.copy(schemaId = Some(id))
    }

  /** The path to the message; empty if it is invalid. */
  private def indexes(): Seq[Int] = {
    val count = in.zigZag()
    if (count == 0) First
    else if (count < 0 || count > MostIndexes) Nil
    else Seq.fill(count.toInt)(in.zigZag().toInt)
  }

  private def of(id: Int, path: Seq[Int]): Written = {
    val key = (cluster, id, path)
    val known = bodies.get(key)
    if (known ne null) known
    // Not kept, because the id may be registered later.
    else schemas(cluster, id).fold(Unknown) { schema =>
      val types = schemaTypes.computeIfAbsent((cluster, id), _ => ProtobufSchemas.ofRegistry(schema))
      val found = types.fold(Written.Bad, Written.of(path, _, side, wanted))
      // A path is what a record says: there are as many as messages.
      found match {
        case Written.Bad(_) => ()
        case _ => bodies.put(key, found)
      }
      found
    }
  }
}

private[format] object ConfluentProtobufDecoder {
  private val First: Seq[Int] = Seq(0)
  private val MostIndexes = 100
  private val Unknown: Written = Written.Bad("the schema registry does not know the id of its schema")
}
