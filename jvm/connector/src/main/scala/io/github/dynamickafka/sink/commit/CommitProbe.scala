package io.github.dynamickafka.sink.commit

/**
 * Called at the steps of a commit: `before-decision`, `claimed`, `decided`, `between-commits`, `committed`. For gauges, and for
 * tests, which terminate the driver there.
 */
private[dynamickafka] trait CommitProbe {
  def reached(step: String, batch: Long): Unit

  /** Whether transactions are committed one after the other, so that `between-commits` is reached. */
  def oneByOne: Boolean
}

private[dynamickafka] object CommitProbe {
  object Untold extends CommitProbe {
    override def reached(step: String, batch: Long): Unit = ()
    override def oneByOne: Boolean = false
  }

  @volatile var current: CommitProbe = Untold
}
