package io.github.dynamickafka.format.protobuf

import org.apache.spark.sql.types.{
  ArrayType,
  BinaryType,
  BooleanType,
  DataType,
  DayTimeIntervalType,
  DecimalType,
  DoubleType,
  FloatType,
  IntegerType,
  LongType,
  MapType,
  StringType,
  StructType,
  TimestampType
}

import io.github.dynamickafka.format.SideFormat
import io.github.dynamickafka.protobuf.{ProtoMessage, ProtoSchemas, ProtoTypes}
import io.github.dynamickafka.schemaregistry.RegisteredSchema

/** Messages and columns of the formats with Protobuf. Pure. */
private[dynamickafka] object ProtobufSchemas {

  /** @return the message of the descriptor file that has been read, or the reason why there is none */
  def ofFile(format: SideFormat): Either[String, (ProtoMessage, ProtoTypes)] = {
    val set = format.descriptor.getOrElse(throw new IllegalStateException("the descriptor file was not read"))
    ProtoSchemas.ofDescriptors(set.toArray).flatMap { types =>
      val name = format.options(ProtobufOptions.MessageName).trim
      types.find(name).map(_ -> types).toRight(s"it has no message '$name', or several of this name.")
    }
  }

  /** The columns of the message of the descriptor file. */
  def columnsOfFile(format: SideFormat): Either[String, StructType] = ofFile(format).flatMap {
    case (message, types) => ProtobufColumns.of(message, types, ProtobufOptions.of(format.options))
  }

  def ofRegistry(schema: RegisteredSchema): Either[String, ProtoTypes] =
    if (schema.kind != RegisteredSchema.Protobuf)
      Left(s"its schema is of the type ${schema.kind}, not ${RegisteredSchema.Protobuf}")
    else ProtoSchemas.ofRegistry(schema.text, schema.references.map(r => r.name -> r.text))

  /** The columns of a schema in a registry: of the message that the options name, or of the first one. */
  def columnsOfRegistry(schema: RegisteredSchema, format: SideFormat): Either[String, StructType] =
    ofRegistry(schema).flatMap { types =>
      val named = format.options.get(ProtobufOptions.MessageName).map(_.trim)
      named.fold(
        types.at(Seq(0)).headOption
      )(types.find).toRight(s"it has no message${named.fold("")(n => s" '$n'")}.")
        .flatMap(ProtobufColumns.of(_, types, ProtobufOptions.of(format.options)))
    }

  /** @throws IllegalArgumentException for a type that no field has */
  def checkTypes(dataType: DataType): Unit = dataType match {
    case struct: StructType => struct.foreach(f => checkTypes(f.dataType))
    case ArrayType(element, _) => checkTypes(element)
    case MapType(key, value, _) => Seq(key, value).foreach(checkTypes)
    case BooleanType | IntegerType | LongType | FloatType | DoubleType | StringType | BinaryType | TimestampType =>
      ()
    case _: DayTimeIntervalType => ()
    case d: DecimalType if d.precision == 20 && d.scale == 0 => ()
    case other => throw new IllegalArgumentException(s"Protobuf has no ${other.sql}.")
  }
}
