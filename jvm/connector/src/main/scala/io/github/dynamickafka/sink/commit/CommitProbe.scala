package io.github.dynamickafka.sink.commit

/** The steps of a commit, in their order. */
private[dynamickafka] sealed abstract class CommitStep(val name: String)

private[dynamickafka] object CommitStep {
  case object BeforeDecision extends CommitStep("before-decision")

  /** The claim was checked for the last time before the decision. */
  case object Claimed extends CommitStep("claimed")
  final case class Decided private[commit] (private[sink] val transactions: Seq[Prepared])
      extends CommitStep("decided")

  /** After each transaction, if they are committed one after the other. */
  case object BetweenCommits extends CommitStep("between-commits")
  case object Committed extends CommitStep("committed")
}

/** Called at the steps of a commit, on the thread of the query. */
private[dynamickafka] trait CommitProbe {
  def reached(step: CommitStep, batch: Long): Unit

  /** Whether transactions are committed one after the other. */
  def oneByOne: Boolean = false
}

private[dynamickafka] object CommitProbe {
  object NoOp extends CommitProbe {
    override def reached(step: CommitStep, batch: Long): Unit = ()
  }

  /**
   * Tests install a probe here, which the sinks get that are created afterwards: Spark creates them, also in a process of its own,
   * and nothing else of a test reaches them.
   */
  @volatile var installed: CommitProbe = NoOp
}
