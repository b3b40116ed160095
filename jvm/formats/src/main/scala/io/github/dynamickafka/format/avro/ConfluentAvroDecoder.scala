package io.github.dynamickafka.format.avro

import java.{util => ju}

import scala.util.control.NonFatal

import org.apache.avro.LogicalTypes.Decimal
import org.apache.avro.Resolver.{
  Action,
  Container,
  DoNothing,
  Promote,
  ReaderUnion,
  RecordAdjust,
  Skip,
  WriterUnion
}
import org.apache.avro.{Resolver, Schema}
import org.apache.spark.sql.avro.SchemaConverters

import io.github.dynamickafka.format.{AvroSchemas, RegistryDecoder, SideLayout}
import io.github.dynamickafka.schemaregistry.RegisteredSchema

/** Decodes Avro with the id of its schema in a registry. */
private[format] object ConfluentAvroDecoder {

  /** Decodes into columns. */
  def apply(side: SideLayout, schemas: (String, Int) => Option[RegisteredSchema]): RegistryDecoder =
    by(new AvroBodies(side).of(_), schemas)

  /** @param bodyOf decodes the records that were written with a schema, or the reason why they are bad */
  def by(
      bodyOf: Schema => Either[String, AvroBody],
      schemas: (String, Int) => Option[RegisteredSchema]
  ): RegistryDecoder = new RegistryDecoder(RegisteredSchema.Avro, schemas, made(bodyOf))

  private def made(bodyOf: Schema => Either[String, AvroBody])(schema: RegisteredSchema) =
    try bodyOf(RegistryAvro.parse(schema))
    catch {
      case e: AvroMismatch => Left(e.getMessage)
      // The text of a schema is not that of a record, but what an exception contains is not known.
      case NonFatal(_) => Left("the schema it was written with cannot be resolved to that of the query")
    }
}

/**
 * Makes what decodes the records of a schema into columns: with an Avro schema, Avro resolves that of the record to it; otherwise the
 * fields of the record are converted to the columns of the same name.
 */
private[avro] final class AvroBodies(side: SideLayout) {
  private val reader: Option[Schema] = side.avro.map(AvroSchemas.parse)
  locally {
    // Types that Avro does not have are found when this is created.
    val declared =
      reader.getOrElse(SchemaConverters.toAvroType(side.schema, nullable = false, "topLevelRecord", ""))
    AvroBody(declared, declared, side)
  }

  /** What decodes the records of a schema, or the reason why they would be read as other values. */
  def of(writer: Schema): Either[String, AvroBody] =
    RegistryAvro.resolved(writer, reader.getOrElse(writer)).map(AvroBody(_, reader.getOrElse(writer), side))
}

/** Avro schemas of registries. Pure. */
private[dynamickafka] object RegistryAvro {

  def parse(schema: RegisteredSchema): Schema = {
    val names = AvroSchemas.parser()
    schema.references.foreach(reference => names.parse(reference.text))
    names.parse(schema.text)
  }

  /** The writer's schema, or the reason why its records would be read as other values. */
  def resolved(writer: Schema, reader: Schema): Either[String, Schema] =
    difference(writer, reader).map(path =>
      s"'$path' has another logical type in the schema it was written with"
    ).toLeft(writer)

  /**
   * Where two schemas have logical types that differ. Avro would take milliseconds for microseconds, or a decimal for one of
   * another scale, because it resolves the types below only; of a decimal with more digits, Spark
   * would lose some.
   */
  def difference(writer: Schema, reader: Schema): Option[String] =
    find(Resolver.resolve(writer, reader), "", ju.Collections.newSetFromMap(new ju.IdentityHashMap))

  /** Looks into what Avro does, which also tells the branches of unions that it takes. */
  private def find(action: Action, path: String, seen: ju.Set[Action]): Option[String] = {
    def below(name: String) = if (path.isEmpty) name else s"$path.$name"
    if (!seen.add(action)) None
    else
      action match {
        case union: WriterUnion => union.actions.iterator.flatMap(find(_, path, seen)).nextOption()
        case union: ReaderUnion => find(union.actualAction, path, seen)
        case record: RecordAdjust =>
          val read = record.fieldActions.filterNot(_.isInstanceOf[Skip])
          read.iterator.zip(record.readerOrder.iterator).flatMap { case (field, named) =>
            find(field, below(named.name), seen)
          }.nextOption()
        case container: Container =>
          val name = if (container.writer.getType == Schema.Type.ARRAY) "element" else "value"
          find(container.elementAction, below(name), seen)
        case _: DoNothing | _: Promote => Option.when(differ(action.writer, action.reader))(path)
        case _ => None
      }
  }

  /** A type without a logical one may be read as any, unless it has a name of Connect that is another unit of time. */
  private def differ(writer: Schema, reader: Schema): Boolean =
    (Option(writer.getLogicalType), Option(reader.getLogicalType)) match {
      case (Some(a: Decimal), Some(b: Decimal)) =>
        a.getScale != b.getScale || a.getPrecision > b.getPrecision
      case (Some(a), Some(b)) => a.getName != b.getName
      case (None, Some(_)) => AvroTime.of(writer).exists(!AvroTime.of(reader).contains(_))
      case _ => AvroTime.of(writer).exists(unit => AvroTime.of(reader).exists(_ != unit))
    }
}
