package io.github.dynamickafka.sink.simulation

import io.github.dynamickafka.sink.commit.{JournalEntry, JournalJson, TransactionName}

/** A rule as it was before it was corrected, to see whether the simulation finds it. Around the seams of the product's code. */
private[simulation] sealed abstract class Defect(val name: String) {

  /** Histories that are not run, because the defect is rare: with the seed of `make test` it shows soon after them. */
  def skipped: Int = 0

  /** The histories in which it has an effect more often. */
  def favours(profile: Profile): Profile = profile

  /** What the sink reads. */
  def read(path: String, files: Map[String, String]): Option[String] = files.get(path)

  def deletesMarksLast: Boolean = false
  def name(name: TransactionName): TransactionName = name

  /** The cluster in transactional ids. */
  def id(cluster: String): String = cluster
  def changesIdSets: Boolean = true

  /** Whether a task takes the answer to a record that was refused for a success. */
  def ignoresRefusals: Boolean = false

  /** Whether a task takes the return of `flush` for the answer to all of its records. */
  def believesFlush: Boolean = false
  def comparesKafkaIds: Boolean = true

  /** Whether the sink takes the deferrals in the checkpoint for those with which the source has planned the tasks. */
  def ignoresPlans: Boolean = false
  def takesUnknownForLost: Boolean = false

  /** Whether an answer that lacks a cluster is believed at once. */
  def believesAnswers: Boolean = false
  def ignoresTopicIds: Boolean = false

  /** Whether a run takes a slot without a look at the id that guards it. */
  def takesAnySlot: Boolean = false

  /** Whether a run gives up its slot although an attempt of a task may still run. */
  def forgetsAttempts: Boolean = false
  def rollsForwardBlindly: Boolean = false

  /** Whether a decision is marked as finished while its transactions are being committed. */
  def marksEarly: Boolean = false

  /** Whether a batch that Spark has planned counts as one whose end Spark has logged. */
  def takesPlannedForFinished: Boolean = false

  /** Whether a batch in the commit log counts as finished without asking Kafka. */
  def believesCommitLog: Boolean = false

  /** The error that ends a batch. */
  def error(e: Exception): Exception = e

  /** Whether a driver aborts a transaction of another run. */
  def sweeps(driver: Driver, id: String): Boolean = false

  /** The last decision in a checkpoint. */
  final def lastDecision(files: Map[String, String], home: String): Option[JournalEntry] = {
    val Decision = (java.util.regex.Pattern.quote(home) + """/dynamic-kafka-sink/(\d+)-(\d+)\.json""").r
    files.toSeq.collect { case (path @ Decision(batch, round), text) =>
      (batch.toLong, round.toInt) -> JournalJson.read[JournalEntry](text, path)
    }.sortBy(_._1).lastOption.map(_._2)
  }
}

