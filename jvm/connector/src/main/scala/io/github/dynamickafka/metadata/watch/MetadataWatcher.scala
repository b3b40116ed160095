package io.github.dynamickafka.metadata.watch

import java.io.FileNotFoundException
import java.nio.file.NoSuchFileException
import java.util.concurrent.TimeUnit.{MILLISECONDS, NANOSECONDS, SECONDS}
import java.util.concurrent.atomic.{AtomicBoolean, AtomicLong}
import java.util.concurrent.{
  CancellationException,
  CompletableFuture,
  ExecutionException,
  LinkedBlockingQueue,
  RejectedExecutionException,
  Semaphore,
  ThreadPoolExecutor,
  TimeoutException
}
import java.{util => ju}

import scala.collection.immutable.VectorMap
import scala.jdk.CollectionConverters._
import scala.util.{Failure, Success, Try, Using}

import org.apache.hadoop.fs.PathIsDirectoryException
import org.apache.spark.sql.SparkSession
import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.{Clock, DaemonThreads}
import io.github.dynamickafka.config.{DiscoveryOptions, MetadataOptions, Subscription}
import io.github.dynamickafka.error.{DynamicKafkaError, Errors, FailureText}
import io.github.dynamickafka.metadata.service.MetadataServices
import io.github.dynamickafka.metadata.{
  KafkaMetadataService,
  KafkaStream,
  Topology,
  TopologyCluster,
  TopologyTopic
}

/**
 * Polls a metadata service on its own threads and keeps the last valid topology, so that the thread of the query waits
 * for the service only at the start.
 *
 * The first call of one of the two `await` methods starts the polling, and determines the kind of start. The watcher
 * closes the service. A service that is used elsewhere must be wrapped, as `MetadataServices.create` does.
 *
 * @param resolve what an answer means, with a function that says whether a cluster is active, and the ids of all streams
 * @param name the name of the service, for threads, logs and errors
 * @param earlier the clusters that an earlier run has written to
 */
