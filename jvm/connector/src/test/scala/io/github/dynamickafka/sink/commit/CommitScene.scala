package io.github.dynamickafka.sink.commit

import java.nio.file.{Files, Path}
import java.util.concurrent.ExecutorService

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.base.ManualClock
import io.github.dynamickafka.config.{
  ClusterProperties,
  ClusterScope,
  SinkOptions,
  TransactionOptions,
  UnknownCommitPolicy
}
import io.github.dynamickafka.error.DynamicKafkaError
import io.github.dynamickafka.sink.simulation.Coroutine
import io.github.dynamickafka.storage.PlannedDeferrals

/** One query that writes to the clusters blue and green, over several starts, without brokers. */
private[sink] final class CommitScene {
  import CommitScene._

  val clock = new ManualClock
  val kafka = new ScriptedKafka(clock, PatienceMs)
  private val folder: Path = Files.createTempDirectory("dynamic-kafka-scene-")
  val journal: Journal = newJournal()

  /** The location of the checkpoint. */
  val location: String = folder.resolve("checkpoint").toString

  def newJournal(name: String = "checkpoint"): Journal =
    new Journal(folder.resolve(name).toString, hadoop, () => Instance)

  private var claims = Map.empty[(String, String), Claim]

  /** The claim of a run on a journal, which it takes once. */
  def claim(run: String, on: Journal = journal): Claim = {
    val taken = claims.getOrElse(
      on.path -> run,
      Iterator.continually(on.claim("q", run)).find(_.generation >= generation(run)).get
    )
    claims += (on.path -> run) -> taken
    taken
  }

  /** Whether any file of this journal is left. */
  def exists(name: String): Boolean = Files.exists(folder.resolve(name))

  private val offsets = folder.resolve("checkpoint").resolve("offsets")

  /** Adds a batch to Spark's offset log, as Spark does before it runs the batch. */
  def plan(batch: Long, offset: String = Planned): Unit = {
    Files.createDirectories(offsets)
    val _ = Files.writeString(offsets.resolve(batch.toString), offset)
  }

  /** Adds a batch to Spark's commit log, as Spark does when the sink has committed it. */
  def end(batch: Long): Unit = {
    val commits = offsets.resolveSibling("commits")
    Files.createDirectories(commits)
    val _ = Files.writeString(commits.resolve(batch.toString), "v1")
  }

  /** Leaves a part of a batch out, as the source of this project does. */
  def defer(batch: Long, ranges: String): Unit = {
    val deferred = folder.resolve("checkpoint").resolve("sources/0/dynamic-kafka/deferred")
    Files.createDirectories(deferred)
    val _ = Files.writeString(deferred.resolve(s"$batch.json"), ranges)
  }

  val plans = new PlannedDeferrals

  /** The source plans the tasks of a batch, and knows these deferrals. */
  def planTasks(deferrals: (Long, String)*): Unit =
    plans.set(new HadoopPath(s"file:$location/sources/0"), deferrals.toMap, this)

  /** Deletes a deferral, as the source does when the records have been read. */
  def undefer(batch: Long): Unit =
    Files.delete(folder.resolve(s"checkpoint/sources/0/dynamic-kafka/deferred/$batch.json"))

  /** Replaces the folder of the journal by a file. */
  def breakJournal(): Unit = {
    val place = folder.resolve("checkpoint").resolve(Journal.Folder)
    Files.move(place, place.resolveSibling("aside"))
    val _ = Files.writeString(place, "not a folder")
  }

  /** Deletes a batch from Spark's offset log. */
  def forget(batch: Long): Unit = Files.delete(offsets.resolve(batch.toString))

  val clusters: Clusters = {
    val all = new Clusters(properties, requestTimeoutMs = 2000L, CommitTimeoutMs, kafka.connect(_, _))
    all.set(Seq("blue", "green").map(id => id -> properties(id)).toMap)
    all
  }

  /** A start of the query, which has claimed the journal and has not recovered yet. */
  def start(
      run: String,
      replayLost: Boolean = false,
      earlier: Option[Seq[Journal]] = None,
      steps: CommitProbe = CommitProbe.NoOp,
      kept: Journal = journal,
      unknown: UnknownCommitPolicy = UnknownCommitPolicy.Fail,
      marking: ExecutorService = Coroutine.Direct
  ): TwoPhaseCommit = {
    val of = context(claim(run, kept), kept, steps, replayLost, unknown)
    new TwoPhaseCommit(new TransactionalIds(name(run), of, arePassedOn = false), of, earlier, plans, marking)
  }

  def context(
      claim: Claim,
      kept: Journal = journal,
      steps: CommitProbe = CommitProbe.NoOp,
      replayLost: Boolean = false,
      unknown: UnknownCommitPolicy = UnknownCommitPolicy.Fail
  ): CommitContext = {
    val options = TransactionOptions("p", None, CommitTimeoutMs, replayLost, unknown)
    CommitContext(claim, kept, clusters, kafka.pool, options, steps, clock)
  }

  /** A start of the query that has recovered. */
  def recovered(
      run: String,
      replayLost: Boolean = false,
      earlier: Option[Seq[Journal]] = None,
      steps: CommitProbe = CommitProbe.NoOp,
      unknown: UnknownCommitPolicy = UnknownCommitPolicy.Fail
  ): TwoPhaseCommit = {
    val query = start(run, replayLost, earlier, steps = steps, unknown = unknown)
    query.recover()
    query
  }
}

