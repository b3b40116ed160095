package io.github.dynamickafka.kafka

import java.lang.reflect.Method
import java.nio.ByteBuffer
import java.util.UUID
import java.{lang => jl}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.avro.generic.IndexedRecord
import org.apache.commons.lang3.ClassUtils
import org.apache.commons.lang3.reflect.TypeUtils
import org.apache.kafka.common.errors.InterruptException
import org.apache.kafka.common.header.Headers
import org.apache.kafka.common.header.internals.RecordHeaders
import org.apache.kafka.common.serialization.{Deserializer, Serializer}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.base.Redaction
import io.github.dynamickafka.error.{Errors, FailureText}
import io.github.dynamickafka.extension.TargetRecord
import io.github.dynamickafka.format._
import io.github.dynamickafka.format.avro.AvroRecords
import io.github.dynamickafka.option.NamedClass

/** Formats by the classes of Kafka's interfaces. Found as a service: `META-INF/services`. */
private[dynamickafka] final class SerdeFormats extends KafkaSerdes {

  override def deserializer(option: String, className: String): Either[String, Format] =
    serde(option, className, classOf[Deserializer[_]])(SerdeType.read).map(DeserializerFormat(_))

  override def serializer(option: String, className: String): Either[String, Format] =
    serde(option, className, classOf[Serializer[_]])(SerdeType.written).map(SerializerFormat(_))

  private def serde(option: String, className: String, expected: Class[_])(of: Class[_] => String) =
    NamedClass.find(className, expected).map(found => SerdeClass(option, className, of(found)))
}

/**
 * A class that an option names.
 *
 * @param javaType the name of the type that it reads or writes
 */
private[kafka] final case class SerdeClass(option: String, className: String, javaType: String) {
  def isKey: Boolean = option.startsWith("key")

  def column: Option[SerdeColumn] = SerdeColumn.of(javaType)

  /** Whether keys or values are Avro records; objects are, if there is a schema. */
  def isRecord: Boolean = javaType == SerdeClass.AnyObject || SerdeType.isRecord(javaType)

  def withoutSchema: Option[String] = Option.when(javaType == SerdeClass.AnyObject)(
    s"$text. If these are Avro records, set 'schema' to their columns."
  )

  if (column.isEmpty && !isRecord) throw Errors.invalidSchema(s"$text, which no column can have.")

  private def text = s"'$option' is the class $className, of the type $javaType"
}

private[kafka] object SerdeClass {
  val AnyObject: String = classOf[Object].getName
}

/**
 * The column of a Java type.
 *
 * @param toCatalyst the value of an object of the type, which is not null
 * @param toJava the inverse
 */
private[kafka] final case class SerdeColumn(
    dataType: DataType,
    toCatalyst: AnyRef => Any,
    toJava: Any => AnyRef
)

