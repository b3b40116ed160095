package io.github.dynamickafka.format.avro

import scala.jdk.CollectionConverters._

import org.apache.avro.LogicalTypes.Decimal
import org.apache.avro.Schema

import io.github.dynamickafka.schemaregistry.RegisteredSchema

/** Avro schemas of registries. Pure. */
private[dynamickafka] object RegistryAvro {

  def parse(text: String): Schema = parser().parse(text)

  def parse(schema: RegisteredSchema): Schema = {
    val names = parser()
    schema.references.foreach(reference => names.parse(reference.text))
    names.parse(schema.text)
  }

  /** Registries accept defaults that do not fit their types. */
  private def parser() = new Schema.Parser().setValidateDefaults(false)

  /**
   * Where two schemas have logical types that differ. Avro would take milliseconds for microseconds, or a decimal for one of
   * another scale, because it resolves the types below only.
   */
  def difference(writer: Schema, reader: Schema): Option[String] =
    find(Schema.applyAliases(writer, reader), reader, "", Set.empty)

  private def find(
      writer: Schema,
      reader: Schema,
      path: String,
      within: Set[(String, String)]
  ): Option[String] = {
    def below(name: String) = if (path.isEmpty) name else s"$path.$name"
    (writer.getType, reader.getType) match {
      case (Schema.Type.UNION, _) =>
        writer.getTypes.asScala.iterator.flatMap(find(_, reader, path, within)).nextOption()
      case (_, Schema.Type.UNION) =>
        val same = reader.getTypes.asScala.filter(_.getType == writer.getType)
        // Avro takes the first branch that fits.
        val found = same.map(find(writer, _, path, within))
        if (found.nonEmpty && found.forall(_.isDefined)) found.head else None
      case (Schema.Type.RECORD, Schema.Type.RECORD) =>
        val names = (writer.getFullName, reader.getFullName)
        if (within.contains(names)) None
        else
          reader.getFields.asScala.iterator.flatMap { field =>
            Option(writer.getField(field.name)).flatMap(f =>
              find(f.schema, field.schema, below(field.name), within + names)
            )
          }.nextOption()
      case (Schema.Type.ARRAY, Schema.Type.ARRAY) =>
        find(writer.getElementType, reader.getElementType, below("element"), within)
      case (Schema.Type.MAP, Schema.Type.MAP) =>
        find(writer.getValueType, reader.getValueType, below("value"), within)
      case _ =>
        Option.when(differ(writer, reader))(path)
    }
  }

  /** A type without a logical one may be read as any, unless it has a name of Connect that is another unit of time. */
  private def differ(writer: Schema, reader: Schema): Boolean =
    (Option(writer.getLogicalType), Option(reader.getLogicalType)) match {
      case (Some(a: Decimal), Some(b: Decimal)) => a.getScale != b.getScale
      case (Some(a), Some(b)) => a.getName != b.getName
      case (None, Some(_)) => AvroTime.of(writer).exists(!AvroTime.of(reader).contains(_))
      case _ => false
    }
}