private[dynamickafka] final class MetadataWatcher private (
    service: KafkaMetadataService,
    subscription: Subscription,
    resolve: MetadataWatcher.Resolve,
    discovery: DiscoveryOptions,
    name: String,
    timing: WatcherTiming,
    earlier: Set[String]
) extends AutoCloseable {
  import MetadataWatcher._

  private val log = LoggerFactory.getLogger(classOf[MetadataWatcher])

  // Only the thread that polls sets these.
  @volatile private var known = MetadataState(None, 0L, 0L, 0, None, 0L)
  @volatile private var answeredAt = timing.clock.nanoTime()

  /** Why the last answer was invalid, and when it was counted as a failure. */
  private var invalid: Option[(String, Long)] = None

  /** For a service that notices changes: ends that it runs the listener. Only the thread of the calls sets it. */
  @volatile private var notices: Option[AutoCloseable] = None
  private var isListening = false
  private val firstAnswer = new CompletableFuture[Topology]
  private val firstAttempt = new CompletableFuture[Unit]
  private val started = new AtomicBoolean(false)
  private val closed = new AtomicBoolean(false)
  @volatile private var firstStart = false

  // Only the thread that polls accesses it: whether the first answers of this run have to confirm a removal.
  private var confirming = true

  private val guard = new RemovalGuard(
    name,
    discovery.maxRemovedClusters,
    discovery.removalConfirmations,
    subscription.includes,
    earlier
  )
  private val pollsOn = discovery.intervalMs > 0
  private val begun = new AtomicLong
  private val calls = new LimitedCalls(s"dynamic-kafka-metadata-$name-call", discovery.callTimeoutMs)
  private val hurries = new Semaphore(0)
  private val polling = new DaemonThreads(s"dynamic-kafka-metadata-$name").newThread(() => run())

  /**
   * For the first start of a query: waits for the first valid topology.
   *
   * @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException METADATA_UNAVAILABLE after more consecutive
   *         failures than are tolerated, or at once if another attempt would probably have the same result
   * @throws InterruptedException immediately when the waiting thread is interrupted
   */
  def awaitFirst(): Topology = {
    start(first = true, None)
    await(firstAnswer)
  }

  /**
   * For the restart of a query, whose checkpoint has a topology: waits for the end of the first attempt or, without
   * polling, for the first success or the last attempt. If the answer removes something from the topology in the
   * checkpoint, waits for its confirmation. Returns None after a failure; polling continues.
   *
   * @param before the topology in the checkpoint
   */
  def awaitFirstAttempt(before: Option[Topology] = None): Option[Topology] = {
    start(first = false, before)
    await(firstAttempt)
    current.topology
  }

  /** The current state. Never waits. */
  def current: MetadataState = known.copy(ageMs = (timing.clock.nanoTime() - answeredAt) / 1000000L)

  /**
   * Calls the service as soon as possible, if it is polled at all.
   *
   * @return the number of the last call that has begun: the answers to later calls have higher ones
   */
  def ask(): Option[Long] = Option.when(pollsOn) {
    val before = begun.get
    hurries.release()
    before
  }

  /** Stops all threads and closes the service after a running call. Waits at most one second. */
  override def close(): Unit =
    if (closed.compareAndSet(false, true)) {
      polling.interrupt()
      calls.close(CloseWaitMs) {
        try {
          notices.foreach(_.close())
          service.close()
        } catch {
          case e: Throwable => log.warn(s"Metadata service '$name' could not be closed: ${FailureText.of(e)}")
        }
      }
      Seq(firstAnswer, firstAttempt).foreach(
        _.completeExceptionally(new CancellationException("the metadata watcher was closed"))
      )
    }

  private def start(first: Boolean, before: Option[Topology]): Unit =
    if (started.compareAndSet(false, true)) {
      firstStart = first
      before.foreach(guard.begin)
      polling.start()
    }

  /** Makes one attempt at a time. Another one begins after the pause that its result asks for, or at once if somebody asks meanwhile. */
  private def run(): Unit =
    try
      while (true) {
        if (!calls.isBusy) hurries.drainPermits()
        val result = calls { next =>
          listen(next)
          (begun.incrementAndGet(), poll(next))
        }
        pause(ended(result).fold(Long.MaxValue)(MILLISECONDS.toNanos))
      }
    catch {
      case _: InterruptedException | _: RejectedExecutionException => ()
      case e: Throwable =>
        // Nothing polls any more: a class is missing, or a thread could not be started.
        val failures = known.consecutiveFailures + 1
        val error = unavailable(failures, FailureText.of(e), e)
        known = known.copy(fatal = Some(error))
        Seq(firstAnswer, firstAttempt).foreach(_.completeExceptionally(error))
    }

  private def pause(nanos: Long): Unit = {
    val since = System.nanoTime()
    // Nothing can be asked before a call that is late has returned.
    calls.awaitReturn(nanos)
    if (!calls.isBusy) { val _ = hurries.tryAcquire(nanos - (System.nanoTime() - since), NANOSECONDS) }
  }

  /** A call of the service as the others: it may hang, or fail, which is a failed poll. */
  private def listen(next: () => Unit): Unit = if (!isListening) {
    notices = Option(service.onChange(() => hurries.release()))
    isListening = true
    next()
  }

  /**
   * One poll: makes all calls that are required for a topology, one after the other.
   *
   * @param next runs before each call of the service after the first one
   */
  private def poll(next: () => Unit): Topology = {
    def isActive(cluster: String) = {
      next()
      service.isClusterActive(cluster)
    }
    // To suggest one of them; after a valid topology, a stream that is missing is no typing error.
    def others() =
      if (known.topology.isDefined) Nil
      else {
        next()
        Try(service.getAllStreams().asScala.toSeq.map(_.streamId)).getOrElse(Nil)
      }
    resolve(streams(), isActive, () => others())
  }

  private def streams(): Map[String, KafkaStream] = subscription match {
    case Subscription.Ids(ids) =>
      val answer = service.describeStreams(new ju.ArrayList(ids.asJava))
      if (answer == null) throw Errors.metadataInvalid("the return value of describeStreams", "it is null")
      answer.asScala.to(VectorMap)
    case Subscription.Pattern(_) =>
      val answer = service.getAllStreams()
      if (answer == null || answer.asScala.exists(_ == null))
        throw Errors.metadataInvalid("the return value of getAllStreams", "it is null or contains null")
      answer.asScala.groupBy(_.streamId).find(_._2.size > 1).foreach { case (id, _) =>
        throw Errors.metadataInvalid(
          s"stream '$id'",
          "the return value of getAllStreams contains it more than once"
        )
      }
      answer.asScala.toSeq.map(s => s.streamId -> s).to(VectorMap)
  }

  /** How long to wait for the next attempt, in milliseconds; None: until somebody asks. */
  private def ended(result: Try[(Long, Topology)]): Option[Long] = result.flatMap { case (call, answer) =>
    Try(guard(answer)).map(call -> _)
  } match {
    case Success((_, Guarded(_, true))) if confirming =>
      answered()
      Some(confirmMs)
    case Success((call, Guarded(topology, open))) =>
      confirming = false
      succeeded(call, topology)
      if (open && notices.isDefined) Some(confirmMs) else Option.when(pollsOn)(discovery.intervalMs)
    case Failure(cause) =>
      failed(cause)
      if (pollsOn)
        Some(if (waitsForFirst) math.min(discovery.intervalMs, timing.retryCapMs) else discovery.intervalMs)
      else Option.when(known.consecutiveFailures < timing.triesWithoutPolling)(timing.spacingWithoutPollingMs)
  }

  private def confirmMs =
    if (pollsOn) math.min(discovery.intervalMs, timing.confirmMs) else timing.confirmMs

  private def succeeded(call: Long, topology: Topology): Unit = {
    answered()
    val before = known.topology
    // An equal topology is the same object, so that triggers recognize that nothing has changed.
    if (before.contains(topology)) known = known.copy(call = call)
    else {
      known = known.copy(topology = Some(topology), version = known.version + 1, call = call)
      log.info(TopologyText.change(name, known.version, before, topology))
    }
    firstAnswer.complete(topology)
    val _ = firstAttempt.complete(())
  }

  private def answered(): Unit = {
    if (known.consecutiveFailures > 0)
      log.info(s"Metadata service '$name' recovered after ${known.consecutiveFailures} consecutive failures")
    answeredAt = timing.clock.nanoTime()
    known = known.copy(consecutiveFailures = 0, fatal = None)
    invalid = None
  }

  private def failed(cause: Throwable): Unit = {
    val reason = FailureText.of(cause)
    val now = timing.clock.nanoTime()
    // One record that is invalid is one failure of a poll, however often changes of other records cause a look at it.
    val isInvalid = notices.isDefined && isInvalidAnswer(cause)
    val repeated = isInvalid && pollsOn && !waitsForFirst && invalid.exists {
      case (before, countedAt) => before == reason && now - countedAt < discovery.intervalMs * 1000000L
    }
    val failures = known.consecutiveFailures + (if (repeated) 0 else 1)
    if (!repeated) {
      invalid = Option.when(isInvalid)(reason -> now)
      val tolerated =
        if (pollsOn) s"${discovery.failureThreshold} are tolerated"
        else s"attempt $failures of ${timing.triesWithoutPolling}"
      log.warn(s"Metadata service '$name' failed, consecutive failures: $failures ($tolerated): $reason")
    }
    val last = if (pollsOn) failures > discovery.failureThreshold else failures >= timing.triesWithoutPolling
    // Without polling, no later success would reset the error, and a restarted query has the topology of its
    // checkpoint.
    known = known.copy(
      consecutiveFailures = failures,
      fatal = if (pollsOn && last) Some(unavailable(failures, reason, cause)) else None
    )
    if (last || firstStart && guard.isNew && isMistake(cause)) {
      val _ = firstAnswer.completeExceptionally(unavailable(failures, reason, cause))
    }
    if (pollsOn || last) {
      val _ = firstAttempt.complete(())
    }
  }

  private def waitsForFirst = firstStart && known.topology.isEmpty

  private def unavailable(failures: Int, reason: String, cause: Throwable) =
    Errors.metadataUnavailable(s"'$name'", failures, reason, cause)

  private def await[A](future: CompletableFuture[A]): A =
    try future.get()
    catch { case e: ExecutionException => throw e.getCause }
}

