package io.github.dynamickafka.format.table

import scala.collection.immutable.ArraySeq

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.unsafe.types.UTF8String
import org.sparkproject.spark_core.protobuf.DescriptorProtos.FieldDescriptorProto.{Label, Type}
import org.sparkproject.spark_core.protobuf.DescriptorProtos.{
  DescriptorProto,
  FieldDescriptorProto,
  FileDescriptorProto,
  FileDescriptorSet
}
import org.sparkproject.spark_core.protobuf.Descriptors.{Descriptor, FieldDescriptor, FileDescriptor}
import org.sparkproject.spark_core.protobuf.DynamicMessage

import io.github.dynamickafka.format.protobuf.{Protobuf, ProtobufOptions, ProtobufSchemas}
import io.github.dynamickafka.format.{DecodedValues, SideFormat, SideLayout}

/**
 * Measures the decoder of Protobuf beside the `DynamicMessage` of Java's library, here the copy inside Spark's core, whose fields
 * become a row as in `from_protobuf`: `ProtobufBenchmark <records> <rounds>`. Prints a line of JSON for each kind of record and each
 * decoder, with the nanoseconds of each round, after the same number of warm-up rounds. Records are bytes in memory.
 */
object ProtobufBenchmark {

  /** @param wanted the names of the fields that become columns */
  private final case class Records(name: String, fields: Seq[(String, Type)], wanted: Seq[String])

  private val small = Records(
    "small",
    Seq(
      "id" -> Type.TYPE_INT64,
      "customer" -> Type.TYPE_STRING,
      "amount" -> Type.TYPE_DOUBLE,
      "paid" -> Type.TYPE_BOOL,
      "at" -> Type.TYPE_SINT64,
      "country" -> Type.TYPE_STRING
    ),
    Seq("id", "customer", "amount", "paid", "at", "country")
  )
  private val wide = Records(
    "wide",
    (0 until 40).map(n => f"field_$n%02d" -> (if (n % 4 == 0) Type.TYPE_INT64 else Type.TYPE_STRING)),
    Seq("field_04", "field_21", "field_38")
  )

  /** The last row, volatile so that the compiler cannot eliminate the computation. */
  @volatile var sink: Any = null

  def main(args: Array[String]): Unit = {
    val Array(count, rounds) = args.map(_.toInt)
    val mapper = new ObjectMapper
    Seq(small, wide).foreach { records =>
      val message = descriptor(records)
      val bytes = Array.tabulate(count)(i => record(message, i))
      val decoders =
        Seq("product" -> product(records, message), "DynamicMessage" -> dynamic(records, message))
      // In turn, so that a slow moment affects both.
      val all =
        (1 to 2 * rounds).map(_ => decoders.map { case (name, decode) => name -> timed(bytes, decode) }.toMap)
      decoders.foreach { case (name, _) =>
        val line = mapper.createObjectNode().put("records_kind", records.name).put("reader", name)
          .put("records", count).put("bytes", bytes.map(_.length.toLong).sum)
        val nanos = line.putArray("nanos")
        all.drop(rounds).foreach(round => nanos.add(round(name)))
        println(mapper.writeValueAsString(line))
      }
    }
  }

  private def timed(records: Array[Array[Byte]], decode: Array[Byte] => Any): Long = {
    val begin = System.nanoTime()
    records.foreach(record => sink = decode(record))
    System.nanoTime() - begin
  }

  private def descriptor(records: Records): Descriptor = {
    val message = DescriptorProto.newBuilder().setName("Record")
    records.fields.zipWithIndex.foreach { case ((name, kind), i) =>
      message.addField(FieldDescriptorProto.newBuilder().setName(name).setNumber(i + 1).setType(kind)
        .setLabel(Label.LABEL_OPTIONAL))
    }
    val file =
      FileDescriptorProto.newBuilder().setName("record.proto").setSyntax("proto3").addMessageType(message)
    FileDescriptor.buildFrom(file.build(), Array.empty[FileDescriptor]).findMessageTypeByName("Record")
  }

  private def record(message: Descriptor, i: Int): Array[Byte] = {
    val made = DynamicMessage.newBuilder(message)
    message.getFields.forEach { field =>
      val value: Any = field.getJavaType match {
        case FieldDescriptor.JavaType.LONG => i.toLong + field.getNumber
        case FieldDescriptor.JavaType.DOUBLE => i * 0.25
        case FieldDescriptor.JavaType.BOOLEAN => i % 2 == 0
        case _ => f"${i * 31 + field.getNumber}%016x"
      }
      val _ = made.setField(field, value)
    }
    made.build().toByteArray
  }

  private def product(records: Records, message: Descriptor): Array[Byte] => Any = {
    val set = FileDescriptorSet.newBuilder().addFile(message.getFile.toProto).build().toByteArray
    val format = SideFormat(
      Protobuf,
      Map(ProtobufOptions.MessageName.name -> "Record"),
      descriptor = Some(ArraySeq.unsafeWrapArray(set))
    )
    val schema = ProtobufSchemas.columnsOfFile(format).fold(reason => sys.error(reason), identity)
    val side = SideLayout(format, schema, records.wanted.map(schema.fieldIndex))
    val (decoder, into) = (Protobuf.decoder(side), new DecodedValues(side.types))
    bytes => {
      val failure = decoder.decode(bytes, into)
      if (failure ne null) sys.error(failure.reason)
      into
    }
  }

  private def dynamic(records: Records, message: Descriptor): Array[Byte] => Any = {
    val fields = records.wanted.map(message.findFieldByName).toArray
    bytes => row(DynamicMessage.parseFrom(message, bytes), fields)
  }

  private def row(message: DynamicMessage, fields: Array[FieldDescriptor]): InternalRow = {
    val values = new Array[Any](fields.length)
    var i = 0
    while (i < fields.length) {
      // The default of a field without presence is null, as in `from_protobuf`.
      if (message.hasField(fields(i))) values(i) = message.getField(fields(i)) match {
        case text: String => UTF8String.fromString(text)
        case other => other
      }
      i += 1
    }
    new GenericInternalRow(values)
  }
}
