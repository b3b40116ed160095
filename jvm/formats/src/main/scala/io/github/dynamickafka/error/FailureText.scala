package io.github.dynamickafka.error

/** The message of an exception, for a log line or for the reason in another exception. */
private[dynamickafka] object FailureText {

  private val MaxLength = 2000

  def of(e: Throwable): String = {
    val text = e match {
      case invalid: DynamicKafkaIllegalArgumentException if invalid.condition.endsWith(".METADATA_INVALID") =>
        s"the metadata is invalid, ${invalid.parameters("where")}: ${invalid.parameters("reason")}"
      case python: PythonServiceException => python.getMessage
      case other => chain(other).map(named).distinct.mkString(", caused by ")
    }
    if (text.length > MaxLength) text.take(MaxLength) + "..." else text
  }

  private def named(e: Throwable): String =
    e.getClass.getSimpleName + Option(e.getMessage).fold("")(m => s": $m")

  /** The message often states what failed, and the message of the cause states why. Deeper causes are omitted. */
  private def chain(e: Throwable): Seq[Throwable] = e +: Option(e.getCause).filter(_ ne e).toSeq
}

/** A metadata service or a function written in Python raised; the message is the exception as Python prints it. */
private[dynamickafka] final class PythonServiceException(message: String, cause: Throwable)
    extends RuntimeException(message, cause)
