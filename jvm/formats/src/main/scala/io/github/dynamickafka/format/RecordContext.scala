package io.github.dynamickafka.format

/** What a format may look at beside the bytes of a record that is read. One object shows all records of a task. */
private[dynamickafka] trait ReadContext {
  def topic: String
  def cluster: String
  def headers: Iterator[(String, Array[Byte])]
}

/** The same of a record that is written. */
private[dynamickafka] trait WriteContext {

  /** null: it is not known before the row is routed */
  def topic: String

  /** null: it is not known before the row is routed */
  def cluster: String
  def addHeader(name: String, value: Array[Byte]): Unit
}
