package io.github.dynamickafka.format.avro

import java.io.IOException
import java.nio.ByteBuffer

import scala.util.Random

import org.apache.avro.Schema
import org.apache.avro.generic.GenericDatumReader
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.testkit.TimeLimit

class AvroBytesSuite extends AnyFunSuite with TimeLimit {
  private val in = new AvroBytes

  private def read(schema: Schema, bytes: Array[Byte], writer: Option[Schema] = None): Any = {
    in.reset(bytes, 0)
    val found = new GenericDatumReader[Any](writer.getOrElse(schema), schema).read(null, in)
    assert(in.isEnd)
    found
  }

  test("records of random schemas are what Avro's own decoder makes of them") {
    val make = new RandomAvro(new Random(TestSeed()))
    (1 to 300).foreach { _ =>
      val schema = make.record()
      val datum = make.datum(schema)
      Seq(false, true).foreach { blocks =>
        val bytes = RandomAvro.encoded(schema, datum, blocks)
        assert(read(schema, bytes) == RandomAvro.read(schema, bytes), schema)
      }
      // All fields are skipped.
      val empty = Schema.createRecord(schema.getName, null, schema.getNamespace, false)
      empty.setFields(java.util.List.of())
      read(empty, RandomAvro.encoded(schema, datum), Some(schema))
      read(empty, RandomAvro.encoded(schema, datum, blocks = true), Some(schema))
    }
  }

  test("numbers of all lengths") {
    val random = new Random(TestSeed())
    val long = Schema.create(Schema.Type.LONG)
    val int = Schema.create(Schema.Type.INT)
    (Seq(
      0L,
      -1L,
      Long.MinValue,
      Long.MaxValue
    ) ++ Seq.fill(200)(random.nextLong() >> random.nextInt(64))).foreach { n =>
      assert(read(long, RandomAvro.encoded(long, n)) == n)
      if (n.isValidInt) assert(read(int, RandomAvro.encoded(int, n.toInt)) == n.toInt)
      else {
        in.reset(RandomAvro.encoded(long, n), 0)
        intercept[IOException](in.readInt())
      }
    }
    in.reset(Array.fill(11)(-1.toByte), 0)
    intercept[IOException](in.readLong())
  }

  /** A length, then nothing. */
  private def claims(length: Long): Array[Byte] = RandomAvro.encoded(Schema.create(Schema.Type.LONG), length)

  test("no memory is allocated for lengths that the bytes do not have") {
    Seq(Int.MaxValue.toLong, Long.MaxValue, 1000000000L, 2L, -1L, Long.MinValue).foreach { length =>
      val bytes = claims(length) :+ 0.toByte
      Seq[AvroBytes => Any](
        _.readString(null),
        _.readBytes(null),
        _.readBytes(ByteBuffer.allocate(1)),
        _.skipString(),
        _.skipBytes()
      ).foreach { read =>
        in.reset(bytes, 0)
        intercept[IOException](read(in))
      }
    }
    Seq(Int.MaxValue.toLong, Long.MaxValue, 1000000000L, Long.MinValue).foreach { length =>
      Seq[AvroBytes => Any](_.readArrayStart(), _.readMapStart(), _.skipArray(), _.arrayNext(), _.mapNext())
        .foreach { read =>
          in.reset(claims(length), 0)
          intercept[IOException](read(in))
        }
    }
    val nulls = Schema.createArray(Schema.create(Schema.Type.NULL))
    assert(read(nulls, claims(1000) :+ 0.toByte).asInstanceOf[java.util.Collection[_]].size == 1000)
    // Many blocks of many items that need no bytes.
    val many = Array.fill(1000)(claims(60000)).flatten :+ 0.toByte
    intercept[IOException](read(nulls, many))
  }

  test("no byte after the end is read") {
    Seq[AvroBytes => Any](
      _.readBoolean(),
      _.readFloat(),
      _.readDouble(),
      _.readFixed(new Array[Byte](3)),
      _.readLong()
    )
      .foreach { read =>
        in.reset(Array(1, 2).map(_.toByte), 2)
        intercept[IOException](read(in))
      }
  }
}
