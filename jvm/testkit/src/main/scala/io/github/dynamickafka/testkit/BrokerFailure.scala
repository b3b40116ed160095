package io.github.dynamickafka.testkit

/** A broker did not start or did not execute a request. The message contains the end of its log. */
final class BrokerFailure private[testkit] (what: String, logTail: String)
    extends IllegalStateException(s"$what; the end of its log:\n$logTail") {

  /** Whether the start failed because another process listens on one of the ports. */
  private[testkit] def portIsTaken: Boolean = logTail.contains("Address already in use")
}