private[kafka] object SerdeColumn {
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
private[kafka] object SerdeType {
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
    NamedClass.find(name).exists(classOf[IndexedRecord].isAssignableFrom(_))

  /** Scala writes its primitive types as `Object` where a class names the type of its interface. */
  private def declared(found: Class[_], interface: Class[_])(ofMethod: PartialFunction[Method, Class[_]]) = {
    // None: a variable that no class gives a value.
    val argument = Option(TypeUtils.unrollVariables(
      TypeUtils.getTypeArguments(found, interface),
      interface.getTypeParameters.head
    )).flatMap(known => Option(TypeUtils.getRawType(known, null))).getOrElse(classOf[Object])
    val precise =
      if (argument != classOf[Object]) argument
      else
        found.getMethods.toSeq.filterNot(_.isBridge).collect(ofMethod).find(_.isPrimitive).getOrElse(argument)
    ClassUtils.primitiveToWrapper(precise).getTypeName
  }
}

/** A record of Kafka's client that is read. */
private[dynamickafka] trait KafkaReadContext extends ReadContext {
  def kafkaHeaders: Headers
}

/** Reads with a class of Kafka's interface: one column, or the columns of Avro records. */
private[kafka] final case class DeserializerFormat(of: SerdeClass) extends Format(of.option) {
  override def wholeTypes: Seq[DataType] = of.column.map(_.dataType).toSeq
  override def canFail: Boolean = true
  override def decodesFields: Boolean = false
  override def withoutSchema: Option[String] = of.withoutSchema
  override def setting(name: String): Option[FormatSetting] =
    Some(FormatSetting(name, FormatSetting.anything))
  override def decoder(side: SideLayout): Decoder = new DeserializerDecoder(of, side)
}

private[kafka] final class DeserializerDecoder(of: SerdeClass, side: SideLayout) extends Decoder {
  private val deserializer =
    new ConfiguredClass[Deserializer[_]](of, classOf[Deserializer[_]], side.format.options)(_.configure(_, _))
  private val column = of.column
  private lazy val records = new AvroRecords(side)
  if (column.isEmpty) records
  private var context: KafkaReadContext = _

  override def within(shown: ReadContext): Unit = shown match {
    case ofKafka: KafkaReadContext => context = ofKafka
    case _ => ()
  }

  override def decode(bytes: Array[Byte], into: DecodedValues): DecodeFailure = {
    into.clear()
    // Outside of the handler: an instance that cannot be created is no bad record.
    val created = deserializer.get()
    val failure =
      try show(created.deserialize(context.topic, context.kafkaHeaders, bytes), into)
      catch {
        case e: InterruptException => throw e
        // The message may contain a part of the record.
        case NonFatal(e) => DecodeFailure(s"${of.className} threw ${e.getClass.getSimpleName}")
      }
    if (failure ne null) into.clear()
    failure
  }

  /** @return null if the value has the type of the columns */
  private def show(value: Any, into: DecodedValues): DecodeFailure = (value, column) match {
    case (null, _) => null
    case (some: AnyRef, Some(whole)) =>
      if (side.wanted.nonEmpty) into.setAny(0, whole.toCatalyst(some))
      null
    case (record: IndexedRecord, None) => records.show(record, into)
    case (other, _) =>
      DecodeFailure(s"${of.className} returned ${other.getClass.getName}, which is no Avro record")
  }

  override def close(): Unit = deserializer.close()
}

/** Writes with a class of Kafka's interface: one column, or columns as Avro records. */
private[kafka] final case class SerializerFormat(of: SerdeClass) extends Format(of.option) with FormatWriter {
  override def wholeTypes: Seq[DataType] = of.column.map(_.dataType).toSeq
  override def writer: Option[FormatWriter] = Some(this)
  override def decoder(side: SideLayout): Decoder =
    throw new IllegalArgumentException(s"$name is for writing only")
  override def encodesWhole: Boolean = of.column.isDefined
  override def setting(name: String): Option[FormatSetting] =
    Some(FormatSetting(name, FormatSetting.anything))
  override def encoder(fields: SideLayout): Encoder = new SerializerEncoder(of, fields)
}

private[kafka] final class SerializerEncoder(of: SerdeClass, fields: SideLayout) extends Encoder {
  private val serializer =
    new ConfiguredClass[Serializer[_]](of, classOf[Serializer[_]], fields.format.options)(_.configure(_, _))
  private val toJava: InternalRow => AnyRef = of.column.fold(AvroRecords.writer(fields)) { column => row =>
    if (row.isNullAt(0)) null else column.toJava(row.get(0, column.dataType))
  }
  private var context: TargetRecord = _

  override def within(shown: TargetRecord): Unit = context = shown

  override def encode(row: InternalRow): Array[Byte] = {
    val value = toJava(row)
    if (value eq null) null
    else {
      val headers = new RecordHeaders
      val bytes = serializer.get().asInstanceOf[Serializer[AnyRef]].serialize(context.topic, headers, value)
      headers.asScala.foreach(header => context.addHeader(header.key, header.value))
      bytes
    }
  }

  override def close(): Unit = serializer.close()
}

/**
 * The instance of a task, which is created when the first record needs it.
 *
 * @param properties as they are written, with references to secrets
 * @param configure Kafka's method of this name
 */
private[kafka] final class ConfiguredClass[A <: AutoCloseable](
    named: SerdeClass,
    expected: Class[A],
    properties: Map[String, String]
)(configure: (A, java.util.Map[String, _], Boolean) => Unit) extends AutoCloseable {
  private var opened: Option[A] = None

  def get(): A = opened.getOrElse {
    val created = NamedClass.create(named.className, expected).fold(refuse(_, null), identity)
    opened = Some(created)
    val resolved =
      try SecretReferences.resolve(properties)
      catch { case NonFatal(e) => refuse(FailureText.of(e), e) }
    try configure(created, resolved.asJava, named.isKey)
    catch {
      case NonFatal(e) =>
        refuse(
          s"configure() threw ${Redaction.scrub(FailureText.of(e), resolved)}",
          Redaction.scrub(e, resolved)
        )
    }
    created
  }

  private def refuse(reason: String, cause: Throwable): Nothing =
    throw Errors.invalidOption(named.option, named.className, reason, cause)

  override def close(): Unit = {
    opened.foreach(_.close())
    opened = None
  }
}
