package io.github.dynamickafka.sink.commit

import java.util.UUID
import java.util.concurrent.{
  ExecutionException,
  ExecutorService,
  Future,
  ScheduledThreadPoolExecutor,
  TimeUnit
}

import scala.reflect.ClassTag
import scala.util.Try
import scala.util.control.NonFatal

import com.fasterxml.jackson.core.JsonProcessingException
import com.fasterxml.jackson.databind.json.JsonMapper
import com.fasterxml.jackson.databind.node.ObjectNode
import com.fasterxml.jackson.databind.{DeserializationFeature, SerializationFeature}
import com.fasterxml.jackson.module.scala.DefaultScalaModule
import org.apache.commons.codec.digest.DigestUtils
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileAlreadyExistsException, Path}
import org.apache.spark.sql.connector.write.WriterCommitMessage
import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.DaemonThreads
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.storage.{AtomicFiles, PlannedDeferrals}

/**
 * What a query notes about its commits, in its checkpoint. Files are written atomically.
 *
 *   - `<batch>-<round>.json` is a decision. It is never overwritten: if two queries decide the same batch, one of them fails.
 *   - `<batch>-<round>.done`, which contains the digest of the decision, marks that all its transactions are committed.
 *   - `run-<generation>.json` is the claim of a run, of which the one with the highest number counts. Of two runs that start at
 *     the same time, only one can create a file; the other one takes the next number.
 *   - `slot-<digest>.json` has transactional ids that the next run may use.
 *   - `resolved-<batch>-<round>.json` are the notes of operators, which are kept. The query does not read them: for it, a
 *     decision is closed by its mark or by its deletion.
 *
 * @param newInstance identifies a journal that is new or was copied
 * @param leastGeneration the least number of a claim that is taken now. By the time of day, it is greater than that of each run
 *                        before, also of those that a restored copy of the journal does not know: otherwise transactions that
 *                        these have left open would count as those of later runs
 */
