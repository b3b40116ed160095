package io.github.dynamickafka.format.avro

import java.{util => ju}

import scala.util.control.NonFatal

import org.apache.avro.Schema
import org.apache.spark.sql.avro.SchemaConverters

import io.github.dynamickafka.format.{ConfluentHeader, DecodeFailure, DecodedValues, Decoder, SideLayout}
import io.github.dynamickafka.schemaregistry.{RegisteredSchema, WireFormat}

/**
 * Decodes Avro with the id of its schema in a registry.
 *
 * @param bodyOf decodes the records that were written with a schema, or the reason why they are bad
 * @param schemas the schema of an id in the registry of a cluster; None: the registry does not know the id
 */
private[format] final class ConfluentAvroDecoder(
    bodyOf: Schema => Either[String, AvroBody],
    schemas: (String, Int) => Option[RegisteredSchema]
) extends Decoder {
  import ConfluentAvroDecoder._

  private val byCluster = new ju.HashMap[String, ju.HashMap[Integer, Written]]
  private var cluster: String = _
  private var byId: ju.HashMap[Integer, Written] = new ju.HashMap

  // Most records have the schema of the one before.
  private var lastId = 0
  private var last: Written = _

  override def from(next: String): Unit = if (next ne cluster) {
    cluster = next
    byId = byCluster.computeIfAbsent(next, _ => new ju.HashMap)
    last = null
  }

  override def decode(bytes: Array[Byte], into: DecodedValues): DecodeFailure =
    if (!WireFormat.hasHeader(bytes)) {
      into.clear()
      ConfluentHeader.Missing
    } else {
      val id = WireFormat.id(bytes)
      if ((last eq null) || id != lastId || (last eq Unknown)) {
        last = of(id)
        lastId = id
      }
      val reason =
        if (last.body eq null) {
          into.clear()
          last.reason
        } else last.body.decode(bytes, WireFormat.HeaderLength, into)
      if (reason eq null) null else DecodeFailure(reason, None, unparsable = true, Some(id))
    }

  private def of(id: Int): Written = {
    val known = byId.get(id)
    if (known ne null) known
    // Not kept, because the id may be registered later.
    else schemas(cluster, id).fold(Unknown) { schema =>
      val made = make(schema)
      byId.put(id, made)
      made
    }
  }

  private def make(schema: RegisteredSchema): Written =
    if (schema.kind != RegisteredSchema.Avro)
      Written(null, s"its schema is of the type ${schema.kind}, not ${RegisteredSchema.Avro}")
    else
      try bodyOf(RegistryAvro.parse(schema)).fold(Written(null, _), Written(_, null))
      catch {
        case e: AvroMismatch => Written(null, e.getMessage)
        // The text of a schema is not that of a record, but what an exception contains is not known.
        case NonFatal(_) =>
          Written(null, "the schema it was written with cannot be resolved to that of the query")
      }
}

private[format] object ConfluentAvroDecoder {

  /**
   * For columns: with an Avro schema, Avro resolves that of the record to it; otherwise the fields of the record are converted
   * to the columns of the same name.
   */
  def apply(
      side: SideLayout,
      schemas: (String, Int) => Option[RegisteredSchema]
  ): ConfluentAvroDecoder = {
    val reader: Option[Schema] = side.avro.map(RegistryAvro.parse)
    // Types that Avro does not have are found when the decoder is made.
    val declared =
      reader.getOrElse(SchemaConverters.toAvroType(side.schema, nullable = false, "topLevelRecord", ""))
    val _ = AvroBody(declared, declared, side)
    new ConfluentAvroDecoder(
      writer => resolved(writer, reader.getOrElse(writer)).map(AvroBody(_, reader.getOrElse(writer), side)),
      schemas
    )
  }

  /** The writer's schema, or the reason why its records would be read as other values. */
  def resolved(writer: Schema, reader: Schema): Either[String, Schema] =
    RegistryAvro.difference(writer, reader).map(path =>
      s"'$path' has another logical type in the schema it was written with"
    ).toLeft(writer)

  /** @param body null: all records with this schema are bad, for the reason */
  private final case class Written(body: AvroBody, reason: String)

  private val Unknown = Written(null, "the schema registry does not know the id of its schema")
}