private[dynamickafka] object MetadataWatcher {
  private val CloseWaitMs = 1000L

  /**
   * A watcher for a query that reads.
   *
   * @param check throws an exception if the query cannot use a topology; runs after each answer
   * @param described gets the streams of each answer, by id
   */
  def apply(
      service: KafkaMetadataService,
      subscription: Subscription,
      discovery: DiscoveryOptions,
      name: String,
      timing: WatcherTiming = WatcherTiming(),
      check: Topology => Unit = _ => (),
      described: Map[String, KafkaStream] => Unit = _ => ()
  ): MetadataWatcher = {
    val resolve: Resolve = (streams, active, others) => {
      described(streams)
      val topology = Resolution.resolve(subscription, discovery.allowMissingStreams, streams, active, others)
      check(topology)
      topology
    }
    new MetadataWatcher(service, subscription, resolve, discovery, name, timing, Set.empty)
  }

  /**
   * A watcher for a query that writes.
   *
   * @param before the topology that an earlier run or job of this driver has used
   * @param earlier the clusters that an earlier run has written to
   */
  def forWriting(
      service: KafkaMetadataService,
      subscription: Subscription,
      discovery: DiscoveryOptions,
      name: String,
      before: Option[Topology] = None,
      earlier: Set[String] = Set.empty
  ): MetadataWatcher = {
    val resolve: Resolve = Resolution.forWriting(subscription, _, _, _)
    val made = new MetadataWatcher(service, subscription, resolve, discovery, name, WatcherTiming(), earlier)
    before.foreach(made.guard.begin)
    made
  }

  /**
   * The streams of a subscription as the service describes them, which a topology does not contain whole. Repeats calls that fail, and
   * checks the answer.
   *
   * @return in the order of the ids, or, with a pattern, sorted by id; without those that the service does not have, if that is
   *         allowed
   * @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException METADATA_UNAVAILABLE
   */
  def described(options: MetadataOptions): Seq[KafkaStream] = {
    @volatile var found = Map.empty[String, KafkaStream]
    Using.resource(MetadataWatcher(
      MetadataServices.create(options.service, SparkSession.active.sparkContext.hadoopConfiguration),
      options.subscription,
      options.discovery.once,
      options.service.name,
      described = found = _
    )) { watcher =>
      val _ = watcher.awaitFirst()
    }
    options.subscription match {
      case Subscription.Ids(ids) => ids.flatMap(found.get)
      case pattern => found.toSeq.sortBy(_._1).collect { case (id, stream) if pattern.includes(id) => stream }
    }
  }

  /** The topology by one call of the service, which is closed then; None if it fails. */
  def now(service: KafkaMetadataService, options: MetadataOptions): Option[Topology] = {
    val discovery = options.discovery.copy(intervalMs = OnceMs)
    Using.resource(MetadataWatcher(service, options.subscription, discovery, options.service.name))(
      _.awaitFirstAttempt()
    )
  }

  /** Longer than anyone waits for another call. */
  private val OnceMs = 24L * 3600 * 1000

  private type Resolve = (Map[String, KafkaStream], String => Boolean, () => Iterable[String]) => Topology

  /**
   * Whether a failure is a mistake of the person who starts a query for the first time: a path that does not exist or is a directory, a
   * document that is invalid, a stream that it does not have. A query that has started treats them as outages, because its metadata was
   * valid before.
   */
  private def isMistake(cause: Throwable): Boolean = isInvalidAnswer(cause) ||
    FailureText.causes(cause).exists {
      case _: FileNotFoundException | _: NoSuchFileException | _: PathIsDirectoryException => true
      case _ => false
    }

  private def isInvalidAnswer(cause: Throwable): Boolean = cause match {
    case error: DynamicKafkaError => error.getCondition == "DYNAMIC_KAFKA.METADATA_INVALID"
    case _ => false
  }
}

