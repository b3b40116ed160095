package io.github.dynamickafka.serde

import java.lang.reflect.{Method, Type => JType, TypeVariable}
import java.nio.ByteBuffer
import java.util.UUID
import java.{lang => jl}

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._

import org.apache.avro.generic.IndexedRecord
import org.apache.commons.lang3.ClassUtils
import org.apache.commons.lang3.reflect.TypeUtils
import org.apache.kafka.common.serialization.{Deserializer, Serializer}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.{Format, KafkaSerdes}
import io.github.dynamickafka.option.NamedClass

/** Formats by the classes of Kafka's interfaces. Found as a service: `META-INF/services`. */
private[dynamickafka] final class SerdeFormats extends KafkaSerdes {

  override def deserializer(option: String, className: String): Either[String, Format] =
    NamedClass.find(className, classOf[Deserializer[_]]).map(found =>
      new DeserializerFormat(SerdeClass(option, className, SerdeType.read(found)))
    )

  override def serializer(option: String, className: String): Either[String, Format] =
    NamedClass.find(className, classOf[Serializer[_]]).map(found =>
      new SerializerFormat(SerdeClass(option, className, SerdeType.written(found)))
    )
}

/**
 * A class that an option names.
 *
 * @param javaType the name of the type that it reads or writes
 */
private[serde] final case class SerdeClass(option: String, className: String, javaType: String) {
  def isKey: Boolean = option.startsWith("key")

  /** The column of whole keys or values. */
  def column: Option[SerdeColumn] = SerdeColumn.of(javaType)

  /** Whether keys or values are Avro records; objects are, if there is a schema. */
  def isRecord: Boolean = javaType == SerdeClass.AnyObject || SerdeType.isRecord(javaType)

  def withoutSchema: Option[String] = Option.when(javaType == SerdeClass.AnyObject)(
    s"$text. If these are Avro records, set 'schema' to their columns."
  )

  if (column.isEmpty && !isRecord) throw Errors.invalidSchema(s"$text, which no column can have.")

  private def text = s"'$option' is the class $className, of the type $javaType"
}

private[serde] object SerdeClass {
  val AnyObject: String = classOf[Object].getName
}

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

/** The type that a class reads or writes, as far as the class declares it; otherwise `java.lang.Object`. Pure. */
private[serde] object SerdeType {
  private val Bytes = classOf[Array[Byte]]

  def read(found: Class[_]): String = declared(found, classOf[Deserializer[_]]) {
    case m if m.getName == "deserialize" && m.getParameterTypes.toSeq == Seq(classOf[String], Bytes) =>
      m.getReturnType
  }

  def written(found: Class[_]): String = declared(found, classOf[Serializer[_]]) {
    case m if m.getName == "serialize" && m.getParameterCount == 2 && m.getReturnType == Bytes =>
      m.getParameterTypes.last
  }

  /** Whether this is the name of a class of Avro records, which may be generated. */
  def isRecord(name: String): Boolean =
    try
      classOf[IndexedRecord].isAssignableFrom(
        Class.forName(
          name,
          false,
          Option(Thread.currentThread.getContextClassLoader).getOrElse(getClass.getClassLoader)
        )
      )
    catch { case _: ClassNotFoundException | _: LinkageError => false }

  /** Scala writes its primitive types as `Object` where a class names the type of its interface. */
  private def declared(found: Class[_], interface: Class[_])(ofMethod: PartialFunction[Method, Class[_]]) = {
    val argument =
      raw(TypeUtils.getTypeArguments(found, interface).asScala.toMap, interface.getTypeParameters.head)
    val precise =
      if (argument != classOf[Object]) argument
      else
        found.getMethods.toSeq.filterNot(_.isBridge).collect(ofMethod).find(_.isPrimitive).getOrElse(argument)
    ClassUtils.primitiveToWrapper(precise).getTypeName
  }

  @tailrec
  private def raw(arguments: Map[TypeVariable[_], JType], of: JType): Class[_] = of match {
    case variable: TypeVariable[_] if arguments.contains(variable) => raw(arguments, arguments(variable))
    case other => Option(TypeUtils.getRawType(other, null)).getOrElse(classOf[Object])
  }
}