private[sink] final class Journal(
    location: String,
    hadoop: Configuration,
    newInstance: () => String = () => UUID.randomUUID().toString.take(8),
    leastGeneration: () => Long = () => 1L
) {
  import Journal._

  private val home = new Path(location).getFileSystem(hadoop).makeQualified(new Path(location))
  private val folder = new Path(home, Folder)
  private val files = new AtomicFiles(folder, hadoop)

  // The mark that is being written while Spark logs the end of a batch.
  @volatile private var marking: Option[Future[_]] = None

  def path: String = folder.toString

  /** What Spark has planned, if the location is the checkpoint of a streaming query. */
  val batches: SparkBatches = new SparkBatches(home, path, hadoop)

  /** The last decision, and whether all its transactions are committed. */
  def newest(): Option[(JournalEntry, Boolean)] = numbers().lastOption.flatMap(number =>
    found(number).map { case (entry, text) => entry -> isDone(number, text) }
  )

  /** The last decision, if not all its transactions are committed. */
  def open(): Option[JournalEntry] = newest().collect { case (entry, false) => entry }

  def rounds(batch: Long): Seq[JournalEntry] = numbers().filter(_._1 == batch).flatMap(found).map(_._1)

  /** The decision of a batch, if not all of its transactions are committed. */
  def undone(batch: Long, round: Int): Option[JournalEntry] =
    // Usually there is none, so that this is one request to the file system.
    found((batch, round)).collect { case (entry, text) if !isDone((batch, round), text) => entry }

  /**
   * Writes a decision.
   *
   * @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException JOURNAL_CONFLICT if the batch is already decided
   * @throws java.io.IOException if writing fails. [[has]] returns whether the decision was written nevertheless
   */
  def decide(entry: JournalEntry): Unit = {
    val number = (entry.batch, entry.round)
    // Left behind by somebody who deleted the decision: with it, this one would look like one that replaced another.
    if (files.exists(done(number)) && !files.exists(decision(number))) files.delete(done(number))
    try files.create(decision(number), JournalJson.write(entry))
    catch {
      // A lower layer may have retried after a lost response.
      case e: FileAlreadyExistsException if !has(entry) =>
        throw Errors.journalConflict(path, s"another run of the query has decided batch ${entry.batch}", e)
    }
  }

  /** Whether exactly this decision exists. */
  def has(entry: JournalEntry): Boolean =
    files.read(decision((entry.batch, entry.round))).contains(JournalJson.write(entry))

  /**
   * Marks that all transactions of the decision are committed, and deletes old decisions.
   *
   * @param meanwhile the executor that does so while Spark logs the end of the batch. Either of the two shows the next start that the
   *                  batch is over, so it makes no difference which one is there first, or alone
   */
  def finish(entry: JournalEntry, meanwhile: Option[ExecutorService] = None): Unit = {
    def mark(): Unit = {
      files.replace(done((entry.batch, entry.round)), JournalJson.digest(entry))
      numbers().filter(_._1 < entry.batch - Kept).foreach(remove)
    }
    meanwhile.fold(mark())(threads => marking = Some(threads.submit((() => mark()): Runnable)))
  }

  /**
   * Waits for the mark of the last batch, no longer than this time. Called before the next one, so that only the newest decision may
   * be without its mark.
   *
   * @throws java.io.IOException if it could not be written
   * @throws java.util.concurrent.TimeoutException if it is still not written
   */
  def awaitMark(ms: Long = Long.MaxValue): Unit = {
    val mark = marking
    marking = None
    try mark.foreach(_.get(ms, TimeUnit.MILLISECONDS))
    catch { case e: ExecutionException => throw e.getCause }
  }

  /** Deletes a decision none of whose transactions gets committed. */
  def retract(entry: JournalEntry): Unit = remove((entry.batch, entry.round))

  /**
   * Makes this run the owner of the journal. Deletes decisions of another query, whose checkpoint was deleted.
   */
  @annotation.tailrec
  def claim(queryId: String, run: String, attempts: Int = MostAttempts): Claim = {
    val last = owner()
    val mine = Claim(
      queryId,
      run,
      last.filter(_.location == path).fold(newInstance())(_.instance),
      math.max(last.fold(0L)(_.generation) + 1, leastGeneration()),
      path
    )
    // Where a file system lets both of two writers succeed, this run may have been overtaken while it wrote.
    if (create(mine).isEmpty && owner().contains(mine)) {
      last.filter(_.location != path).foreach { other =>
        log.warn(
          s"The journal at $path was copied or moved from ${other.location}: transactions that are open there are not aborted " +
            "by this query, but by Kafka after their timeout"
        )
      }
      deleteBefore(mine)
      removeOthers(mine)
      mine
    } else if (attempts > 1) claim(queryId, run, attempts - 1)
    else throw Errors.journalConflict(path, "other runs of the query start at the same time")
  }

  /**
   * Replaces the claim of the last run, for somebody who ends its decision: without a new instance, because this is not a copy
   * of the journal, wherever it is seen from.
   *
   * @param entry the decision, of which the claim may have been deleted
   */
  def takeOver(entry: JournalEntry, run: String): Claim = {
    val last = owner().getOrElse(entry.claim.copy(location = path))
    val mine = last.copy(queryId = entry.claim.queryId, run = run, generation = last.generation + 1)
    create(mine).foreach(e =>
      throw Errors.journalConflict(path, "a run of the query starts at the same time", e)
    )
    checkClaim(mine)
    deleteBefore(mine)
    mine
  }

  private def create(claim: Claim): Option[FileAlreadyExistsException] =
    try {
      files.create(ofRun(claim.generation, "json"), JournalJson.write(claim))
      None
    } catch { case e: FileAlreadyExistsException => Some(e) }

  private def deleteBefore(mine: Claim): Unit = generations().filter(_ < mine.generation).foreach { old =>
    files.delete(ofRun(old, "json"))
    files.delete(ofRun(old, "beat"))
  }

  /**
   * The newest last, so that a run that is interrupted leaves it to the next one. Looks before each deletion: another run may have
   * claimed the journal meanwhile, and decided batches with the same numbers.
   */
  private def removeOthers(mine: Claim): Unit =
    if (newest().exists(_._1.claim.queryId != mine.queryId))
      for {
        number <- numbers()
        (entry, _) <- found(number) if entry.claim.queryId != mine.queryId
      } {
        checkClaim(mine)
        remove(number)
      }

  /** @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException JOURNAL_CONFLICT if another run is the owner */
  def checkClaim(mine: Claim): Unit = if (!owner().contains(mine)) {
    val why = owner().fold("the claim of this run was deleted")(other =>
      s"run '${other.run}' of the query started after this run, '${mine.run}': its generation is ${other.generation}, that of " +
        s"this run is ${mine.generation}"
    )
    throw Errors.journalConflict(path, why)
  }

  def owner(): Option[Claim] = generations().maxOption.flatMap(n => read[Claim](ofRun(n, "json")))

  /**
   * Shows, while `body` runs and takes long, that the owner of this claim ends transactions, by a file next to its claim that is
   * written again and again.
   */
  def ending[A](claim: Claim)(body: => A): A = {
    val path = ofRun(claim.generation, "beat")
    Heartbeat.during(
      BeatMs,
      () => files.replace(path, UUID.randomUUID().toString),
      () => files.delete(path)
    )(body)
  }

  /** The last heartbeat of a run; None: it has never had to show itself, or has finished what it did. */
  def beat(claim: Claim): Option[String] = files.read(ofRun(claim.generation, "beat"))

  /**
   * The transactional ids that runs have given up. A file may be older than what it is about, and several runs may read it: only the
   * id that guards the slot decides who gets it. One that cannot be read does not count; then other ids are used.
   */
  def freeSlots(): Seq[FreeSlot] = for {
    name <- files.names(folder).sorted if name.matches("""slot-\w+\.json""")
    text <- files.read(new Path(folder, name))
    slot <- Try(JournalJson.read[FreeSlot](text, name)).toOption
  } yield slot

  def giveUp(slot: FreeSlot): Unit = files.replace(fileOf(slot), JournalJson.write(slot))

  def remove(slot: FreeSlot): Unit = files.delete(fileOf(slot))

  private def fileOf(free: FreeSlot) =
    new Path(folder, s"slot-${BatchInput.digest(free.slot).take(16)}.json")

  /** The notes about exactly this decision, the last one last. */
  def notes(entry: JournalEntry): Seq[Note] =
    allNotes(entry).filter(_.decision == JournalJson.digest(entry))

  /** @param completes whether the note replaces the last one, which was added before the first step */
  def add(entry: JournalEntry, note: Note, completes: Boolean = false): Unit = {
    val before = allNotes(entry)
    val all = (if (completes) before.dropRight(1) else before) :+ note
    files.replace(resolved(entry), JournalJson.write(Notes(all)))
  }

  private def allNotes(entry: JournalEntry): Seq[Note] = read[Notes](resolved(entry)).toSeq.flatMap(_.notes)

  private def resolved(entry: JournalEntry) =
    new Path(folder, s"resolved-${entry.batch}-${entry.round}.json")

  def exists: Boolean = files.names(folder).nonEmpty

  /** Deletes the journal. Only if no decision is open. */
  def delete(): Unit = files.delete(new Path(location))

  /**
   * A mark of another decision is there if a run was stalled while it wrote a decision, and has written it after a later run
   * had finished the batch: not every file system refuses that.
   */
  private def isDone(number: Number, text: String): Boolean = files.read(done(number)).exists { mark =>
    if (mark != BatchInput.digest(text))
      throw Errors.journalConflict(
        decision(number).toString,
        s"it has replaced another decision about batch ${number._1}, all transactions of which are committed. Two runs of the " +
          "query have written it at the same time, and the file system refuses neither of them. The batch is written: put the " +
          s"SHA-256 of this file into '${done(number).getName}', and the query continues after the batch"
      )
    true
  }

  private def remove(number: Number): Unit = {
    // The decision last: without it, nothing would delete '.done' later.
    files.delete(done(number))
    files.delete(decision(number))
  }

  private def found(number: Number) = files.read(decision(number)).map(text =>
    JournalJson.read[JournalEntry](text, decision(number).toString) -> text
  )

  private def read[A: ClassTag](file: Path): Option[A] =
    files.read(file).map(JournalJson.read[A](_, file.toString))

  private def numbers(): Seq[Number] = files.names(folder).collect { case DecisionFile(batch, round) =>
    (batch.toLong, round.toInt)
  }.sorted

  private def generations(): Seq[Long] = files.names(folder).collect { case ClaimFile(n) => n.toLong }

  private def decision(number: Number) = new Path(folder, s"${number._1}-${number._2}.json")
  private def done(number: Number) = new Path(folder, s"${number._1}-${number._2}.done")
  private def ofRun(generation: Long, kind: String) = new Path(folder, s"run-$generation.$kind")
}

