package io.github.dynamickafka.sink.commit

/** What an operator chooses about a decision that the query cannot complete. */
private[dynamickafka] sealed abstract class Resolution(val name: String) {

  /** The cluster whose part is given up. */
  def cluster: Option[String] = None
}

private[dynamickafka] object Resolution {

  /** What is open is committed, what is lost stays lost. */
  case object AcceptLoss extends Resolution("accept-loss")

  /** What is open is aborted, and the next start writes the batch again. */
  case object Rewrite extends Resolution("rewrite")

  /** The part on one cluster is given up, and all others are committed. */
  final case class AbandonCluster(id: String) extends Resolution("abandon-cluster") {
    override def cluster: Option[String] = Some(id)
  }
}

/**
 * What a resolution does about the transactions of a decision. The others are ended, or nothing can be done about them.
 *
 * @param abort also the open ones of clusters that are given up, so that their readers do not wait
 * @param abandoned the clusters that are given up
 */
private[sink] final case class ResolutionPlan(
    commit: Seq[Prepared],
    abort: Seq[Prepared],
    abandoned: Set[String]
)

/** Decides whether a resolution is possible, given what Kafka says about all transactions. Pure. */
private[sink] object ResolutionPlan {
  import Resolution._

  /**
   * @param abandoned the clusters that an earlier resolution of this decision has given up
   * @param reason returns the text of the failure of a cluster
   * @return the reasons why it is refused, or what to do
   */
  def of(
      entry: JournalEntry,
      how: Resolution,
      report: Inspector.Report,
      abandoned: Set[String],
      reason: (String, Throwable) => String
  ): Either[Seq[String], ResolutionPlan] = {
    def refusing(outcomes: Seq[(Prepared, Outcome)])(why: PartialFunction[(Prepared, Outcome), String]) =
      outcomes.collect(why).distinct
    val givenUp = abandoned ++ how.cluster
    val others = report.outcomes.filterNot { case (t, _) => givenUp(t.cluster) }
    def unreachable(t: Prepared, cause: Throwable) =
      s"cluster '${t.cluster}' does not say what has become of its transactions: ${reason(t.cluster, cause)}"
    val why = how match {
      case Rewrite =>
        Option.when(entry.round > 0)(
          s"parts of batch ${entry.batch} are committed: the decision is about the rest of it, which was written again"
        ).toSeq ++ refusing(report.outcomes) {
          case (t, Outcome.Committed) => s"it is committed: ${Decision.at(t)}"
          case (t, Outcome.Unknown(text)) =>
            s"it is not known whether it was committed: ${Decision.at(t)}: $text"
          case (t, Outcome.Pending(cause)) => unreachable(t, cause)
        }
      case AcceptLoss =>
        refusing(others) {
          case (t, Outcome.Pending(cause)) =>
            s"${unreachable(t, cause)}. To give them up, use --abandon-cluster ${t.cluster}"
        } ++ replaced(entry, report, givenUp)
      case AbandonCluster(_) =>
        refusing(others) {
          case (t, Outcome.Pending(cause)) =>
            s"${unreachable(t, cause)}. To give them up too, use --abandon-cluster ${t.cluster} next"
          case (t, Outcome.Lost(text)) =>
            s"it is lost on another cluster: ${Decision.at(t)}: $text. To accept that, use --accept-loss next"
          case (t, Outcome.Unknown(text)) =>
            s"it is not known whether it was committed: ${Decision.at(t)}: $text. To accept that, use --accept-loss next"
        }
    }
    def open(of: Seq[(Prepared, Outcome)]) = of.collect { case (t, Outcome.Open) => t }
    Either.cond(
      why.isEmpty,
      how match {
        case Rewrite => ResolutionPlan(Nil, open(report.outcomes), Set.empty)
        case _ => ResolutionPlan(open(others), open(report.outcomes).diff(open(others)), givenUp)
      },
      why
    )
  }

  /** A mistake in the metadata would turn open transactions into lost ones. */
  private def replaced(entry: JournalEntry, report: Inspector.Report, givenUp: Set[String]): Seq[String] =
    entry.clusters.keys.toSeq.sorted.filterNot(givenUp).flatMap { id =>
      for {
        before <- entry.kafkaId(id)
        now <- report.kafkaIds.get(id) if now != before
      } yield s"cluster '$id' of the metadata leads to the Kafka cluster with id $now, and the decision is about the one with " +
        s"id $before. Correct the metadata, or give its part up with --abandon-cluster $id"
    }

  /** Why the batch cannot be closed after all, given what has become of the transactions. */
  def left(how: Resolution, plan: ResolutionPlan, ended: Seq[(Prepared, Outcome)]): Seq[String] = {
    def text(t: Prepared, outcome: Outcome) = outcome match {
      case Outcome.Lost(text) => s"${Decision.at(t)} is lost: $text"
      case Outcome.Unknown(text) => s"${Decision.at(t)}: $text"
      case Outcome.Pending(cause) => s"${Decision.at(t)} is not ended yet: ${cause.getClass.getSimpleName}"
      case other => s"${Decision.at(t)} is ${other.toString.toLowerCase(java.util.Locale.ROOT)}"
    }
    ended.collect {
      case (t, outcome) if !plan.abandoned(t.cluster) && !suits(how, outcome) => text(t, outcome)
    }
  }

  private def suits(how: Resolution, outcome: Outcome): Boolean = (how, outcome) match {
    case (Rewrite, Outcome.Lost(_)) => true
    case (Rewrite, _) => false
    case (AcceptLoss, Outcome.Pending(_) | Outcome.Open) => false
    case (AcceptLoss, _) => true
    case (AbandonCluster(_), Outcome.Committed) => true
    case (AbandonCluster(_), _) => false
  }
}
