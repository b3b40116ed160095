package io.github.dynamickafka.kafka

/**
 * Settings of Kafka's clients that differ from Kafka's own defaults, wherever nobody has set them. Measured: the
 * fetch settings read three to four times as fast on one machine, and six to eight times at 50 ms distance.
 */
private[dynamickafka] object ClientDefaults {
  private val RequestTimeout = "request.timeout.ms"
  private val ApiTimeout = "default.api.timeout.ms"
  private val Providers = "config.providers"

  /** Kafka's own default of `request.timeout.ms`. */
  private val longestRequestMs = 30000L

  val consumerFetch: Seq[(String, String)] = Seq(
    "fetch.max.wait.ms" -> "10",
    "max.partition.fetch.bytes" -> (8 * 1024 * 1024).toString,
    "max.poll.records" -> "20000",
    // Spark sets 64 KiB where nothing is set, which holds a distant cluster down.
    "receive.buffer.bytes" -> "-1"
  )

  /** Kafka's 16 KiB and 0 ms make many small requests of what a task writes in one go. */
  val producerBatches: Seq[(String, String)] = Seq(
    "batch.size" -> (256 * 1024).toString,
    "linger.ms" -> "5"
  )

  val configProviders: Seq[(String, String)] = {
    val classes =
      Seq("file" -> "FileConfigProvider", "env" -> "EnvVarConfigProvider", "dir" -> "DirectoryConfigProvider")
    (Providers -> classes.map(_._1).mkString(",")) +: classes.map { case (name, provider) =>
      s"$Providers.$name.class" -> s"org.apache.kafka.common.config.provider.$provider"
    }
  }

  /**
   * With Kafka's own time-outs: these consumers read on executors, where a slow answer is a slow task, while
   * `clusterRequestTimeoutMs` is about how long a trigger waits.
   */
  def consumer(chosen: Map[String, String]): Map[String, String] =
    consumerFetch.toMap ++ providers(chosen) ++ chosen.filter { case (name, _) =>
      KafkaProperties.suitsConsumer(name)
    }

  /** As for consumers: what a producer waits for, a task waits for. */
  def producer(chosen: Map[String, String]): Map[String, String] =
    producerBatches.toMap ++ providers(chosen) ++ chosen.filter { case (name, _) =>
      KafkaProperties.suitsProducer(name)
    }

  /**
   * Out of JMX: to register there is a good part of what opening a client costs, and a driver has one for each cluster.
   * A reporter of `metric.reporters` is used all the same.
   */
  private val adminReporting = "auto.include.jmx.reporter" -> "false"

  /** @param requestTimeoutMs what one call may take, with the client's own retries */
  def admin(chosen: Map[String, String], requestTimeoutMs: Long): Map[String, String] =
    timeouts(chosen, requestTimeoutMs) ++ providers(chosen) + adminReporting ++
      chosen.filter { case (name, _) => KafkaProperties.suitsAdmin(name) }

  /** Kafka refuses a client whose requests may take longer than its calls: a value that the user set moves the other. */
  private def timeouts(chosen: Map[String, String], timeoutMs: Long): Map[String, String] = {
    val timeout = math.min(timeoutMs, Int.MaxValue.toLong)
    def users(name: String) = chosen.get(name).flatMap(_.trim.toLongOption)
    val request = math.min(longestRequestMs, users(ApiTimeout).getOrElse(timeout))
    val api = math.max(timeout, users(RequestTimeout).getOrElse(request))
    Map(RequestTimeout -> request.toString, ApiTimeout -> api.toString)
  }

  /** Kafka's own providers for `${file:...}`, `${env:...}`, `${dir:...}`; its clients resolve the references. */
  private def providers(chosen: Map[String, String]): Map[String, String] =
    if (chosen.contains(Providers) || !chosen.values.exists(_.contains("${"))) Map.empty
    else configProviders.toMap
}
