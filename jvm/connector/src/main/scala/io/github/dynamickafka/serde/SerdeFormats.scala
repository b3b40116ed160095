package io.github.dynamickafka.serde

import org.apache.kafka.common.serialization.{Deserializer, Serializer}

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.Format
import io.github.dynamickafka.format.custom.KafkaSerdes
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
