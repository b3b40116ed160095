package io.github.dynamickafka.format

import java.util.ServiceLoader

import io.github.dynamickafka.option.OptionType

/**
 * Formats by classes of Kafka's interfaces `Deserializer` and `Serializer`. Formats do not depend on Kafka's clients: the connector has
 * the implementation, which is found as a service.
 */
private[dynamickafka] trait KafkaSerdes {

  /**
   * The format of a class, or why it cannot be used.
   *
   * @param option the option that names the class, which is the name of the format
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_SCHEMA if no column can have its type
   */
  def deserializer(option: String, className: String): Either[String, Format]

  /** See [[deserializer]]. */
  def serializer(option: String, className: String): Either[String, Format]
}

private[dynamickafka] object KafkaSerdes {
  private lazy val found: Option[KafkaSerdes] = {
    val service = ServiceLoader.load(classOf[KafkaSerdes], getClass.getClassLoader).findFirst
    if (service.isPresent) Some(service.get) else None
  }

  def deserializers(option: String): OptionType[Format] = ofClass(_.deserializer(option, _))
  def serializers(option: String): OptionType[Format] = ofClass(_.serializer(option, _))

  private def ofClass(make: (KafkaSerdes, String) => Either[String, Format]): OptionType[Format] =
    OptionType("class name", name => found.toRight("there is no Kafka client.").flatMap(make(_, name)))
}
