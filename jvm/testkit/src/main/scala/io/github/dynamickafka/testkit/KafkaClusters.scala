package io.github.dynamickafka.testkit

import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration.Duration
import scala.concurrent.{Await, Future, blocking}
import scala.util.{Failure, Success, Try}

/** Starts several clusters in parallel. */
object KafkaClusters {

  /** Starts clusters with the names `cluster-1` to `cluster-n` in parallel. */
  def start(n: Int): Seq[KafkaCluster] = start((1 to n).map(i => s"cluster-$i"): _*)

  /** Starts clusters with these names in parallel. If one fails, all of them are stopped. */
  def start(names: String*): Seq[KafkaCluster] =
    together(names.map(name => () => KafkaCluster.start(name)): _*)

  /** Starts secured clusters in parallel. If one fails, all of them are stopped. */
  def start(first: SecureCluster, more: SecureCluster*): Seq[KafkaCluster] =
    together((first +: more).map(c => () => KafkaCluster.start(c.name, security = c.security)): _*)

  /** Runs any starts in parallel. If one fails, all clusters are stopped. */
  def together(starts: (() => KafkaCluster)*): Seq[KafkaCluster] = {
    val starting = starts.map(start => Future(Try(blocking(start()))))
    val tried = starting.map(Await.result(_, Duration.Inf))
    tried.collectFirst { case Failure(e) => e }.foreach { e =>
      tried.collect { case Success(cluster) => cluster.stop() }
      throw e
    }
    tried.map(_.get)
  }
}