private[sink] object Journal {
  val Folder = "dynamic-kafka-sink"

  val BeatMs = 2000L

  /** The number of batches whose decisions are kept, for troubleshooting. */
  private[commit] val Kept = 10L
  private val DecisionFile = """(\d+)-(\d+)\.json""".r
  private val ClaimFile = """run-(\d{1,18})\.json""".r
  private val MostAttempts = 10
  private val log = LoggerFactory.getLogger(classOf[Journal])

  private type Number = (Long, Int)

  /**
   * The journal of a streaming query in its checkpoint, with generations that no run had before, also if an older copy of the journal
   * is restored.
   */
  def ofQuery(location: String, hadoop: Configuration): Journal =
    new Journal(location, hadoop, leastGeneration = () => System.currentTimeMillis())

  /** The journal of a job, next to those of other jobs with the same location. */
  def ofJob(location: String, job: String, hadoop: Configuration): Journal =
    ofQuery(new Path(jobs(location), job).toString, hadoop)

  def earlier(location: String, hadoop: Configuration): Seq[Journal] = {
    val folder = jobs(location)
    new AtomicFiles(folder, hadoop).list(folder).filter(_.isDirectory).map(_.getPath.toString).sorted
      .map(ofQuery(_, hadoop))
  }

  private def jobs(location: String) = new Path(location, "dynamic-kafka-jobs")
}