/**
 * A snapshot of the state of a watcher.
 *
 * @param topology the last valid topology; None before the first one
 * @param version the number of different topologies so far; 0 before the first one
 * @param ageMs milliseconds since the last successful poll, or since the creation of the watcher before the first one
 * @param consecutiveFailures the number of failures since the last successful poll
 * @param fatal METADATA_UNAVAILABLE, if there are more consecutive failures than are tolerated; a successful poll
 *              resets it
 * @param call the number of the call of the service that gave the topology; 0 before the first one
 */
private[dynamickafka] final case class MetadataState(
    topology: Option[Topology],
    version: Long,
    ageMs: Long,
    consecutiveFailures: Int,
    fatal: Option[Throwable],
    call: Long
)

/**
 * The times of a watcher that are not options. Tests use shorter ones.
 *
 * @param retryCapMs the longest pause between the attempts of a first start
 * @param triesWithoutPolling the number of attempts if the discovery interval is -1
 * @param spacingWithoutPollingMs the pause between these attempts
 * @param confirmMs the longest pause between the first answers of a run, if they have to confirm a removal
 */
private[metadata] final case class WatcherTiming(
    retryCapMs: Long = 5000L,
    triesWithoutPolling: Int = 5,
    spacingWithoutPollingMs: Long = 1000L,
    confirmMs: Long = 1000L,
    clock: Clock = Clock.System
)

