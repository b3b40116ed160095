package io.github.dynamickafka.python

/** The interface that Python implements over py4j for a function of `OffsetsInitializer.of`. */
trait PythonOffsetsFunction {

  /** Returns the offsets by partition, as a JSON object. */
  def offsets(cluster: String, topic: String, partitionsAsJsonArray: String): String
}