/**
 * The decision to commit a batch. After it is written, the batch will be committed, regardless of failures.
 *
 * @param input what Spark had planned for the batch, so that another plan with the same number is recognized
 * @param round 0, or the number of times that lost parts of the batch were written again
 * @param leftOut the clusters that were left out of the batch, so that its lost parts are routed as before
 */
private[dynamickafka] final case class JournalEntry(
    claim: Claim,
    batch: Long,
    round: Int,
    input: BatchInput,
    transactions: Seq[Prepared],
    clusters: Map[String, JournalCluster],
    leftOut: Set[String] = Set.empty
) {

  def kafkaId(cluster: String): Option[String] = clusters.get(cluster).flatMap(_.kafkaId)

  def topicIds: Map[String, Map[String, String]] = clusters.map { case (id, of) => id -> of.topicIds }
}

/**
 * @param kafkaId Kafka's id of the cluster; None: it has none
 * @param properties the connection properties without secrets, for a restart after the cluster has left the metadata
 * @param topicIds Kafka's ids of the topics of the transactions, as far as it has returned them
 */
private[sink] final case class JournalCluster(
    kafkaId: Option[String],
    properties: Map[String, String],
    topicIds: Map[String, String] = Map.empty
)

/**
 * Identifies the rows of a batch by the files in the checkpoint that define them, because a batch that is planned again
 * has the same number and may have other rows: the batch's file in Spark's offset log, and the deferrals of a source, which
 * leave ranges of these offsets out.
 *
 * @param digests SHA-256 of the content, by the path of the file in the checkpoint
 */
