package io.github.dynamickafka.sink.simulation

import java.io.IOException

import org.apache.kafka.clients.admin.TransactionState._
import org.apache.kafka.common.errors.TimeoutException

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.sink.commit.BatchInput
import io.github.dynamickafka.storage.SimulatedFiles

/** What happens at the steps of drivers: between any two requests of a driver, anything may happen to it and around it. */
private[simulation] trait Choices {

  /** Before each request of a driver. May stop it for a while, or throw [[Died]]. */
  def at(driver: Driver, what: String): Unit

  /** Whether something that may happen does. */
  def chance(perMille: Int): Boolean
  def number(below: Int): Int
}

/**
 * The files, the Kafka clusters and the time of one history.
 *
 * @param isExclusive whether the file system refuses one of two writers of a file
 * @param isRecording whether to keep a description of what happens
 */
private[simulation] final class World(
    val name: String,
    val choices: Choices,
    override val isExclusive: Boolean,
    val defect: Defect,
    val isRecording: Boolean
) extends SimulatedFiles {
  private var nanos = 0L
  var steps = 0L
  var history = Vector.empty[String]
  var violations = Vector.empty[String]
  var files = Map.empty[String, String]

  /** The Kafka cluster to which each cluster id of the metadata leads. */
  var leads = Map.empty[String, ModelKafka]
  var kafkas = Vector.empty[ModelKafka]
  var down = Set.empty[String]

  /** Failures of requests, out of a thousand. */
  var faults = 0

  /** Records that brokers refuse, out of a thousand. */
  var refusals = 0

  /** Batches that producers split, out of a thousand. */
  var splits = 0

  /** Whether a decision is marked as finished after Spark has logged the end of the batch, and not before. */
  var marksLate = false

  /** How often each record is visible. */
  var visible = Map.empty[String, Int].withDefaultValue(0)

  /** From which record of a query on they may be visible twice, because decisions were replaced by older files. */
  var excused = Map.empty[String, Long]
  var isRestored = false
  var committed, aborted = Map.empty[Opened, Long]

  /** The other transactions of the same batch of the same run. */
  var batches = Map.empty[Opened, Seq[Opened]]

  /** The drivers that have looked at a transaction, while it was open. */
  private var lookers = Map.empty[Opened, Set[Driver]].withDefaultValue(Set.empty)

  /** Lost with a topic that was recreated between the last look of a driver and its commit, which no request can show. */
  var recreated = Set.empty[String]

  var current: Option[Driver] = None
  private var isInside = false
  private var instances = 0

  val clock: Clock = new Clock {
    override def nanoTime(): Long = nanos
    override def currentTimeMillis(): Long = nanos / 1000000L
    override def pauseMs(ms: Long): Unit = advanceMs(ms)
  }

  def nowMs: Long = clock.currentTimeMillis()

  def advanceMs(ms: Long): Unit = {
    nanos += ms * 1000000L
    kafkas.foreach(k => k.pass(nowMs).foreach { case (_, t) => lost(k, t) })
  }

  /** As by the time of day: greater than that of each run before, also of those that a restored journal does not know. */
  def leastGeneration: Long = if (isRestored) steps else 1L

  def newInstance(): String = {
    instances += 1
    s"i$instances"
  }

  def newKafka(timeoutMs: Long, bumps: Boolean): ModelKafka = {
    val kafka = new ModelKafka(s"kafka${kafkas.size}", timeoutMs, bumps)
    kafkas :+= kafka
    kafka
  }

  def tell(what: => String): Unit = if (isRecording) history :+= what
  def wrong(what: => String): Unit = {
    tell(s"WRONG: $what")
    violations :+= what
  }

  def resume(driver: Driver): Unit = {
    current = Some(driver)
    driver.coroutine.resume()
    current = None
  }

  def kill(driver: Driver): Unit = if (driver.coroutine.isAlive) {
    driver.isDead = true
    resume(driver)
  }

  /** Something that is not a request of a driver, at a step of one. */
  def inside(body: => Unit): Unit = {
    val before = isInside
    isInside = true
    try body
    finally isInside = before
  }

  def request[A](what: => String)(effect: => A): A =
    current.filter(d => !isInside && d.coroutine.isCurrent).fold(effect) { driver =>
      choices.at(driver, what)
      steps += 1
      try {
        val answer = effect
        driver.saw((what, answer))
        tell(s"${driver.run} $what: ${answer.toString.take(500)}")
        answer
      } catch {
        case e: Exception =>
          driver.saw((what, e.toString))
          tell(s"${driver.run} $what: $e")
          throw e
      }
    }

  // ---- Files ----

  private def file[A](what: String, path: String)(effect: => A): A =
    // Written on a thread of its own, if at all, and read by operators only.
    if (path.endsWith(".beat")) effect
    else request(s"$what $path") {
      if (fails()) throw new IOException(s"$what $path fails")
      val answer = effect
      if (fails()) throw new IOException(s"the response to $what $path is lost")
      answer
    }

  private def fails(): Boolean = !isInside && faults > 0 && choices.chance(faults)

  override def read(path: String): Option[String] = file("get", path)(defect.read(path, files))
  override def exists(path: String): Boolean = file("head", path)(files.contains(path))
  override def names(folder: String): Option[Seq[String]] =
    file("list", folder)(
      namesIn(if (defect.takesPlannedForFinished) folder.replaceFirst("/commits$", "/offsets") else folder)
    )
  override def delete(path: String): Unit =
    if (!defect.deletesMarksLast) file("delete", path)(files -= path)
    else if (path.endsWith(".done")) current.foreach(_.unmarked = path)
    else {
      file("delete", path)(files -= path)
      current.filter(_.unmarked == path.replace(".json", ".done")).foreach { d =>
        file("delete", d.unmarked)(files -= d.unmarked)
      }
    }
  override def replace(path: String, text: String): Unit =
    // By another thread, at any time.
    if (!path.endsWith(".beat")) file("put", path)(files += path -> text)
  override def create(path: String, text: String): Boolean = file("create", path) {
    val isNew = !files.contains(path)
    if (isNew) files += path -> text
    if (isNew && defect.marksEarly && World.isDecision(path))
      files += path.replace(".json", ".done") -> BatchInput.digest(text)
    isNew
  }

  def namesIn(folder: String): Option[Seq[String]] = Some(files.keys.toSeq.collect {
    case path if path.startsWith(s"$folder/") => path.drop(folder.length + 1).takeWhile(_ != '/')
  }.distinct.sorted).filter(_.nonEmpty)

  // ---- Kafka ----

  def kafka[A](cluster: String, what: => String)(effect: ModelKafka => A): A = request(s"$cluster $what") {
    if (down(cluster)) timeout(s"'$cluster' does not respond")
    if (fails()) timeout("a request that fails")
    val answer = effect(leads(cluster))
    if (fails()) timeout("a response that is lost")
    answer
  }

  private def timeout(why: String): Nothing = {
    advanceMs(World.PatienceMs)
    throw new TimeoutException(why)
  }

  def lost(k: ModelKafka, t: ModelTransaction): Unit =
    if (t.state == ONGOING) aborted += Opened(k.id, t.producerId, t.epoch) -> steps

  def looked(k: ModelKafka, t: ModelTransaction, by: Driver): Unit = if (t.state == ONGOING) {
    val opened = Opened(k.id, t.producerId, t.epoch)
    lookers += opened -> (lookers(opened) + by)
  }

  def recreateTopic(k: ModelKafka): Unit = {
    tell(s"the topic of ${k.id} is recreated")
    k.recreateTopic().foreach { t =>
      val isLate = lookers(Opened(k.id, t.producerId, t.epoch)).exists(_.coroutine.isAlive)
      if (isLate) recreated ++= t.records
    }
  }

  /** A driver, or an attempt of a task, aborts what is open with an id, by beginning another transaction or by fencing. */
  def fences(k: ModelKafka, txn: String, by: Driver, beginning: Option[Opener]): Unit =
    k.transactions.get(txn).filter(_.state == ONGOING).foreach { t =>
      lost(k, t)
      val other = t.opener
      if (other.driver.ne(by)) other.driver.isFenced = true
      val isAllowed =
        if (other.driver.checkpoint != by.checkpoint) false
        else if (other.driver eq by)
          beginning.forall(b =>
            b.batch > other.batch || (b.batch == other.batch && b.cluster == other.cluster)
          )
        // A driver aborts what earlier runs have left open. Tasks never do: whose slot they have got has nothing open.
        else beginning.isEmpty && other.driver.generation < by.generation
      if (!isAllowed)
        wrong(
          s"${by.run}, ${beginning.fold("the driver")(b => s"a task of batch ${b.batch}")}, aborts $txn of " +
            s"${other.driver.run}, batch ${other.batch}"
        )
    }

  def commit(k: ModelKafka, txn: String, t: ModelTransaction, by: Driver): Unit = {
    val opened = Opened(k.id, t.producerId, t.epoch)
    val others = batches.getOrElse(opened, Nil)
    if (!by.isReplaying && !others.exists(committed.contains))
      others.find(o => aborted.get(o).exists(_ < by.lookedAt)).foreach { o =>
        wrong(s"${by.run} commits the first part, $txn, of a batch of which $o was aborted before")
      }
    committed += opened -> steps
    k.ended(txn, t, if (choices.chance(100)) PREPARE_COMMIT else COMPLETE_COMMIT, nowMs)
    t.records.foreach { record =>
      visible += record -> (visible(record) + 1)
      if (visible(record) > 1 && !isExcused(record)) wrong(s"duplicate: $record, in $txn")
    }
  }

  private def isExcused(record: String): Boolean = {
    val Array(query, number) = record.split(':')
    excused.get(query).exists(_ <= number.toLong)
  }

  /** Everything is afterwards as it was before. Runs that are alive must not be resumed meanwhile. */
  def undoing[A](body: => A): A = {
    val (before, told, at, soFar, of) = (nanos, history, steps, violations, files)
    val (to, clusters, resting) = (leads, kafkas, kafkas.map(_.saved()))
    val (seen, ended, lost, parts, made) = (visible, committed, aborted, batches, instances)
    try body
    finally {
      nanos = before
      history = told
      steps = at
      violations = soFar
      files = of
      leads = to
      kafkas = clusters
      resting.foreach(_())
      visible = seen
      committed = ended
      aborted = lost
      batches = parts
      instances = made
    }
  }

  /** All that matters for what can happen from now on, as long as no time passes. */
  def state: Any = (
    files,
    instances,
    aborted.keySet,
    leads.toSeq.sortBy(_._1).map { case (id, k) =>
      (id, k.transactions.map { case (txn, t) => (txn, t.producerId, t.epoch, t.state, t.records) }.toSet)
    },
    visible.toMap,
    violations
  )
}

private[simulation] object World {

  /** The name of a query in those of its records. */
  def query(checkpoint: String, query: String): String = s"$checkpoint/$query"
  def record(checkpoint: String, of: String, number: Long): String = s"${query(checkpoint, of)}:$number"

  /** How long a request waits for a cluster that does not respond. */
  val PatienceMs = 1000L

  def isDecision(path: String): Boolean = path.matches(""".*/dynamic-kafka-sink/\d+-\d+\.json""")

  /** The digest that a mark has to contain, of the decision next to it. */
  def digestOfDecision(mark: String, files: Map[String, String]): Option[String] =
    files.get(mark.replace(".done", ".json")).map(BatchInput.digest)
}
