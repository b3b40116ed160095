package io.github.dynamickafka.sink.simulation

import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.immutable.SortedMap

import org.apache.kafka.clients.admin.TransactionState
import org.apache.kafka.clients.admin.TransactionState.{COMPLETE_COMMIT, ONGOING}
import org.apache.kafka.clients.producer.ProducerRecord

import io.github.dynamickafka.config.{ClusterProperties, TransactionOptions, UnknownCommitPolicy}
import io.github.dynamickafka.error.DynamicKafkaError
import io.github.dynamickafka.kafka.ProducerSettings
import io.github.dynamickafka.metadata.watch.RemovalGuard
import io.github.dynamickafka.metadata.{Topology, TopologyCluster, WriteEntry, WriteStream}
import io.github.dynamickafka.sink.WriterFactory
import io.github.dynamickafka.sink.commit._
import io.github.dynamickafka.storage.{PlannedDeferrals, SimulatedFileManager}

/**
 * What a history does to the tasks of a batch.
 *
 * @param lacking how many answers of the metadata service lack a cluster
 */
private[simulation] final case class Tasks(
    perBatch: Int,
    failing: Int,
    stalled: Int,
    deferring: Int,
    lacking: Int = 0
)

/**
 * A run of the query: Spark's loop around the product's commit protocol, as `SinkRun` calls it.
 *
 * @param checkpoint the name of the checkpoint
 * @param most the number of batches after which the query is stopped
 */