private[sink] final case class BatchInput(digests: Map[String, String]) {

  /** What differs in `now`, for an error message; None if both are equal. */
  def difference(now: BatchInput): Option[String] = {
    def shown(input: BatchInput, file: String) = input.digests.getOrElse(file, "no such file")
    val differing = (digests.keySet ++ now.digests.keySet).toSeq.sorted
      .filter(file => digests.get(file) != now.digests.get(file))
      .map(file => s"'$file' had SHA-256 ${shown(this, file)} and now has ${shown(now, file)}")
    Option.when(differing.nonEmpty)(differing.mkString(", "))
  }

  /** The files that only `now` has, for an error message; None if there are none. */
  def additions(now: BatchInput): Option[String] =
    Option((now.digests.keySet -- digests.keySet).toSeq.sorted.map(file => s"'$file'").mkString(", "))
      .filter(_.nonEmpty)
}

private[dynamickafka] object BatchInput {

  /** For a job, which has no offset log. */
  val Empty: BatchInput = BatchInput(Map.empty)

  def of(contents: (String, String)*): BatchInput =
    BatchInput(contents.map { case (file, text) => file -> digest(text) }.toMap)

  def digest(text: String): String = DigestUtils.sha256Hex(text)
}

/**
 * The right of a run to decide batches and to abort transactions, as long as no later run has claimed the journal.
 *
 * @param run unique for each start
 * @param instance identifies the journal. A copy of a checkpoint has another one, so that its query does not abort
 *                 transactions of the original query
 * @param generation grows with each run on this journal
 * @param location where the journal was when it was claimed
 */
private[dynamickafka] final case class Claim(
    queryId: String,
    run: String,
    instance: String,
    generation: Long,
    location: String
)

/**
 * The transactional ids of a run that has ended, with no attempt of a task that may still use them.
 *
 * @param slot what the ids begin with
 * @param cluster where the id is that guards the slot
 * @param producerId with `epoch`, what Kafka has given to the run for that id
 */
private[sink] final case class FreeSlot(
    slot: String,
    cluster: String,
    producerId: Long,
    epoch: Short
)

/**
 * Who has resolved a decision, when, and how.
 *
 * @param decision the digest of the decision: the batch may be decided again after `rewrite`
 * @param at as in ISO 8601
 * @param cluster of `abandon-cluster`
 * @param closed whether the decision was closed. A note is written before the first step, without it
 */
private[sink] final case class Note(
    decision: String,
    by: String,
    at: String,
    resolution: String,
    cluster: Option[String],
    closed: Boolean,
    states: Map[String, String]
)

/** The notes about all decisions of a round of a batch, the last one last. */
private[sink] final case class Notes(notes: Seq[Note])

/**
 * A transaction whose records are all in Kafka, and which stays open until it is committed or aborted.
 *
 * @param partition the number of the task in its batch
 */
private[dynamickafka] final case class Prepared(
    cluster: String,
    transactionalId: String,
    producerId: Long,
    epoch: Short,
    partition: Int,
    rows: Long,
    topics: Seq[String]
) {

  def shown: String =
    s"cluster '$cluster', transaction '$transactionalId' (task $partition, $rows records, topic ${topics.mkString(", ")})"
}

/**
 * The message of a task to the driver.
 *
 * @param retried whether an earlier attempt may have left an open transaction
 * @param withheld the number of records, by cluster, that were not written because this task's part is already
 *                 committed
 * @param openMs how long its transactions had been open when they were prepared, by cluster, by the monotonic clock of the executor
 * @param atMs when they were prepared, in milliseconds since the epoch by the clock of the executor
 */