private[simulation] object Defect {
  case object None extends Defect("nothing")

  case object BatchesByNumber extends Defect("B1: a batch is known by its number only") {
    override def read(path: String, files: Map[String, String]): Option[String] =
      super.read(path, files).map(text => if (path.contains("/offsets/")) "" else text)
  }

  case object DeferralIsIgnored extends Defect("the digest of a batch ignores what is deferred") {
    override def skipped: Int = 3050
    override def read(path: String, files: Map[String, String]): Option[String] =
      super.read(path, files).filterNot(_ => path.contains("/deferred/"))
  }

  case object PlansAreIgnored
      extends Defect("a deferral that another run writes after the tasks are planned is not noticed") {
    override def ignoresPlans = true
    override def favours(p: Profile): Profile =
      p.copy(pauses = 300, mostAlive = 2, isExclusive = true, tasks = p.tasks.copy(deferring = 400))
  }

  case object UnknownIsLost extends Defect("B2: what Kafka does not know counts as aborted") {
    override def skipped: Int = 1770
    override def takesUnknownForLost = true
    override def comparesKafkaIds = false
  }

  case object RollsForwardBlindly extends Defect("B3: a decision is rolled forward without a look") {
    override def rollsForwardBlindly = true
  }

  case object SweepsAllOthers extends Defect("B4: a driver aborts all runs but its own") {
    override def skipped: Int = 30
    override def sweeps(driver: Driver, id: String): Boolean =
      driver.ids.flatMap(_.generationOf(id)).exists(_ != driver.generation)
  }

  case object CopiesShareIds extends Defect("B4: ids do not contain the instance of the journal") {
    override def name(name: TransactionName): TransactionName = name.copy(instance = "all")
  }

  case object RunsShareIds extends Defect("B4: ids do not contain the generation") {
    override def name(name: TransactionName): TransactionName = name.copy(generation = 1L)
  }

  case object IdsAreReused extends Defect("B5: ids are used again after a batch with second attempts") {
    override def skipped: Int = 55
    override def changesIdSets = false
    override def favours(p: Profile): Profile = Defect.calm(p)
      .copy(changes = 50, tasks = p.tasks.copy(stalled = 200))
  }

  case object ClustersShareIds extends Defect("B6: ids do not contain the cluster") {
    override def id(cluster: String): String = "all"
  }

  case object MarksAreOrphaned
      extends Defect("B11: decisions are deleted before their marks, which name no decision") {
    override def skipped: Int = 1630
    override def deletesMarksLast = true
    override def favours(p: Profile): Profile = Defect.calm(p).copy(crashes = 30, restores = 500)
    override def read(path: String, files: Map[String, String]): Option[String] =
      super.read(path, files).map(text =>
        if (path.endsWith(".done")) World.digestOfDecision(path, files).getOrElse(text) else text
      )
  }

  case object FlushIsBelieved extends Defect("a task does not wait for the parts of a batch that is split") {
    override def believesFlush = true
    override def favours(p: Profile): Profile = Defect.calm(p).copy(splits = 300)
  }

  case object RefusalsAreIgnored extends Defect("a task ignores that a broker has refused a record") {
    override def ignoresRefusals = true
    override def favours(p: Profile): Profile = Defect.calm(p).copy(refusals = 30)
  }

  case object AnswersAreBelieved extends Defect("one answer that lacks a cluster is believed") {
    override def believesAnswers = true
    override def favours(p: Profile): Profile = Defect.calm(p).copy(tasks = p.tasks.copy(lacking = 200))
  }

  case object RecreatedTopicsAreIgnored
      extends Defect("a topic that is recreated before a commit is not noticed") {
    override def ignoresTopicIds = true
    override def favours(p: Profile): Profile = Defect.calm(p).copy(changes = 100)
  }

  case object AnySlotIsTaken extends Defect("a slot is taken without a look at the id that guards it") {
    override def skipped: Int = 430
    override def takesAnySlot = true
    override def favours(p: Profile): Profile =
      Defect.calm(p).copy(pauses = 100, restores = 300, mostAlive = 2)
  }

  case object AttemptsAreForgotten
      extends Defect("a slot is given up although an attempt of a task may still run") {
    override def skipped: Int = 150
    override def forgetsAttempts = true
    override def favours(p: Profile): Profile = Defect.calm(p)
      .copy(changes = 50, tasks = p.tasks.copy(stalled = 200))
  }

  case object MarksAreEarly
      extends Defect("a decision is marked while its transactions are being committed") {
    override def marksEarly = true
  }

  case object PlannedIsFinished extends Defect("a batch in the offset log counts as one in the commit log") {
    override def takesPlannedForFinished = true
  }

  case object CommitLogIsBelieved
      extends Defect("E14: a batch that was added to the commit log by hand is finished") {
    override def believesCommitLog = true
    override def favours(p: Profile): Profile =
      p.copy(crashes = 30, changes = 50, restores = 0, handMade = true)
  }

  case object TimeoutsAreAdvised
      extends Defect(
        "a run that was replaced ends with the advice of a longer time-out"
      ) {
    override def favours(p: Profile): Profile =
      p.copy(crashes = 0, pauses = 300, faults = 0, mostAlive = 2, isExclusive = true)
    override def error(e: Exception): Exception =
      e.getSuppressed.collectFirst {
        case first: Exception if Driver.advisesTimeout(first) => first
      }.getOrElse(e)
  }

  private def calm(p: Profile): Profile = p.copy(
    crashes = 0,
    pauses = 0,
    changes = 0,
    faults = 0,
    mostAlive = 1,
    copies = 0,
    restores = 0,
    replayLost = false
  )

  val all: Seq[Defect] = Seq(
    BatchesByNumber,
    DeferralIsIgnored,
    PlansAreIgnored,
    UnknownIsLost,
    RollsForwardBlindly,
    SweepsAllOthers,
    CopiesShareIds,
    RunsShareIds,
    IdsAreReused,
    ClustersShareIds,
    MarksAreOrphaned,
    FlushIsBelieved,
    RefusalsAreIgnored,
    AnswersAreBelieved,
    RecreatedTopicsAreIgnored,
    AnySlotIsTaken,
    AttemptsAreForgotten,
    MarksAreEarly,
    PlannedIsFinished,
    CommitLogIsBelieved,
    TimeoutsAreAdvised
  )
}
