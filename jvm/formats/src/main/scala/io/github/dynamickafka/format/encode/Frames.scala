package io.github.dynamickafka.format.encode

import org.apache.spark.sql.types.{DataType, DateType, TimestampType}

import io.github.dynamickafka.format.encode.SideSource.Fields
import io.github.dynamickafka.format.registry.JsonSchemaText
import io.github.dynamickafka.format.{AvroSchemas, Format}
import io.github.dynamickafka.schemaregistry.{Frame, RegisteredSchema}

/** The schema that keys or values are written with, for formats with a registry. Pure. */
private[encode] object Frames {

  /** None: the format has no registry. */
  def of(source: SideSource, ofKeys: Boolean): Option[Frame] = source match {
    case fields: Fields if fields.format.format.hasRegistry =>
      Some(Frame(fields.format.registries, schema(fields), ofKeys, fields.registered))
    case _ => None
  }

  private def schema(of: Fields): RegisteredSchema =
    if (of.format.format == Format.JsonConfluent)
      of.registered.getOrElse(RegisteredSchema(
        RegisteredSchema.Json,
        JsonSchemaText.of(of.schema, ownTexts(of.format.options))
      ))
    else
      of.registered.filter(_.references.isEmpty).getOrElse(
        // With the schemas that it refers to in its text.
        RegisteredSchema(RegisteredSchema.Avro, of.avro.getOrElse(AvroSchemas.of(of.schema).toString))
      )

  /** Types that the options write in another way than JSON Schema's `date-time` and `date`. */
  private def ownTexts(options: Map[String, String]): Set[DataType] = {
    val standard = WriteSettings.forSpark(Format.JsonConfluent, Map.empty)
    Set[DataType](TimestampType).filter(_ =>
      options.get("timestampFormat") != standard.get("timestampFormat")
    ) ++
      Set[DataType](DateType).filter(_ => options.contains("dateFormat"))
  }
}