private[sink] final case class TaskTransactions(
    prepared: Seq[Prepared],
    retried: Boolean,
    partition: Int,
    withheld: Map[String, Long] = Map.empty,
    openMs: Map[String, Long] = Map.empty,
    atMs: Long = 0L
) extends WriterCommitMessage {

  /**
   * The age of the transaction on a cluster now.
   *
   * @param sinceStartMs the time since the tasks were started: no transaction is older, whatever the clocks say
   * @param nowMs milliseconds since the epoch, by the clock of the driver
   */
  def ageMs(cluster: String, sinceStartMs: Long, nowMs: Long): Long =
    openMs.get(cluster).fold(sinceStartMs)(open => math.min(sinceStartMs, open + math.max(0L, nowMs - atMs)))
}

/** The codec of all files of a journal, version 2. A missing field or another version is an error. */
private[dynamickafka] object JournalJson {
  val Version = 2
  private val mapper = JsonMapper.builder().addModule(DefaultScalaModule)
    .enable(
      DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES,
      DeserializationFeature.FAIL_ON_NULL_CREATOR_PROPERTIES,
      DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES
    )
    .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
    .enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS).build()

  def write(entry: AnyRef): String = {
    val root = mapper.createObjectNode().put("version", Version)
    mapper.writeValueAsString(root.setAll[ObjectNode](mapper.valueToTree[ObjectNode](entry)))
  }

  /** @param where the file, for the error message */
  def read[A](text: String, where: String)(implicit kind: ClassTag[A]): A =
    try
      mapper.readTree(text) match {
        case root: ObjectNode =>
          val version = root.path("version").asInt
          if (version != Version) throw new IllegalArgumentException(
            s"it has version $version, but this version of the connector supports version $Version"
          )
          mapper.treeToValue(root, kind.runtimeClass).asInstanceOf[A]
        case _ => throw new IllegalArgumentException("it is not a JSON object")
      }
    catch {
      case NonFatal(e) =>
        val why = e match {
          case json: JsonProcessingException => json.getOriginalMessage
          case other => other.getMessage
        }
        throw Errors.journalConflict(where, s"it cannot be read: $why", e)
    }

  def digest(entry: JournalEntry): String = BatchInput.digest(write(entry))

  /** A decision when clusters get other ids. */
  def renamedDecision(text: String, where: String)(id: String => String): String = {
    val entry = read[JournalEntry](text, where)
    write(entry.copy(
      transactions = entry.transactions.map(t => t.copy(cluster = id(t.cluster))),
      clusters = entry.clusters.map { case (cluster, of) => id(cluster) -> of },
      leftOut = entry.leftOut.map(id)
    ))
  }

  def renamedSlot(text: String, where: String)(id: String => String): String = {
    val slot = read[FreeSlot](text, where)
    write(slot.copy(cluster = id(slot.cluster)))
  }
}

/**
 * The batches of a streaming query, by the files in its checkpoint that Spark and the source write before the tasks of a batch
 * start. What a batch is made from when its tasks start and when it is decided has to be equal.
 */