/** Log messages for changes of the topology, with cluster ids and topics. Values of properties are omitted. */
private[dynamickafka] object TopologyText {

  def change(service: String, version: Long, before: Option[Topology], now: Topology): String =
    s"Topology $version of metadata service '$service'" +
      (if (now.streams.isEmpty) s" (${changes(before, now)}): ${clusters(now)}"
       else s", for writing: ${streams(now)}")

  private def changes(before: Option[Topology], now: Topology): String = {
    val (old, all) = (before.getOrElse(Topology.empty).clusters, now.clusters)
    def differ(what: TopologyCluster => Any) =
      old.keySet.filter(id => all.get(id).exists(cluster => what(cluster) != what(old(id))))
    Seq(
      "added" -> (all.keySet -- old.keySet),
      "removed" -> (old.keySet -- all.keySet),
      "missing in the last answer" -> now.unconfirmed.keySet,
      "topics changed" -> differ(cluster => (cluster.topics, cluster.patterns)),
      "properties changed" -> differ(_.properties)
    ).collect { case (what, found) if found.nonEmpty => s"$what: ${found.mkString(", ")}" }.mkString("; ")
  }

  private def clusters(topology: Topology): String =
    if (topology.clusters.isEmpty) "no active cluster"
    else
      topology.clusters.values.map { cluster =>
        val topics = cluster.topics.map { case (topic, t) => described(topic, t) } ++
          cluster.patterns.map(p => described(s"matching ${p.regex}", p.topic))
        s"${cluster.id} [${topics.mkString(", ")}]"
      }.mkString(", ")

  private def streams(topology: Topology): String = topology.streams.values.map { stream =>
    stream.clusters.map { entry =>
      val topics = entry.topics.keys ++ entry.pattern.map(p => s"matching $p")
      s"${entry.cluster} [${topics.mkString(", ")}]${entry.closed.fold("")(why => s" takes no writes: $why")}"
    }.mkString(s"${stream.id}: ", ", ", "")
  }.mkString("; ")

  private def described(name: String, topic: TopologyTopic): String = {
    val some = topic.partitions.fold("")(_.mkString(" (", ", ", ")"))
    if (topic.draining) s"$name$some draining" else s"$name$some"
  }
}

/**
 * Calls of a metadata service, one at a time, each with a time limit, after which its result is dropped, because it is outdated. A call may
 * block without end: it runs on a daemon thread, and no other one begins before it has returned. Used by one thread at a time, which waits.
 *
 * @param timeoutMs in milliseconds
 */
private[dynamickafka] final class LimitedCalls(name: String, timeoutMs: Long) {
  private val caller =
    new ThreadPoolExecutor(1, 1, 60L, SECONDS, new LinkedBlockingQueue, new DaemonThreads(name))
  caller.allowCoreThreadTimeOut(true)
  @volatile private var last: CompletableFuture[_] = CompletableFuture.completedFuture(())
  @volatile private var thread: Option[Thread] = None
  @volatile private var limit = 0L

  /** Whether a call has not returned, also after its time limit. */
  def isBusy: Boolean = !last.isDone

  /**
   * @param call runs its argument before each part of it after the first one, which restarts the time limit
   * @throws InterruptedException if the thread that waits is interrupted; the call continues
   */
  def apply[A](call: (() => Unit) => A): Try[A] =
    if (isBusy) Failure(new TimeoutException("an earlier call has not returned yet"))
    else {
      val result = new CompletableFuture[A]
      restart()
      last = result
      caller.execute { () =>
        thread = Some(Thread.currentThread)
        // Every Throwable: a missing class in a service must not terminate the thread silently.
        val answer =
          try Right(call(() => restart()))
          catch { case e: Throwable => Left(e) }
        thread = None
        val _ = answer.fold(result.completeExceptionally, result.complete)
      }
      while (isBusy && limit - System.nanoTime() > 0) awaitReturn(limit - System.nanoTime())
      if (isBusy) Failure(new TimeoutException(s"no response within $timeoutMs ms"))
      else Try(result.get).recoverWith { case e: ExecutionException => Failure(e.getCause) }
    }

  /** Waits until a call has returned, or for this time. */
  def awaitReturn(nanos: Long): Unit =
    try { val _ = last.get(nanos, NANOSECONDS) }
    catch { case _: TimeoutException | _: ExecutionException => () }

  def interrupt(): Unit = thread.foreach(_.interrupt())

  /** Interrupts a running call, runs `onClose` after it, and waits for both at most `waitMs`. */
  def close(waitMs: Long)(onClose: => Unit): Unit = {
    interrupt()
    caller.execute(() => onClose)
    caller.shutdown()
    try {
      val _ = caller.awaitTermination(waitMs, MILLISECONDS)
    } catch { case _: InterruptedException => Thread.currentThread.interrupt() }
  }

  private def restart(): Unit = limit = System.nanoTime() + timeoutMs * 1000000L
}