private[simulation] final class Driver(
    val number: Int,
    val checkpoint: String,
    world: World,
    tasks: Tasks,
    replayLost: Boolean,
    most: Int
) {
  import Driver._

  val run: String = s"run$number"
  val coroutine: Coroutine = new Coroutine(body())
  var isDead = false

  /** Whether a later run has aborted what this one had open. */
  var isFenced = false

  /** The condition or the exception that has ended the query. */
  var ended: Option[String] = None

  /** The last step at which it has not asked Kafka yet what it commits now. */
  var lookedAt = 0L
  var isReplaying = false

  /** The batch of the tasks that begin transactions. */
  var opening = 0L

  /** What a defect takes for open, or for committed, without asking. */
  var assumed = Seq.empty[Prepared]
  var assumedState: TransactionState = ONGOING

  /** What a defect deletes too late. */
  var unmarked = ""
  var generation = 0L
  var ids: Option[TransactionName] = None

  /** Attempts that Spark has given up and that still run, with the number of batches with second attempts since. */
  var zombies = Vector.empty[Zombie]

  /** What it has seen so far, which determines what it does next. */
  var seen = 0L
  def saw(what: Any): Unit = seen = 1099511628211L * seen + what.hashCode

  private val log = new SparkLog(world, checkpoint)
  private val place = s"file:/${world.name}/$checkpoint"
  private val journal =
    new Journal(place, SimulatedFileManager.hadoop, () => newInstance(), () => world.leastGeneration)
  private val guard = new RemovalGuard("simulated", None, if (world.defect.believesAnswers) 1 else 2)
  private var isLacking = true
  private val pool = new TransactionPool(s => new ModelProducer(world, this, s.cluster), IdleMs, world.clock)
  private val clusters = new Clusters(
    (id, _) => properties(id),
    requestTimeoutMs = World.PatienceMs,
    CommitTimeoutMs,
    (p, _) => new ModelAdmin(world, this, p.clusterId),
    Coroutine.Direct
  )

  private def newInstance(): String = {
    val instance = world.newInstance()
    saw(instance)
    instance
  }

  /** What determines what it does next, and what of it is wrong. */
  def state: Any =
    (
      number,
      coroutine.isAlive,
      seen,
      assumed,
      world.aborted.collect { case (t, at) if at < lookedAt => t }.toSet
    )

  private def body(): Unit = {
    var running: Option[TwoPhaseCommit] = None
    try {
      val query = log.start()
      var commits: Option[TwoPhaseCommit] = None
      var next = log.pending().map(log.planned(_, tasks.deferring))
      (1 to most).foreach { _ =>
        val plan = next.getOrElse(log.plan())
        val sink = commits.getOrElse {
          connect()
          val claim = journal.claim(query, run)
          generation = claim.generation
          val name =
            world.defect.name(TransactionName("p", query, claim.instance, claim.generation))
          ids = Some(name)
          val context = CommitContext(
            claim,
            journal,
            clusters,
            pool,
            TransactionOptions("p", Some(place), CommitTimeoutMs, replayLost, policy),
            Steps,
            world.clock
          )
          val follows =
            if (world.defect.takesAnySlot) (_: Any, _: Any) => true else TransactionalIds.follows _
          new TwoPhaseCommit(
            new TransactionalIds(name, context, arePassedOn = true, follows),
            context,
            None,
            if (world.defect.ignoresPlans) new PlannedDeferrals else log.plans,
            new Coroutine.AtOnceOrLate(() => world.marksLate)
          )
        }
        if (!commits.contains(sink)) recover(sink)
        commits = Some(sink)
        running = Some(sink)
        batch(sink, if (world.defect.changesIdSets) sink.name else sink.name.copy(set = 0), plan, query)
        log.finish(plan)
        next = None
      }
      ended = Some(Stopped)
    } catch {
      case e: RuntimeException with DynamicKafkaError =>
        ended = Some(e.getCondition.stripPrefix("DYNAMIC_KAFKA."))
        world.tell(s"$run: ${e.getMessage}")
      // Only the model throws it.
      case e: NullPointerException => throw e
      case e: Exception =>
        ended = Some(e.toString)
        world.tell(s"$run: $e")
    } finally if (!isDead) {
        world.tell(s"$run ended: ${ended.getOrElse("died")}")
        running.foreach(_.close())
      }
  }

  private def connect(): Unit = {
    clusters.set(Ids.map(id => id -> properties(id)).toMap)
    // What other runs do makes no difference to it.
    world.inside(Ids.foreach(clusters.learnTopics(_, Set(Topic))))
  }

  /** The clusters of the topology for the next batch. Of two answers in a row, one has them all, and so has the first one. */
  private def routed(): Set[String] = {
    isLacking = !isLacking && world.choices.chance(tasks.lacking)
    guard(topology(if (isLacking) Ids.take(1) else Ids)).topology.clusters.keySet.toSet
  }

  private def policy: UnknownCommitPolicy =
    if (world.defect.takesUnknownForLost) UnknownCommitPolicy.AssumeAborted else UnknownCommitPolicy.Fail

  private def recover(sink: TwoPhaseCommit): Unit = {
    lookedAt = world.steps
    isReplaying = replayLost
    val decided = world.defect.lastDecision(world.files, s"/${world.name}/$checkpoint")
    def isLogged = decided.exists(d => world.files.contains(s"/${world.name}/$checkpoint/commits/${d.batch}"))
    if (world.defect.rollsForwardBlindly || (world.defect.believesCommitLog && isLogged)) {
      assumed = decided.fold(Seq.empty[Prepared])(_.transactions)
      assumedState = if (world.defect.believesCommitLog) COMPLETE_COMMIT else ONGOING
    }
    sink.recover()
    assumed = Nil
  }

  private def batch(sink: TwoPhaseCommit, name: TransactionName, plan: Plan, query: String): Unit = {
    sink.begin()
    val clusters = routed()
    val started = world.clock.nanoTime()
    val with_ =
      WriterFactory.Transactions(name, sink.lastCommitted, sink.replay, journal.path)
    val isWritten = with_.isWritten(plan.batch)
    var done = Vector.empty[TaskTransactions]
    var second, replaced = false
    try {
      (0 until tasks.perBatch).foreach { p =>
        if (isWritten) done :+= TaskTransactions(Nil, retried = false, p)
        else {
          val rows = plan.rows.filter(r => r / Ids.size % tasks.perBatch == p)
          done :+= task(
            with_,
            plan.batch,
            p,
            rows.map(r => Ids((r % Ids.size).toInt) -> World.record(checkpoint, query, r))
              .filter { case (cluster, _) => clusters(cluster) }
          )
          second = second || done.last.retried
        }
      }
      isReplaying = sink.replay.isDefined
      val mine = done.flatMap(_.prepared)
      val opened = mine.map(ModelProducer.opened(world, _))
      world.batches ++= opened.map(_ -> opened)
      val reported = if (world.defect.forgetsAttempts) done.map(_.copy(retried = false)) else done
      world.inside { replaced = !journal.owner().exists(_.run == run) }
      sink.commit(plan.batch, reported, started, id => world.leads(id).timeoutMs, () => second)
    } catch {
      case thrown: Exception =>
        val e = world.defect.error(thrown)
        if ((replaced || isFenced) && e.getSuppressed.isEmpty && Driver.advisesTimeout(e))
          world.wrong(s"$run ends with the advice of a longer time-out, and a later run has replaced it")
        // As Spark does.
        sink.abort(plan.batch, done)
        throw e
    }
    if (second) zombies = zombies.map(z => z.copy(age = z.age + 1)).filter(_.age < TransactionalIds.MostSets)
  }

  private object Steps extends CommitProbe {
    override def reached(step: CommitStep, batch: Long): Unit =
      if (step == CommitStep.BeforeDecision) lookedAt = world.steps
  }

  private def task(
      of: WriterFactory.Transactions,
      batch: Long,
      partition: Int,
      rows: Seq[(String, String)]
  ): TaskTransactions = {
    def attempt(number: Int): TaskTransactions = {
      val sender = new TransactionalSender(
        settings(_),
        pool,
        TaskAttempt(
          partition,
          cluster => of.name.id(world.defect.id(cluster), batch, partition, 0, number),
          retried = number > 0
        ),
        cluster => of.replay.forall(r => r.batch != batch || r.writes(partition, cluster)),
        () => false,
        world.clock
      )
      def send(some: Seq[(String, String)]): Unit = {
        opening = batch
        some.foreach { case (cluster, r) =>
          sender.send(cluster, new ProducerRecord(Topic, r.getBytes(UTF_8)))
        }
      }
      val mayFail = number == 0 && rows.nonEmpty
      if (mayFail && world.choices.chance(tasks.stalled)) {
        world.tell(s"$run: task $partition of batch $batch is stalled")
        zombies :+= Zombie(
          0,
          () => {
            val before = opening
            try {
              send(rows)
              val _ = sender.commit()
            } catch { case _: Exception => () }
            finally opening = before
          }
        )
        attempt(number + 1)
      } else if (mayFail && world.choices.chance(tasks.failing)) {
        // With its executor: nothing aborts what it has open.
        send(rows.take(1 + rows.size / 2))
        world.tell(s"$run: task $partition of batch $batch is lost")
        attempt(number + 1)
      } else {
        val written =
          try {
            send(rows)
            Right(sender.commit().asInstanceOf[TaskTransactions])
          } catch { case e: Exception => Left(e) }
        written match {
          case Right(message) => message
          case Left(e) =>
            sender.abort()
            if (number == MostAttempts - 1) throw e
            attempt(number + 1)
        }
      }
    }
    attempt(0)
  }
}