private[sink] final class SparkBatches(home: Path, journal: String, hadoop: Configuration) {
  private val Offsets = "offsets"

  private val Sources = "sources"

  private val offsets = new Path(home, Offsets)
  private val files = new AtomicFiles(offsets, hadoop)
  private var planned: Option[(Long, BatchInput)] = None

  // Constant for a query, and read once.
  private var sources = Seq.empty[String]

  /**
   * The input of a batch; None if it is not in Spark's offset log, so that a decided batch could be followed by another one
   * with the same number, as in real-time mode, which logs offsets after the batch.
   */
  def input(batch: Long): Option[BatchInput] = files.read(new Path(offsets, batch.toString)).map { text =>
    if (sources.isEmpty) sources = files.names(new Path(home, Sources))
    val deferred = sources.map(deferral(_, batch))
      .flatMap(file => files.read(new Path(home, file)).map(file -> _))
    BatchInput.of((s"$Offsets/$batch" -> text) +: deferred: _*)
  }

  /**
   * Called before the tasks of a batch are started, after they are planned. Another run may defer a part of the batch at any
   * time: then this batch is not what the other run has planned. So the deferrals with which this run has planned its tasks count,
   * and not what the checkpoint has when this is called, which may be what the other run has planned already.
   *
   * @param plans what the sources of the query have left out of its batches
   */
  def begin(plans: PlannedDeferrals): Unit = {
    def of(batch: Long) = input(batch).map(found =>
      batch -> sources.foldLeft(found)((input, n) =>
        plans.of(new Path(new Path(home, Sources), n)).fold(input) { deferrals =>
          val file = deferral(n, batch)
          BatchInput((input.digests - file) ++ deferrals.get(batch).map(file -> BatchInput.digest(_)))
        }
      )
    )
    // Usually the next one, which saves a listing.
    planned = planned.flatMap(last => of(last._1 + 1)).orElse(last().flatMap(of))
  }

  /** @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException EXACTLY_ONCE_REFUSED, JOURNAL_CONFLICT */
  def decided(batch: Long): BatchInput = {
    val now = input(batch).getOrElse(throw Errors.exactlyOnceRefused(
      "the offset log at 'checkpointLocation' does not contain the batch: it is not the checkpoint of the query."
    ))
    planned.flatMap { case (begun, input) =>
      if (begun == batch) input.difference(now)
      // The newest batch when the tasks started was another one: the plan of this batch was not compared.
      else Some(s"batch $begun was in the offset log when the tasks of batch $batch started")
    }.foreach(what =>
      throw Errors.journalConflict(
        journal,
        s"another run of the query has planned batch $batch while this run has written it: $what"
      )
    )
    now
  }

  /** The number of the last batch in Spark's offset log: the batch that runs, while one does. */
  def last(): Option[Long] = lastIn(Offsets)

  /** The number of the last batch in Spark's commit log, where Spark writes a batch after the sink has committed it. */
  def finished(): Option[Long] = lastIn("commits")

  /** Whether Spark has finished the batch or planned a later one, so that it does not run the batch again. */
  def isOver(batch: Long): Boolean = last().exists(_ > batch) || finished().exists(_ >= batch)

  private def lastIn(log: String) = files.names(new Path(home, log)).flatMap(_.toLongOption).maxOption

  private def deferral(source: String, batch: Long) = s"$Sources/$source/dynamic-kafka/deferred/$batch.json"
}

/** Shows that something is being done, on a thread of its own, so that it also does while a request hangs. */
private[dynamickafka] object Heartbeat {
  private val log = LoggerFactory.getLogger(Heartbeat.getClass)

  /**
   * Calls `beat` at intervals while `body` runs, and `end` after it if there was a beat. The first beat comes after one
   * interval, so that a short body costs nothing. Errors of both are logged: they must not fail the body.
   */
  def during[A](everyMs: Long, beat: () => Unit, end: () => Unit)(body: => A): A = {
    val lock = new Object
    var isOver, hasBeaten = false
    def next(): Unit = lock.synchronized {
      if (!isOver) {
        hasBeaten = true
        quietly(beat)
      }
    }
    val task = threads.scheduleWithFixedDelay(() => next(), everyMs, everyMs, TimeUnit.MILLISECONDS)
    try body
    finally {
      val _ = task.cancel(false)
      // Waits for a beat that has begun, which would restore what `end` removes.
      lock.synchronized {
        isOver = true
        if (hasBeaten) quietly(end)
      }
    }
  }

  private def quietly(action: () => Unit): Unit =
    try action()
    catch { case NonFatal(e) => log.debug("A heartbeat failed", e) }

  private lazy val threads: ScheduledThreadPoolExecutor = {
    val pool = new ScheduledThreadPoolExecutor(1, new DaemonThreads("dynamic-kafka-heartbeat"))
    pool.setRemoveOnCancelPolicy(true)
    pool
  }
}
