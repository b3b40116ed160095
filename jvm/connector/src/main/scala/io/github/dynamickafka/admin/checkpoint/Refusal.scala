package io.github.dynamickafka.admin.checkpoint

/** The reason why a procedure does not do what it was called for. */
private[admin] final class Refusal(reason: String, cause: Throwable = null)
    extends RuntimeException(reason, cause)
