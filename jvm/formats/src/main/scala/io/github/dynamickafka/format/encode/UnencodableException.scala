package io.github.dynamickafka.format.encode

/** A row cannot be written, for a reason that contains nothing of the row. */
private[encode] final class UnencodableException(reason: String) extends RuntimeException(reason)
