package io.github.dynamickafka.metadata.watch

/** Decides which topology a query uses after a valid answer of its metadata service. Used by one thread. */
private[watch] trait Guard[T] {

  /** Sets the topology that the query used before its first answer. */
  def begin(before: T): Unit

  /** Throws an exception if the answer counts as a failure of the service. */
  def apply(answer: T): Guarded[T]
}

/** @param open whether the topology contains what the answer lacks, because further answers have to confirm it */
private[watch] final case class Guarded[+T](topology: T, open: Boolean)

private[watch] object Guard {

  /** Uses every answer. */
  final class AcceptAll[T] extends Guard[T] {
    override def begin(before: T): Unit = ()
    override def apply(answer: T): Guarded[T] = Guarded(answer, open = false)
  }
}
