package io.github.dynamickafka.kafka

import io.github.dynamickafka.base.AttemptLimit

/**
 * Defaults of the Kafka clients that differ from Kafka's. Measured: with the fetch settings, reading is three to four
 * times as fast on one machine, and six to eight times as fast with a network latency of 50 ms.
 */
private[dynamickafka] object ClientDefaults {
  private val RequestTimeout = "request.timeout.ms"
  private val ApiTimeout = "default.api.timeout.ms"
  private val Providers = "config.providers"

  /** Kafka's default of `request.timeout.ms`. */
  private val longestRequestMs = 30000L

  // A healthy cluster responds within this time on a busy machine.
  private val shortestRequestMs = 2500L

  /** The time limit of one request: an attempt can try another address after one that does not respond. */
  private def requestMs(limitMs: Long) =
    Seq(longestRequestMs, limitMs, math.max(AttemptLimit.ms(limitMs) / 2, shortestRequestMs)).min

  /**
   * Longer than `retry.backoff.ms`. After a leader that no longer responds was disconnected, the client otherwise connects to
   * it again before it asks another broker for the new leader, and asks none while it waits for that connection.
   */
  val reconnect: (String, String) = "reconnect.backoff.ms" -> "500"

  /** Kafka's default, without which the client would warn of the other one. */
  private val longestReconnect = "reconnect.backoff.max.ms" -> "1000"

  val consumerFetch: Seq[(String, String)] = Seq(
    "fetch.max.wait.ms" -> "10",
    "max.partition.fetch.bytes" -> (8 * 1024 * 1024).toString,
    // Spark's default is 64 KiB, which limits the throughput of a distant cluster.
    "receive.buffer.bytes" -> "-1"
  )

  /** Reading a topic that was deleted must not recreate it. */
  val autoCreate: (String, String) = "allow.auto.create.topics" -> "false"

  /** Instead of the other one for consumers that wait for records: an empty fetch that returns often costs only CPU. */
  val realTimeWait: (String, String) = "fetch.max.wait.ms" -> "250"

  val batchSize: Int = 256 * 1024

  /** With Kafka's defaults of 16 KiB and 0 ms, the records of a task result in many small requests. */
  val producerBatches: Seq[(String, String)] = Seq(
    "batch.size" -> batchSize.toString,
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
   * Uses Kafka's timeouts: these consumers run in tasks, where a slow response only slows down the task, while
   * `clusterRequestTimeoutMs` limits how long a trigger waits on the driver.
   */
  def consumer(chosen: Map[String, String]): Map[String, String] =
    reconnects(chosen) ++ providers(chosen) ++ chosen.filter { case (name, _) =>
      KafkaProperties.suitsConsumer(name)
    }

  /** Neither of them if the user sets one: Kafka then derives the other one. */
  private def reconnects(chosen: Map[String, String]): Map[String, String] = {
    val both = Map(reconnect, longestReconnect)
    if (both.keys.exists(chosen.contains)) Map.empty else both
  }

  /** Uses Kafka's timeouts, for the same reason as [[consumer]]. */
  def producer(chosen: Map[String, String]): Map[String, String] =
    reconnects(chosen) ++ providers(chosen) ++ chosen.filter { case (name, _) =>
      KafkaProperties.suitsProducer(name)
    }

  /**
   * Disables JMX: registering the beans is a large part of the cost of opening a client, and the driver has one client
   * per cluster. Reporters of `metric.reporters` are still used.
   */
  private val adminReporting = {
    val before4 = "auto.include.jmx.reporter"
    // Kafka 4.0 removed it, and lists the reporter of JMX among the others.
    if (KafkaProperties.isKnown(before4)) before4 -> "false" else "metric.reporters" -> ""
  }

  /** @param requestTimeoutMs the time limit of one call, including the retries of the client */
  def admin(chosen: Map[String, String], requestTimeoutMs: Long): Map[String, String] =
    timeouts(chosen, requestTimeoutMs) ++ providers(chosen) + adminReporting ++
      chosen.filter { case (name, _) => KafkaProperties.suitsAdmin(name) }

  /**
   * Kafka rejects a `default.api.timeout.ms` that is lower than `request.timeout.ms`: if the user sets one of them, the
   * other one is adjusted.
   */
  private def timeouts(chosen: Map[String, String], timeoutMs: Long): Map[String, String] = {
    val timeout = math.min(timeoutMs, Int.MaxValue.toLong)
    def users(name: String) = chosen.get(name).flatMap(_.trim.toLongOption)
    val request = math.min(requestMs(timeout), users(ApiTimeout).getOrElse(timeout))
    val api = math.max(timeout, users(RequestTimeout).getOrElse(request))
    Map(RequestTimeout -> request.toString, ApiTimeout -> api.toString)
  }

  /** Kafka's providers for `${file:...}`, `${env:...}` and `${dir:...}`. The clients resolve the references. */
  private def providers(chosen: Map[String, String]): Map[String, String] =
    if (chosen.contains(Providers) || !chosen.values.exists(_.contains("${"))) Map.empty
    else configProviders.toMap
}
