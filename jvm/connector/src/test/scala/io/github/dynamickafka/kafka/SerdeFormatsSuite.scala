package io.github.dynamickafka.kafka

import java.{util => ju}

import org.apache.avro.generic.GenericRecord
import org.apache.kafka.common.serialization._
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException
import io.github.dynamickafka.testkit.TimeLimit

/** What Kafka's classes, and those of others, are as formats. */
class SerdeFormatsSuite extends AnyFunSuite with TimeLimit {
  import SerdeFormatsSuite._

  private val formats = new SerdeFormats

  private def read(found: Class[_]): Seq[DataType] =
    formats.deserializer("valueDeserializer", found.getName).fold(fail(_), _.wholeTypes)
  private def written(found: Class[_]): Seq[DataType] =
    formats.serializer("valueSerializer", found.getName).fold(fail(_), _.wholeTypes)

  test("the types of Kafka's own classes") {
    val types: Seq[(Class[_], Class[_], DataType)] = Seq(
      (classOf[StringDeserializer], classOf[StringSerializer], StringType),
      (classOf[LongDeserializer], classOf[LongSerializer], LongType),
      (classOf[IntegerDeserializer], classOf[IntegerSerializer], IntegerType),
      (classOf[ShortDeserializer], classOf[ShortSerializer], ShortType),
      (classOf[FloatDeserializer], classOf[FloatSerializer], FloatType),
      (classOf[DoubleDeserializer], classOf[DoubleSerializer], DoubleType),
      (classOf[BooleanDeserializer], classOf[BooleanSerializer], BooleanType),
      (classOf[ByteArrayDeserializer], classOf[ByteArraySerializer], BinaryType),
      (classOf[ByteBufferDeserializer], classOf[ByteBufferSerializer], BinaryType),
      (classOf[UUIDDeserializer], classOf[UUIDSerializer], StringType)
    )
    for ((reading, writing, expected) <- types) {
      assert(read(reading) == Seq(expected), reading)
      assert(written(writing) == Seq(expected), writing)
    }
  }

  test("the types of subclasses, of Scala's primitives, and of Avro records") {
    assert(read(classOf[Inherited]) == Seq(StringType))
    assert(read(classOf[OfScala]) == Seq(LongType))
    assert(read(classOf[Records]) == Nil)
    assert(formats.deserializer(
      "valueDeserializer",
      classOf[Records].getName
    ).exists(_.withoutSchema.isEmpty))
    val anything = formats.deserializer("valueDeserializer", classOf[Anything].getName).toOption.get
    assert(anything.hasFields && anything.withoutSchema.exists(reason =>
      reason.contains(classOf[Anything].getName) && reason.contains("java.lang.Object")
    ))
  }

  test("INVALID_SCHEMA for another type, with class and type") {
    for (found <- Seq(classOf[Lists], classOf[VoidDeserializer])) {
      val e = intercept[DynamicKafkaIllegalArgumentException](
        formats.deserializer("valueDeserializer", found.getName)
      )
      assert(e.getCondition == "DYNAMIC_KAFKA.INVALID_SCHEMA" && e.getMessage.contains(found.getName))
    }
    val e = intercept[DynamicKafkaIllegalArgumentException](read(classOf[Lists]))
    assert(e.getMessage.contains("java.util.List"), e.getMessage)
  }

  test("an unknown class, or one of another interface, is no format") {
    def refused(name: String) = formats.deserializer("valueDeserializer", name).swap.toOption.get
    assert(refused("no.such.Deserializer").contains("no class"))
    assert(refused(classOf[StringSerializer].getName).contains("does not implement"))
    assert(formats.serializer("valueSerializer", classOf[StringDeserializer].getName).isLeft)
  }
}

object SerdeFormatsSuite {
  class Inherited extends StringDeserializer

  abstract class Base[A, B] extends Deserializer[B] {
    def of(a: A): B
  }

  class OfScala extends Deserializer[Long] {
    override def deserialize(topic: String, data: Array[Byte]): Long = data.length.toLong
  }

  class Records extends Base[String, GenericRecord] {
    override def of(a: String): GenericRecord = throw new IllegalStateException(a)
    override def deserialize(topic: String, data: Array[Byte]): GenericRecord = of(topic)
  }

  class Anything extends Deserializer[AnyRef] {
    override def deserialize(topic: String, data: Array[Byte]): AnyRef = data
  }

  class Lists extends Deserializer[ju.List[String]] {
    override def deserialize(topic: String, data: Array[Byte]): ju.List[String] = ju.List.of()
  }
}