private[sink] object CommitScene {
  val CommitTimeoutMs = 1000L

  // Reading it takes longer than a test.
  private val hadoop = new Configuration

  /** The instance of the journal. */
  val Instance = "i"

  /** What Spark's offset log has of each batch, unless a test plans it differently. */
  val Planned = "v1"

  /** Two requests that fail are within the time limit of a commit, three are not. */
  val PatienceMs = 400L
  val TransactionTimeoutMs: String => Long = _ => 60000L

  private val options = SinkOptions.parse(new CaseInsensitiveStringMap(java.util.Map.of(
    "metadataService",
    "file",
    "streamId",
    "s"
  )))

  def properties(id: String, chosen: Map[String, String] = Map.empty): ClusterProperties =
    new ClusterScope(options.clusters, Set(id)).producer(id, Map("bootstrap.servers" -> "x:1") ++ chosen)

  /** What a task of a run has prepared on a cluster. */
  def prepared(cluster: String, task: Int, run: String = "first"): Prepared =
    Prepared(cluster, name(run).id(cluster, 0L, task, 0, 0), 7L, 3, task, 10L + task, Seq("t"))

  /** The generations of the runs, by their names. */
  def generation(run: String): Long = Seq("old", "first", "second", "third", "fourth").indexOf(run) + 1L

  def name(run: String): TransactionName = TransactionName("p", "q", Instance, generation(run))

  def entry(batch: Long, round: Int, transactions: Prepared*): JournalEntry =
    JournalEntry(
      Claim("q", "first", Instance, generation("first"), "l"),
      batch,
      round,
      BatchInput.of(s"offsets/$batch" -> Planned),
      transactions,
      transactions.map(t =>
        t.cluster -> JournalCluster(Some(ScriptedKafka.kafkaId(t.cluster)), Map.empty)
      ).toMap
    )

  /** A probe that runs `action` at one step. */
  def at(named: String)(action: => Unit): CommitProbe = new CommitProbe {
    override def reached(step: CommitStep, batch: Long): Unit = if (step.name == named) action
  }

  /** Kafka's ids of the clusters, as in a decision. */
  def kafkaIds(cluster: String): Option[String] = Some(ScriptedKafka.kafkaId(cluster))

  /** The messages of the tasks of a batch, each of which wrote once. */
  def tasks(transactions: Prepared*): Seq[TaskTransactions] =
    transactions.groupBy(_.partition).toSeq.sortBy(_._1).map { case (task, of) =>
      TaskTransactions(of, retried = false, task)
    }

  /** The condition and the text of the connector's error. */
  def failure(body: => Unit): (String, String) =
    try {
      body
      ("none", "")
    } catch {
      case e: RuntimeException with DynamicKafkaError =>
        e.getCondition.stripPrefix("DYNAMIC_KAFKA.") -> e.getMessage
    }
}
