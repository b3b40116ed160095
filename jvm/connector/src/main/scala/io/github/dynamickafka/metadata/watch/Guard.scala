package io.github.dynamickafka.metadata.watch

/** Decides which topology a query uses after a valid answer of its metadata service. Used by one thread. */
private[dynamickafka] trait Guard[T] {

  /** Sets the topology that the query used before its first answer. */
  def begin(before: T): Unit

  /** Throws an exception if the answer counts as a failure of the service. */
  def apply(answer: T): Guarded[T]
}

/** @param open whether the topology contains what the answer lacks, because further answers have to confirm it */
private[dynamickafka] final case class Guarded[+T](topology: T, open: Boolean)
