package io.github.dynamickafka.serde

import java.nio.ByteBuffer
import java.util.UUID
import java.{lang => jl}

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * The column of a Java type.
 *
 * @param toCatalyst the value of an object of the type, which is not null
 * @param toJava the inverse
 */
private[serde] final case class SerdeColumn(
    dataType: DataType,
    toCatalyst: AnyRef => Any,
    toJava: Any => AnyRef
)

private[serde] object SerdeColumn {

  /** @param javaType the name of the type */
  def of(javaType: String): Option[SerdeColumn] = all.get(javaType)

  private val all: Map[String, SerdeColumn] = Seq(
    plain(classOf[jl.Long], LongType),
    plain(classOf[jl.Integer], IntegerType),
    plain(classOf[jl.Short], ShortType),
    plain(classOf[jl.Float], FloatType),
    plain(classOf[jl.Double], DoubleType),
    plain(classOf[jl.Boolean], BooleanType),
    plain(classOf[Array[Byte]], BinaryType),
    column(classOf[String], StringType)(UTF8String.fromString, _.toString),
    column(classOf[UUID], StringType)(
      id => UTF8String.fromString(id.toString),
      text => UUID.fromString(text.toString)
    ),
    column(classOf[ByteBuffer], BinaryType)(
      buffer => {
        val bytes = new Array[Byte](buffer.remaining)
        buffer.duplicate().get(bytes)
        bytes
      },
      bytes => ByteBuffer.wrap(bytes.asInstanceOf[Array[Byte]])
    )
  ).toMap

  private def plain[A <: AnyRef](javaType: Class[A], dataType: DataType) =
    column(javaType, dataType)(identity, javaType.cast(_))

  private def column[A <: AnyRef](javaType: Class[A], dataType: DataType)(
      toCatalyst: A => Any,
      toJava: Any => A
  ) = javaType.getTypeName -> SerdeColumn(dataType, value => toCatalyst(javaType.cast(value)), toJava)
}
