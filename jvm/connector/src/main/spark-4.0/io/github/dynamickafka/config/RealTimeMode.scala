package io.github.dynamickafka.config

/** Whether this Spark line has real-time mode. */
private[dynamickafka] object RealTimeMode {
  val isAvailable: Boolean = false
}
