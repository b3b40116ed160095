package io.github.dynamickafka.serde

import java.lang.reflect.{Method, Type => JType, TypeVariable}

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._

import org.apache.avro.generic.IndexedRecord
import org.apache.commons.lang3.ClassUtils
import org.apache.commons.lang3.reflect.TypeUtils
import org.apache.kafka.common.serialization.{Deserializer, Serializer}

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
