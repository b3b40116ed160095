package io.github.dynamickafka.metadata.watch

import java.io.FileNotFoundException
import java.nio.file.NoSuchFileException
import java.util.concurrent.atomic.{AtomicBoolean, AtomicLong, AtomicReference}
import java.util.concurrent.{CancellationException, CompletableFuture, ExecutionException, ThreadFactory}
import java.{util => ju}

import scala.collection.immutable.VectorMap
import scala.jdk.CollectionConverters._
import scala.util.{Failure, Success, Try}

import org.apache.hadoop.fs.PathIsDirectoryException
import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.config.{DiscoveryOptions, Subscription}
import io.github.dynamickafka.error.{DynamicKafkaError, Errors, FailureText}
import io.github.dynamickafka.metadata.{KafkaMetadataService, KafkaStream}
import io.github.dynamickafka.topology.{Topology, TopologyTopic}

/**
 * Polls a metadata service on its own threads and keeps the last valid topology, so that the thread of the query waits
 * for the service only at the start.
 *
 * The first call of one of the two `await` methods starts the polling, and determines the kind of start. The watcher
 * closes the service. A service that is used elsewhere must be wrapped in a [[SharedMetadataService]], as
 * [[MetadataServices.create]] does.
 *
 * @param name the name of the service, for threads, logs and errors
 * @param isNew whether nothing is known of an earlier run, so that at a first start a mistake fails at once
 */
