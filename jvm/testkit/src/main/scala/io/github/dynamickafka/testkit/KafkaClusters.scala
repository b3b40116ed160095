package io.github.dynamickafka.testkit

import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration.Duration
import scala.concurrent.{Await, Future, blocking}
import scala.util.{Failure, Success, Try}

/** Several clusters at once. */
object KafkaClusters {

  /** Starts clusters called `cluster-1` to `cluster-n` in parallel. */
  def start(n: Int): Seq[KafkaCluster] = start((1 to n).map(i => s"cluster-$i"): _*)

  /** Starts clusters of these names in parallel. If one fails, none is left running. */
  def start(names: String*): Seq[KafkaCluster] =
    together(names.map(name => () => KafkaCluster.start(name)): _*)

  /** Starts clusters that are not open to all, in parallel. If one fails, none is left running. */
  def start(first: SecureCluster, more: SecureCluster*): Seq[KafkaCluster] =
    together((first +: more).map(c => () => KafkaCluster.start(c.name, security = c.security)): _*)

  /** Runs starts of any kind in parallel. If one fails, none is left running. */
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