/** @param age the number of batches with second attempts that have ended since its own was started */
private[simulation] final case class Zombie(age: Int, goOn: () => Unit)

private[simulation] object Driver {
  val Ids: Seq[String] = Seq("a", "b")
  val Stopped = "stopped"
  private val Topic = "t"
  private val CommitTimeoutMs = 3000L
  private val MostAttempts = 3

  // The pool looks after it on a thread of its own, in real time.
  private val IdleMs = 1000L

  private val known: Map[String, ClusterProperties] = Ids.map(id => id -> CommitScene.properties(id)).toMap
  private val ofTasks: Map[String, ProducerSettings] =
    known.map { case (id, p) => id -> new ProducerSettings(id, p.client) }

  private def topology(ids: Seq[String]): Topology = Topology(
    streams =
      SortedMap("s" -> WriteStream("s", ids.map(WriteEntry(_, SortedMap(Topic -> None), None, None)))),
    clusters = SortedMap.from(ids.map(id => id -> TopologyCluster(id, SortedMap.empty, Map.empty)))
  )

  def advisesTimeout(e: Throwable): Boolean = e match {
    case known: DynamicKafkaError => known.getCondition.endsWith("TRANSACTIONS_ABORTED")
    case _ => false
  }

  def properties(id: String): ClusterProperties = known(id)
  def settings(id: String): ProducerSettings = ofTasks(id)
}
