package org.apache.spark

/**
 * The base of this connector's runtime errors. PySpark has an exception for its parent, with text and condition, and none for
 * other subclasses of `RuntimeException`. The parent is private to Spark, and its constructor requires one of Spark's own
 * conditions, which the subclass hides.
 */
abstract class DynamicKafkaFailure(text: String, cause: Throwable)
    extends SparkRuntimeException("INTERNAL_ERROR", Map("message" -> text), cause) {
  override def getMessage: String = text
}
