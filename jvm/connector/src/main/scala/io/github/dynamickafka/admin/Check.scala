package io.github.dynamickafka.admin

/**
 * The result of a check, without secrets.
 *
 * @param status `ok`, `warning`, `failed` (a query would fail, or not read or write something) or `skipped`
 * @param remedy what to do about it, if anything has to be done
 */
private[admin] final case class Finding(status: String, message: String, remedy: Option[String] = None) {
  def isFailed: Boolean = status == "failed"
}

private[admin] object Finding {
  def ok(message: String): Finding = Finding("ok", message)
  def warning(message: String, remedy: String): Finding = Finding("warning", message, Some(remedy))
  def failed(message: String, remedy: String): Finding = Finding("failed", message, Some(remedy))
  def skipped(message: String): Finding = Finding("skipped", message)
}

/** A check of one cluster. */
private[admin] final case class Check(cluster: String, name: String, result: Finding)

private[admin] object Check {

  /** The checks, in their order, as the command has them. */
  val Names: Seq[String] = Seq(
    "dns",
    "tcp",
    "tls",
    "login",
    "versions",
    "topics",
    "groups",
    "transactional_ids",
    "cluster_id",
    "transaction_timeout",
    "advertised"
  )

  /** Behind a failure of one of these, nothing else can be said. */
  private val Needed = Set("dns", "tcp", "tls", "login")

  /** Runs the checks of a cluster, and skips those behind a failed one. */
  def run(cluster: String, check: String => Finding): Seq[Check] =
    Names.foldLeft((Vector.empty[Check], Option.empty[String])) { case ((done, failed), name) =>
      val result = failed.fold(check(name))(before => Finding.skipped(s"behind '$before'"))
      (
        done :+ Check(cluster, name, result),
        failed.orElse(Option.when(result.isFailed && Needed(name))(name))
      )
    }._1

  private def kafkaId(c: Check) = c.result.message.takeWhile(_ != ',')

  /** Two ids of one Kafka cluster are read twice where they share a topic. */
  def withDuplicates(checks: Seq[Check]): Seq[Check] = {
    val (ids, others) = checks.partition(c => c.name == "cluster_id" && c.result.status == "ok")
    val first = ids.reverse.map(c => kafkaId(c) -> c.cluster).toMap
    val marked = ids.map { c =>
      val id = kafkaId(c)
      if (first(id) == c.cluster) c
      else c.copy(result =
        Finding.warning(
          s"$id, as cluster ${first(id)}: two ids of one Kafka cluster",
          "remove one of them, or see allowDuplicateClusters"
        )
      )
    }
    val byCluster = marked.map(c => c.cluster -> c).toMap
    checks.map(c => if (others.contains(c)) c else byCluster(c.cluster))
  }
}
