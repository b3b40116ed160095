package io.github.dynamickafka.format.avro

import java.{util => ju}

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
   * another scale, because it resolves the types below only; of a decimal with more digits, Spark
   * would lose some.
   */
  def difference(writer: Schema, reader: Schema): Option[String] =
    find(Resolver.resolve(writer, reader), "", ju.Collections.newSetFromMap(new ju.IdentityHashMap))

  /** In what Avro does, which also tells the branches of unions that it takes. */
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
