package io.github.dynamickafka.kafka

/**
 * Time limits of requests about transactions. A broker that is frozen keeps its connections, so a client waits for
 * `request.timeout.ms` before it looks for the new coordinator; with Kafka's 30 s, each step of a batch may wait that long.
 * A request is therefore limited so that a step is held up for at most 15 s. A property that the user sets
 * takes precedence.
 */
private[dynamickafka] object TransactionTimeLimits {
  private val RequestTimeout = "request.timeout.ms"
  private val DeliveryTimeout = "delivery.timeout.ms"
  private val Linger = "linger.ms"
  private val ConnectionSetup = "socket.connection.setup.timeout.ms"

  // Two of them are longer than the session of a broker, 9 s by default, and the election of a controller, so that the third
  // request reaches another coordinator. Not shorter, because requests with records have to reach distant clusters within it.
  private val taskMs = 6000L

  // These requests are small.
  private val firstMs = 2500L
  private val longestMs = 30000L

  /** For producers of tasks, which also send the records. */
  def ofTasks(settings: ProducerSettings): ProducerSettings = limited(settings, taskMs)

  /** For another attempt of a task: the records may be too many for the time limit and the distance of the cluster. */
  def ofRetry(settings: ProducerSettings): ProducerSettings = limited(settings, longestMs)

  /** Within the user's `delivery.timeout.ms`, which Kafka requires to be at least as long as a request and `linger.ms`. */
  private def limited(settings: ProducerSettings, requestMs: Long): ProducerSettings = {
    def chosen(name: String) = settings.properties.get(name).flatMap(_.trim.toLongOption)
    val most = chosen(DeliveryTimeout).map(_ - chosen(Linger).getOrElse(0L)).filter(_ > 0L)
    settings.limitedTo(RequestTimeout -> math.min(requestMs, most.getOrElse(requestMs)).toString)
  }

  /**
   * For clients of the driver, which send no records.
   *
   * @param failures the attempts that were too slow before: a cluster may be slow without being frozen
   * @param mostMs the time limit of a call, which Kafka requires to be at least as long
   */
  def ofDriver(chosen: Map[String, String], failures: Int, mostMs: Long): Map[String, String] = {
    val limit = math.min(requestMs(failures), mostMs).toString
    Seq(RequestTimeout, ConnectionSetup).filterNot(chosen.contains).map(_ -> limit).toMap
  }

  /** How long one attempt with one client may take, which sends a request several times. */
  def attemptMs(failures: Int): Long = requestMs(failures) * 6

  private def requestMs(failures: Int): Long =
    math.min(longestMs, firstMs << math.min(2 * math.max(failures, 0), 10))
}
