package io.github.dynamickafka.format.avro

import java.io.ByteArrayOutputStream
import java.nio.ByteBuffer
import java.{util => ju}

import scala.jdk.CollectionConverters._
import scala.util.Random

import org.apache.avro.Schema
import org.apache.avro.generic.{GenericData, GenericDatumReader, GenericDatumWriter}
import org.apache.avro.io.{DecoderFactory, EncoderFactory}

/** Random schemas that Spark has types for, and records of them. */
final class RandomAvro(random: Random) {
  private var names = 0

  private def name(prefix: String): String = {
    names += 1
    s"$prefix$names"
  }

  def record(depth: Int = 3): Schema = {
    val fields = Seq.fill(1 + random.nextInt(5))(new Schema.Field(name("f"), any(depth - 1)))
    Schema.createRecord(name("R"), null, "random", false, fields.asJava)
  }

  private def any(depth: Int): Schema = {
    val kinds = if (depth > 0) 14 else 10
    random.nextInt(kinds) match {
      case 0 => Schema.create(Schema.Type.BOOLEAN)
      case 1 => Schema.create(Schema.Type.INT)
      case 2 => Schema.create(Schema.Type.LONG)
      case 3 => Schema.create(Schema.Type.FLOAT)
      case 4 => Schema.create(Schema.Type.DOUBLE)
      case 5 => Schema.create(Schema.Type.STRING)
      case 6 => Schema.create(Schema.Type.BYTES)
      case 7 => Schema.createEnum(name("E"), null, "random", ju.List.of("A", "B", "C"))
      case 8 => Schema.createFixed(name("F"), null, "random", 1 + random.nextInt(4))
      case 9 => Schema.createUnion(Schema.create(Schema.Type.NULL), Schema.create(Schema.Type.STRING))
      case 10 => Schema.createArray(any(depth - 1))
      case 11 => Schema.createMap(any(depth - 1))
      case 12 => record(depth - 1)
      case _ => Schema.createUnion(Schema.create(Schema.Type.NULL), record(depth - 1))
    }
  }

  def datum(schema: Schema): Any = schema.getType match {
    case Schema.Type.BOOLEAN => random.nextBoolean()
    case Schema.Type.INT => random.nextInt() >> random.nextInt(32)
    case Schema.Type.LONG => random.nextLong() >> random.nextInt(64)
    case Schema.Type.FLOAT => random.nextFloat()
    case Schema.Type.DOUBLE => random.nextDouble()
    case Schema.Type.STRING => random.alphanumeric.take(random.nextInt(9)).mkString + "é€"
    case Schema.Type.BYTES => ByteBuffer.wrap(bytes(random.nextInt(9)))
    case Schema.Type.NULL => null
    case Schema.Type.ENUM =>
      new GenericData.EnumSymbol(schema, schema.getEnumSymbols.get(random.nextInt(3)))
    case Schema.Type.FIXED => new GenericData.Fixed(schema, bytes(schema.getFixedSize))
    case Schema.Type.ARRAY =>
      new ju.ArrayList[Any](Seq.fill(random.nextInt(4))(datum(schema.getElementType)).asJava)
    case Schema.Type.MAP =>
      val map = new ju.HashMap[String, Any]
      (0 until random.nextInt(3)).foreach(i => map.put(s"k$i", datum(schema.getValueType)))
      map
    case Schema.Type.UNION => datum(schema.getTypes.get(random.nextInt(schema.getTypes.size)))
    case Schema.Type.RECORD =>
      val record = new GenericData.Record(schema)
      schema.getFields.forEach(f => record.put(f.pos, datum(f.schema)))
      record
  }

  def bytes(n: Int): Array[Byte] = {
    val made = new Array[Byte](n)
    random.nextBytes(made)
    made
  }

  /** Bytes that resemble others: some are changed, missing or added. */
  def damaged(bytes: Array[Byte]): Array[Byte] = {
    val made = bytes.clone
    (0 to random.nextInt(3)).foreach(_ =>
      if (made.nonEmpty) made(random.nextInt(made.length)) = random.nextInt().toByte
    )
    random.nextInt(4) match {
      case 0 => made.take(random.nextInt(made.length + 1))
      case 1 => made ++ this.bytes(random.nextInt(5))
      case _ => made
    }
  }
}

object RandomAvro {

  /** Written by Avro's own library, with the sizes of blocks or without. */
  def encoded(schema: Schema, datum: Any, blocks: Boolean = false): Array[Byte] = {
    val out = new ByteArrayOutputStream
    val factory = EncoderFactory.get
    val encoder = if (blocks) factory.blockingBinaryEncoder(out, null) else factory.binaryEncoder(out, null)
    new GenericDatumWriter[Any](schema).write(datum, encoder)
    encoder.flush()
    out.toByteArray
  }

  def read(schema: Schema, bytes: Array[Byte]): Any =
    new GenericDatumReader[Any](schema).read(null, DecoderFactory.get.binaryDecoder(bytes, null))
}
