package io.github.dynamickafka.format.decode

import java.{util => ju}

import scala.util.control.NonFatal

import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.{Format, SideLayout}
import io.github.dynamickafka.schemaregistry.{RegisteredSchema, RegistrySettings, SchemaCache}

/** Makes the decoder of keys or values, for one task. */
private[dynamickafka] object Decoders {

  def of(side: SideLayout): Decoder = side.format.format match {
    case Format.Raw => (bytes, into) => whole(bytes, into)
    case Format.Text => (bytes, into) => whole(UTF8String.fromBytes(bytes), into)
    // The rows of a format of changes are inside the records.
    case Format.AvroConfluent | Format.DebeziumAvroConfluent => ConfluentAvroDecoder(side, schemas(side))
    case Format.Json | _: Format.Change => new JsonDecoder(side)
    case Format.Csv => new CsvDecoder(side)
    case Format.Avro => new AvroDecoder(side)
    case Format.JsonConfluent => new ConfluentHeader(new JsonDecoder(side))
    case Format.Protobuf => new ProtobufDecoder(side)
    case Format.ProtobufConfluent => new ConfluentProtobufDecoder(side, schemas(side))
  }

  /** The schema of an id in the registry of a cluster. */
  private[format] def schemas(side: SideLayout): (String, Int) => Option[RegisteredSchema] = {
    val settings = new ju.HashMap[String, RegistrySettings]
    (cluster, id) =>
      SchemaCache.shared.schema(settings.computeIfAbsent(cluster, side.format.registries.of(_)), id)
  }

  /**
   * Makes a decoder of all fields on the driver, because types and values that a format does not support are found when
   * it is made.
   */
  def check(side: SideLayout): Unit =
    try {
      val _ = of(side.change.fold(side)(c => side.copy(schema = c.payload, wanted = c.payload.indices)))
    } catch {
      case NonFatal(e) =>
        throw Errors.invalidSchema(
          s"the format '${side.format.format.name}' with its options cannot have the columns " +
            s"${side.schema.toDDL}: ${e.getMessage}"
        )
    }

  private def whole(value: AnyRef, into: DecodedValues): DecodeFailure = {
    into.setObject(0, value)
    null
  }
}