private[dynamickafka] final class MetadataWatcher private (
    service: KafkaMetadataService,
    poll: (() => Unit) => Topology,
    guard: RemovalGuard,
    discovery: DiscoveryOptions,
    name: String,
    timing: WatcherTiming,
    isNew: Boolean
) extends AutoCloseable {
  import MetadataWatcher._

  private val log = LoggerFactory.getLogger(classOf[MetadataWatcher])
  private val known = new AtomicReference(Known(None, 0L, timing.clock.nanoTime(), 0, None, 0L))

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

  private val pollsOn = discovery.intervalMs > 0
  private val calls = new AtomicLong
  private val polling = new PollLoop[(Long, Topology)](
    { next =>
      listen(next)
      (calls.incrementAndGet(), poll(next))
    },
    discovery.callTimeoutMs,
    daemon(s"dynamic-kafka-metadata-$name"),
    daemon(s"dynamic-kafka-metadata-$name-call"),
    ended
  )

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
  def current: MetadataState = {
    val k = known.get
    MetadataState(
      k.topology,
      k.version,
      (timing.clock.nanoTime() - k.answeredAt) / 1000000L,
      k.failures,
      k.fatal,
      k.call
    )
  }

  /**
   * Calls the service as soon as possible, if it is polled at all.
   *
   * @return the number of the last call that has begun: the answers to later calls have higher ones
   */
  def ask(): Option[Long] = Option.when(pollsOn) {
    val before = calls.get
    polling.hurry()
    before
  }

  /** Stops all threads and closes the service after a running call. Waits at most one second. */
  override def close(): Unit =
    if (closed.compareAndSet(false, true)) {
      polling.close(CloseWaitMs) {
        try {
          notices.foreach(_.close())
          service.close()
        } catch {
          case e: Throwable => log.warn(s"Metadata service '$name' could not be closed: ${FailureText.of(e)}")
        }
      }
      firstAnswer.completeExceptionally(new CancellationException("the metadata watcher was closed"))
      firstAttempt.completeExceptionally(new CancellationException("the metadata watcher was closed"))
      ()
    }

  private def start(first: Boolean, before: Option[Topology]): Unit =
    if (started.compareAndSet(false, true)) {
      firstStart = first
      before.foreach(guard.begin)
      polling.start()
    }

  /** A call of the service as the others: it may hang, or fail, which is a failed poll. */
  private def listen(next: () => Unit): Unit = if (!isListening) {
    notices = Option(service.onChange(() => polling.hurry()))
    isListening = true
    next()
  }

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
      val waitsForFirst = known.get.topology.isEmpty
      if (pollsOn) Some(if (waitsForFirst && firstStart) retryMs else discovery.intervalMs)
      else Option.when(known.get.failures < timing.triesWithoutPolling)(timing.spacingWithoutPollingMs)
  }

  private def confirmMs =
    if (pollsOn) math.min(discovery.intervalMs, timing.confirmMs) else timing.confirmMs

  private def retryMs = math.min(discovery.intervalMs, timing.retryCapMs)

  private def succeeded(call: Long, topology: Topology): Unit = {
    answered()
    val before = known.get
    val changed = !before.topology.contains(topology)
    val version = if (changed) before.version + 1 else before.version
    // An equal topology is the same object, so that triggers recognize that nothing has changed.
    val kept = if (changed) Some(topology) else before.topology
    known.set(Known(kept, version, timing.clock.nanoTime(), 0, None, call))
    if (changed) log.info(TopologyText.change(name, version, before.topology, topology))
    firstAnswer.complete(topology)
    firstAttempt.complete(())
    ()
  }

  private def answered(): Unit = {
    val before = known.get
    if (before.failures > 0)
      log.info(s"Metadata service '$name' recovered after ${before.failures} consecutive failures")
    known.set(before.copy(answeredAt = timing.clock.nanoTime(), failures = 0, fatal = None, invalid = None))
  }

  private def failed(cause: Throwable): Unit = {
    val before = known.get
    val reason = FailureText.of(cause)
    // One record that is invalid is one failure of a poll, however often changes of other records cause a look at it.
    val now = timing.clock.nanoTime()
    val invalid =
      Option.when(notices.isDefined && FirstStartMistake.isInvalid(cause))(Invalid(reason, now))
    val repeated = pollsOn && (before.topology.isDefined || !firstStart) &&
      before.invalid.exists(i =>
        invalid.exists(_.reason == i.reason) && now - i.countedAt < discovery.intervalMs * 1000000L
      )
    val failures = if (repeated) before.failures else before.failures + 1
    if (!repeated)
      log.warn(
        s"Metadata service '$name' failed, consecutive failures: $failures (${tolerated(failures)}): $reason"
      )
    val last = if (pollsOn) failures > discovery.failureThreshold else failures >= timing.triesWithoutPolling
    val unavailable = Option.when(last)(Errors.metadataUnavailable(s"'$name'", failures, reason, cause))
    // Without polling, no later success would reset the error, and a restarted query has the topology of its
    // checkpoint.
    val fatal = if (pollsOn) unavailable else None
    known.set(before.copy(
      failures = failures,
      fatal = fatal,
      invalid = if (repeated) before.invalid else invalid
    ))
    unavailable.orElse(Option.when(isNew && firstStart && FirstStartMistake.is(cause))(
      Errors.metadataUnavailable(s"'$name'", failures, reason, cause)
    )).foreach(firstAnswer.completeExceptionally)
    if (pollsOn || last) firstAttempt.complete(())
    ()
  }

  private def tolerated(failures: Int) =
    if (pollsOn) s"${discovery.failureThreshold} are tolerated"
    else s"attempt $failures of ${timing.triesWithoutPolling}"

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
      timing: WatcherTiming = WatcherTiming.Default,
      check: Topology => Unit = _ => (),
      described: Map[String, KafkaStream] => Unit = _ => ()
  ): MetadataWatcher = {
    val poll = new MetadataQuery(service, subscription, described)
    new MetadataWatcher(
      service,
      { next =>
        val topology = poll.topology(discovery.allowMissingStreams, next)
        check(topology)
        topology
      },
      new RemovalGuard(
        name,
        discovery.maxRemovedClusters,
        discovery.removalConfirmations,
        subscription.includes
      ),
      discovery,
      name,
      timing,
      isNew = true
    )
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
    val poll = new MetadataQuery(service, subscription)
    val guard = new RemovalGuard(
      name,
      discovery.maxRemovedClusters,
      discovery.removalConfirmations,
      earlier = earlier
    )
    before.foreach(guard.begin)
    new MetadataWatcher(
      service,
      poll.writeTopology,
      guard,
      discovery,
      name,
      WatcherTiming.Default,
      isNew = before.isEmpty && earlier.isEmpty
    )
  }

  private final case class Known(
      topology: Option[Topology],
      version: Long,
      answeredAt: Long,
      failures: Int,
      fatal: Option[Throwable],
      call: Long,
      invalid: Option[Invalid] = None
  )

  /** An invalid answer, and when it was counted as a failure. */
  private final case class Invalid(reason: String, countedAt: Long)

  private def daemon(name: String): ThreadFactory = task => {
    val thread = new Thread(task, name)
    thread.setDaemon(true)
    thread
  }
}

