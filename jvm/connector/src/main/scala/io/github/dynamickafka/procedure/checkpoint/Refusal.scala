package io.github.dynamickafka.procedure.checkpoint

/** The reason why a procedure does not do what it was called for. */
private[procedure] final class Refusal(reason: String, cause: Throwable = null)
    extends RuntimeException(reason, cause)
