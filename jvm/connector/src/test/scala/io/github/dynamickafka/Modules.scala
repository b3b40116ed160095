package io.github.dynamickafka

/** The modules whose classes are in the jar. */
object Modules {
  val all: Seq[String] = Seq("formats", "connector", "services", "page", "admin")
}
