package io.github.dynamickafka.config

import org.apache.kafka.clients.producer.Partitioner

/** Checks the class of a custom partitioner. */
private[config] object PartitionerClasses {

  def problem(name: String): Option[String] =
    try {
      val loader = Option(Thread.currentThread.getContextClassLoader).getOrElse(getClass.getClassLoader)
      val found = Class.forName(name, false, loader)
      Option.when(!classOf[Partitioner].isAssignableFrom(found))(
        s"'$name' does not implement ${classOf[Partitioner].getName}"
      )
    } catch {
      case _: ClassNotFoundException | _: LinkageError => Some(s"the class path has no class '$name'")
    }
}