/** One poll of the metadata service: makes all calls that are required for a topology, one after the other. */
private final class MetadataQuery(
    service: KafkaMetadataService,
    subscription: Subscription,
    described: Map[String, KafkaStream] => Unit = _ => ()
) {

  /** Whether there was a valid topology: then a stream that is missing is no typing error. */
  private var hasSucceeded = false

  /**
   * Returns the topology for reading.
   *
   * @param next runs before each call of the service after the first one
   * @throws Throwable the exception of the service, or METADATA_INVALID if its answer is invalid
   */
  def topology(allowMissingStreams: Boolean, next: () => Unit): Topology =
    succeeded(Resolution.resolve(
      subscription,
      allowMissingStreams,
      streams(),
      isActive(next),
      () => others(next)
    ))

  /** Like [[topology]], for writing. */
  def writeTopology(next: () => Unit): Topology =
    succeeded(Resolution.forWriting(subscription, streams(), isActive(next), () => others(next)))

  private def succeeded(topology: Topology): Topology = {
    hasSucceeded = true
    topology
  }

  /** The ids of all streams, to suggest one of them; none if the service does not say. */
  private def others(next: () => Unit): Iterable[String] =
    if (hasSucceeded) Nil
    else {
      next()
      Try(service.getAllStreams().asScala.toSeq.map(_.streamId)).getOrElse(Nil)
    }

  private def isActive(next: () => Unit)(cluster: String): Boolean = {
    next()
    service.isClusterActive(cluster)
  }

  private def streams(): Map[String, KafkaStream] = {
    val found = subscription match {
      case Subscription.Ids(ids) =>
        val answer = service.describeStreams(new ju.ArrayList(ids.asJava))
        if (answer == null) throw Errors.metadataInvalid("the return value of describeStreams", "it is null")
        answer.asScala.to(VectorMap)
      case Subscription.Pattern(_) =>
        val answer = service.getAllStreams()
        if (answer == null || answer.asScala.exists(_ == null))
          throw Errors.metadataInvalid("the return value of getAllStreams", "it is null or contains null")
        byId(answer.asScala.toSeq)
    }
    described(found)
    found
  }

  private def byId(streams: Seq[KafkaStream]): Map[String, KafkaStream] = {
    streams.groupBy(_.streamId).collectFirst { case (id, Seq(_, _, _*)) =>
      throw Errors.metadataInvalid(
        s"stream '$id'",
        "the return value of getAllStreams contains it more than once"
      )
    }
    streams.map(s => s.streamId -> s).to(VectorMap)
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

private[metadata] object WatcherTiming {
  val Default: WatcherTiming = WatcherTiming()
}

/**
 * Which failures of a metadata service are mistakes of the person who starts a query for the first time: a path that does not
 * exist or is a directory, a document that is invalid, a stream that it does not have. A query that has started treats them as outages, because
 * its metadata was valid before.
 */
private[watch] object FirstStartMistake {

  def is(cause: Throwable): Boolean = isInvalid(cause) ||
    Iterator.iterate(cause)(_.getCause).takeWhile(_ != null).take(LongestChain).exists {
      case _: FileNotFoundException | _: NoSuchFileException | _: PathIsDirectoryException => true
      case _ => false
    }

  def isInvalid(cause: Throwable): Boolean = cause match {
    case error: DynamicKafkaError => error.getCondition == "DYNAMIC_KAFKA.METADATA_INVALID"
    case _ => false
  }

  private val LongestChain = 10
}

/** Log messages for changes of the topology, with cluster ids and topics. Values of properties are omitted. */
private[dynamickafka] object TopologyText {

  def change(service: String, version: Long, before: Option[Topology], now: Topology): String =
    s"Topology $version of metadata service '$service'" +
      (if (now.streams.isEmpty) s" (${changes(before, now)}): ${clusters(now)}"
       else s", for writing: ${streams(now)}")

  private def changes(before: Option[Topology], now: Topology): String = {
    val old = before.getOrElse(Topology.empty).clusters
    val ids = (old.keySet ++ now.clusters.keySet).toSeq
    Seq(
      "added" -> ids.filter(id => !old.contains(id)),
      "removed" -> ids.filter(id => !now.clusters.contains(id)),
      "missing in the last answer" -> now.unconfirmed.keySet.toSeq,
      "topics changed" -> both(old.keySet, now).filter(id =>
        old(id).topics != now.clusters(id).topics || old(id).patterns != now.clusters(id).patterns
      ),
      "properties changed" -> both(old.keySet, now).filter(id =>
        old(id).properties != now.clusters(id).properties
      )
    ).collect { case (what, found) if found.nonEmpty => s"$what: ${found.mkString(", ")}" }.mkString("; ")
  }

  private def both(old: Iterable[String], now: Topology): Seq[String] =
    old.filter(now.clusters.contains).toSeq

  private def clusters(topology: Topology): String =
    if (topology.clusters.isEmpty) "no active cluster"
    else
      topology.clusters.values.map { cluster =>
        val topics = cluster.topics.map { case (topic, t) => described(topic, t) } ++
          cluster.patterns.map(p => described(s"matching ${p.regex}", p.topic))
        s"${cluster.id} [${topics.mkString(", ")}]"
      }.mkString(", ")

  private def streams(topology: Topology): String = topology.streams.values.map { stream =>
    val clusters = stream.clusters.map { entry =>
      val topics = entry.topics.keys ++ entry.pattern.map(p => s"matching $p")
      s"${entry.cluster} [${topics.mkString(", ")}]${entry.closed.fold("")(why => s" takes no writes: $why")}"
    }
    s"${stream.id}: ${clusters.mkString(", ")}"
  }.mkString("; ")

  private def described(name: String, topic: TopologyTopic): String = {
    val some = topic.partitions.fold("")(_.mkString(" (", ", ", ")"))
    if (topic.draining) s"$name$some draining" else s"$name$some"
  }
}
