package io.github.dynamickafka.sink.commit

/**
 * Told of what the commit of a batch has reached: `before-decision`, `claimed`, `decided`, `between-commits`, `committed`.
 * Does nothing, but in tests, which let the driver die there.
 */
private[dynamickafka] trait CommitProbe {
  def reached(step: String, batch: Long): Unit

  /** Whether transactions are committed one after the other, so that there is something in between. */
  def oneByOne: Boolean
}

private[dynamickafka] object CommitProbe {
  object Untold extends CommitProbe {
    override def reached(step: String, batch: Long): Unit = ()
    override def oneByOne: Boolean = false
  }

  @volatile var current: CommitProbe = Untold
}
