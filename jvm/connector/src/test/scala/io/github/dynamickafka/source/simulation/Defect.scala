package io.github.dynamickafka.source.simulation

import org.apache.spark.sql.connector.read.streaming.ReadLimit

import io.github.dynamickafka.metadata.Topology
import io.github.dynamickafka.offset._
import io.github.dynamickafka.offset.replacement.ReplacingClusters
import io.github.dynamickafka.source.trigger.{Limits, TriggerContext}

/** A trigger, and what the product does in it. */
private[simulation] final case class Planned(
    start: CompositeOffset,
    transition: Transition,
    views: Map[String, ClusterView],
    next: NextOffset
) {
  def view(id: String): Option[ClusterView.Reachable] =
    views.get(id).collect { case view: ClusterView.Reachable => view }
}

/** A rule as it was before it was corrected, to see whether the simulation finds it. */
private[simulation] sealed abstract class Defect(val name: String) {

  /** Histories that are not run, because the defect is rare: with the seed of `make test` it shows soon after them. */
  def skipped: Int = 0

  /** The trigger to decide with, of the one that has begun and the one that would begin now. */
  def trigger: (TriggerContext, TriggerContext) => TriggerContext = (begun, _) => begun
  def replacing(
      start: CompositeOffset,
      topology: Topology,
      drainRemoved: Boolean,
      now: Long
  ): ReplacingClusters =
    ReplacingClusters(start, topology, drainRemoved, now)
  def transition(transition: Transition): Transition = transition
  def view(view: ClusterView): ClusterView = view
  def next(planned: Planned): NextOffset = planned.next
  def validates: Boolean = true
  def comparesReplays: Boolean = true
  def comparesInTasks: Boolean = true
  def confirms: Boolean = true

  /** Whether a run with `AvailableNow` asks a cluster that has another address. */
  def followsMoves: Boolean = true
  def marksDeferrals: Boolean = true
  def resumesDeferred: Boolean = true
  def readsDeferrals: Boolean = true
  def defersDecided: Boolean = false
  def endsAtLogEnd: Boolean = true
  def waitsForMissing: Boolean = true
  def marksUnlogged: Boolean = false
  def carried(end: CompositeOffset, start: CompositeOffset, logged: CompositeOffset): CompositeOffset =
    end.carrying(start, logged)

  def alignmentRules(rules: Alignment.Rules): Alignment.Rules = rules

  /** The spans that alignment takes into account. */
  def alignedSpans(spans: IndexedSeq[Span]): IndexedSeq[Span] = spans
  def knownTimes: (Map[LogKey, PartitionTimes], Long) => Map[LogKey, PartitionTimes] = (times, _) => times

  /** Whether records of a partition wait for files with older ones. */
  def waitsForFiles: Boolean = true

  /** The clusters whose files the records of a cluster wait for. */
  def ofFiles(id: String, topology: Topology): Seq[String] = topology.withReplaced(id)

  /** Whether limits in bytes use what tasks have reported. */
  def knowsSizes: Boolean = true

  /** The number of records to read of each span, if it is not that of the product. */
  def granted: Option[Defect.Granting] = Option.empty
}

private[simulation] object Defect {

  /** Spans, the limit of a trigger, the limits of clusters and the number of the trigger to the numbers of records. */
  type Granting = (IndexedSeq[Span], ReadLimit, String => Option[Long], Int) => IndexedSeq[Long]

  case object None extends Defect("nothing")

  /** A partition that Kafka no longer has is carried without a start offset. */
  case object VanishedIsCarried extends Defect("vanished partitions of what returns are carried") {
    override def validates = false
    override def next(planned: Planned): NextOffset = planned.next.copy(rest =
      planned.next.rest.copy(clusters =
        planned.transition.clusters.foldLeft(planned.next.rest.clusters) { case (all, (id, work)) =>
          val vanished = planned.view(id).fold(Positions.empty) { view =>
            work.returning.filter((topic, p) => !view.missing(topic) && view.ends.get(topic, p).isEmpty)
          }
          if (vanished.isEmpty) all else all.updated(id, all.getOrElse(id, Positions.empty) ++ vanished)
        }
      )
    )
  }

  /** A logged batch is read again from whatever log has the name now. */
  case object ReplayByName extends Defect("a logged range is read from another log of the same name") {
    override def comparesReplays = false
    override def comparesInTasks = false
  }

  /** A topic is recreated after its batch was planned, and read by its name. */
  case object TasksReadByName extends Defect("tasks do not know the id of the topic") {
    override def comparesInTasks = false
  }

  /** A task waits for records that its range has and the log has not. */
  case object WaitsBeyondEnd extends Defect("a task waits at the end of a log for the rest of its range") {
    override def endsAtLogEnd = false
  }

  /** A partition without an answer is taken for one that the topic no longer has. */
  case object UnansweredIsGone extends Defect("a partition without an answer counts as gone") {
    override def view(view: ClusterView): ClusterView = view match {
      case found: ClusterView.Reachable => found.copy(unanswered = Map.empty)
      case other => other
    }
  }

  /** The limits of a cluster and of all clusters take turns together. */
  case object OneTurn extends Defect("limits of a cluster and of all clusters rotate by one turn") {
    override def granted: Option[Granting] = Some { (spans, limit, ofCluster, turn) =>
      val within = spans.indices.groupBy(spans(_).cluster).toSeq.flatMap { case (id, of) =>
        val lags = of.map(spans(_).lag)
        of.zip(ofCluster(id).fold(lags)(rotated(lags, _, turn)))
      }.toMap
      val lags = spans.indices.map(within)
      Limits.budget(limit).fold(lags)(rotated(lags, _, turn))
    }

    private def rotated(lags: IndexedSeq[Long], budget: Long, turn: Int) =
      BudgetShare(lags, budget, i => Math.floorMod(i - turn, lags.size).toLong)
  }

  /** Positions have no identity. */
  case object ByName extends Defect("topic ids and cluster ids are not compared") {
    override def view(view: ClusterView): ClusterView = view match {
      case found: ClusterView.Reachable => found.copy(identity = ClusterIdentity(epochs = found.epochs))
      case other => other
    }
  }

  /** A log that was cut and has grown past the position is read on. */
  case object EpochsAreIgnored extends Defect("leader epochs are ignored") {
    override def view(view: ClusterView): ClusterView = view match {
      case found: ClusterView.Reachable =>
        found.copy(identity = found.identity.copy(epochs = Positions.empty))
      case other => other
    }
  }

  /** A log that ends below the position is read again from its beginning. */
  case object CutIsRecreated extends Defect("every truncation counts as a recreation") {
    override def next(planned: Planned): NextOffset = {
      val cut = planned.next.losses.collect { case l: Loss.CutOff => (l.cluster, l.topic, l.partition) }.toSet
      planned.next.copy(spans = planned.next.spans.map { span =>
        if (!cut((span.cluster, span.topic, span.partition))) span
        else span.copy(from =
          planned.view(span.cluster).flatMap(_.earliest.get(span.topic, span.partition)).getOrElse(0L)
        )
      })
    }
  }

  /** Ends are asked before the start positions, which may lie beyond them. */
  case object EndsAreOlder extends Defect("start positions are resolved after the ends") {
    override def view(view: ClusterView): ClusterView = view match {
      case found: ClusterView.Reachable => found.copy(ends =
          Positions.from(found.ends.iterator.map { case (topic, p, end) =>
            (topic, p, if (found.entering.get(topic, p).isDefined) math.max(0L, end - 1) else end)
          })
        )
      case other => other
    }
  }

  /** A drain waits for a partition that Kafka no longer has. */
  case object DrainWaits extends Defect("a drain waits for a partition that is gone") {
    override def next(planned: Planned): NextOffset =
      planned.transition.clusters.foldLeft(planned.next) { case (all, (id, work)) =>
        val vanished = planned.view(id).fold(Positions.empty) { view =>
          work.staying.filter((topic, p) => work.drains(topic) && view.ends.get(topic, p).isEmpty)
        }
        if (vanished.isEmpty) all
        else {
          val beyond = Positions.from(vanished.iterator.map { case (topic, p, at) => (topic, p, at + 1) })
          val targets = all.rest.draining.getOrElse(id, Positions.empty) ++ beyond
          all.copy(rest =
            all.rest.copy(
              clusters = all.rest.clusters.updated(id, all.rest.position(id) ++ vanished),
              until = all.rest.until.copy(all.rest.draining.updated(id, targets))
            )
          )
        }
      }
  }

  /** A response that was requested before the trigger decides which records are lost. */
  case object OlderIsCertain
      extends Defect("losses are judged by responses that are older than the trigger") {
    override def confirms = false
  }

  /** A deferral takes back positions at each offset that looks like the end of its batch. */
  case object DeferralStaysEffective
      extends Defect("a deferral has an effect after its records have entered") {
    override def skipped = 5860
    override def marksDeferrals = false
  }

  /** Only the offset of the batch in which a partition enters has the start position. */
  case object EntriesAreForgotten extends Defect("a start position is lost if its batch is not logged") {
    override def skipped = 40
    override def carried(end: CompositeOffset, start: CompositeOffset, logged: CompositeOffset) = end
  }

  /** A start position is applied again to a batch that starts after it. */
  case object EntriesApplyAgain extends Defect("a start position applies to batches that follow") {
    override def carried(end: CompositeOffset, start: CompositeOffset, logged: CompositeOffset) = {
      val all = end.carrying(start, logged)
      all.copy(entered = (all.earlier.map(_.entries).foldLeft(Entries.none)(_ ++ _) ++ all.entries).positions)
    }
  }

  /** A deferral has no effect any more, and the offset that resumes its records is not logged. */
  case object UnloggedIsEntered
      extends Defect("deferred records count as entered before their offset is logged") {
    override def skipped = 10460
    override def marksUnlogged = true
  }

  case object DeferredIsForgotten extends Defect("deferred records do not enter again") {
    override def resumesDeferred = false
  }

  case object DeferralIsNotRead extends Defect("a batch that is planned again ignores what is deferred") {
    override def skipped = 380
    override def readsDeferrals = false
  }

  case object DefersDecided extends Defect("a batch that the sink has decided is deferred") {
    override def skipped = 70
    override def defersDecided = true
  }

  /** A topic that is missing while it drains has reached its target. */
  case object MissingIsDrained extends Defect("a drain ends as soon as its topic is missing") {
    override def waitsForMissing = false
  }

  /** The trigger looks up the starts of clusters after the metadata has changed. */
  case object TopologyIsReadAgain extends Defect("a trigger asks again which topology is the newest") {
    override def skipped = 4490
    override def trigger =
      (begun, newer) => begun.copy(configs = begun.configs.copy(newer.configs.ofTopology))
  }

  case object DrainIsUnlimited extends Defect("the limit of a cluster ends when it leaves the metadata") {
    override def skipped = 110
    override def trigger =
      (begun, _) => begun.copy(configs = begun.configs.copy(all = begun.configs.ofTopology))
  }

  case object EnteringIsForgotten
      extends Defect("partitions that enter are not aligned in their first batch") {
    override def alignedSpans(spans: IndexedSeq[Span]) = spans.filterNot(_.enters)
  }

  case object UnknownIsNow extends Defect("a position whose time is not known counts as one of now") {
    override def knownTimes: (Map[LogKey, PartitionTimes], Long) => Map[LogKey, PartitionTimes] =
      (times, now) =>
        times.map { case (key, known) =>
          key -> (if (known.least.isEmpty) known.copy(passed = Some(now)) else known)
        }
  }

  case object IdleHoldsForever extends Defect("clusters wait for an idle one without a time-out") {
    override def alignmentRules(rules: Alignment.Rules): Alignment.Rules = rules.copy(idleMs = Long.MaxValue)
  }

  /** Nothing bounds what is read of clusters that are ahead. */
  case object DriftIsIgnored extends Defect("clusters are not aligned") {
    override def alignmentRules(rules: Alignment.Rules): Alignment.Rules = rules.copy(driftMs = 1000000000L)
  }

  case object SizesAreForgotten extends Defect("each batch assumes the sizes of the first one") {
    override def knowsSizes = false
  }

  /** The stopping offset of a log is applied to the one that takes its name. */
  case object StopsByName extends Defect("a stopping offset is applied to another log of the same name") {
    override def transition(transition: Transition): Transition = transition.copy(clusters =
      transition.clusters.map { case (id, work) =>
        id -> work.copy(ending = work.ending.map { case (topic, ending) =>
          topic -> ending.copy(fixed = ending.fixed.copy(topicId = scala.None))
        })
      }
    )
  }

  case object DrainedIsForgotten
      extends Defect("a cluster is forgotten before the one that replaces it enters") {
    override def skipped = 60
    override def replacing(start: CompositeOffset, topology: Topology, drainRemoved: Boolean, now: Long) = {
      val found = super.replacing(start, topology, drainRemoved, now)
      found.copy(topology =
        found.topology.copy(clusters = found.topology.clusters.filter(_._2.topics.nonEmpty))
      )
    }
  }

  case object LaterTopicsAreNew
      extends Defect("a topic that a copy gets after it has taken over enters as a new one") {
    override def replacing(start: CompositeOffset, topology: Topology, drainRemoved: Boolean, now: Long) = {
      val found = super.replacing(start, topology, drainRemoved, now)
      found.copy(start = found.start.copy(retained = found.start.retained.map { case (id, kept) =>
        id -> (if (start.position(id).isEmpty) kept
               else kept.copy(topics = kept.topics.filter(_._2.former.isEmpty)))
      }))
    }
  }

  case object NewTopicsAreCopies
      extends Defect("a topic that only the new cluster has is read from its beginning") {
    override def next(planned: Planned): NextOffset = planned.next.copy(spans =
      planned.next.spans.map(span =>
        if (planned.next.replaced.exists(_.cluster == span.cluster) && isEntering(planned, span))
          span.copy(from = planned.view(span.cluster).flatMap(_.earliest.get(span.topic, span.partition)).get)
        else span
      )
    )

    private def isEntering(planned: Planned, span: Span) =
      planned.transition.clusters(span.cluster).entering.contains(span.topic)
  }

  case object ReturnIsRetained
      extends Defect("what has returned is retained until its cluster responds") {
    override def skipped = 2100
    override def next(planned: Planned): NextOffset = {
      val back = planned.transition.clusters.collect {
        case (id, work) if planned.view(id).isEmpty && work.returning.nonEmpty => id -> work.returning
      }
      def isBack(id: String, topic: String, p: Int) = back.get(id).exists(_.get(topic, p).isDefined)
      planned.next.copy(
        spans = planned.next.spans.filterNot(s => isBack(s.cluster, s.topic, s.partition)),
        rest = planned.next.rest.copy(retained = back.foldLeft(planned.next.rest.retained) {
          case (all, (id, _)) =>
            val kept = planned.start.retained(id).map((topic, of) => of.only(isBack(id, topic, _)))
            all.updated(id, all.getOrElse(id, Retained.empty) ++ kept)
        })
      )
    }
  }

  case object PinnedEndsApply
      extends Defect("what AvailableNow has found in a cluster applies to the copy that takes its place") {
    override def skipped = 110
    override def followsMoves = false
  }

  case object FilesAreOvertaken
      extends Defect("records of a partition do not wait for files with older ones") {
    override def skipped = 1080
    override def waitsForFiles = false
  }

  case object CopiesOvertakeFiles
      extends Defect("records of a copy do not wait for files of the cluster that it replaces") {
    override def skipped = 33254420
    override def ofFiles(id: String, topology: Topology): Seq[String] = Seq(id)
  }

  /** Of clusters that are replaced by copies. */
  val ofCopies: Seq[Defect] = Seq(
    DrainedIsForgotten,
    LaterTopicsAreNew,
    NewTopicsAreCopies,
    ReturnIsRetained,
    PinnedEndsApply,
    FilesAreOvertaken,
    CopiesOvertakeFiles
  )

  val all: Seq[Defect] = Seq(
    StopsByName,
    SizesAreForgotten,
    EnteringIsForgotten,
    UnknownIsNow,
    IdleHoldsForever,
    DriftIsIgnored,
    TopologyIsReadAgain,
    DrainIsUnlimited,
    MissingIsDrained,
    EntriesAreForgotten,
    EntriesApplyAgain,
    UnloggedIsEntered,
    VanishedIsCarried,
    ReplayByName,
    TasksReadByName,
    WaitsBeyondEnd,
    UnansweredIsGone,
    OneTurn,
    ByName,
    CutIsRecreated,
    EpochsAreIgnored,
    EndsAreOlder,
    DrainWaits,
    DeferralStaysEffective,
    DeferredIsForgotten,
    DeferralIsNotRead,
    DefersDecided,
    OlderIsCertain
  )
}
