package io.github.dynamickafka.testkit

/**
 * One broker of a [[KafkaCluster]], which is a separate process. If there are several, each one is a controller too, and
 * the cluster serves as long as more than half of them run. Thread-safe.
 *
 * @param id Kafka's `node.id`: 1, 2, ...
 */
final class KafkaNode private[testkit] (
    cluster: KafkaCluster,
    val id: Int,
    label: String,
    firstConfig: BrokerConfig
) {
  private val process = new BrokerProcess(label)
  @volatile private var frozen = false
  @volatile private[testkit] var config: BrokerConfig = firstConfig

  /** Kafka's `broker.rack`. */
  def rack: Option[String] = config.rack

  /** The port of the client listener of the broker. */
  def listenerPort: Int = config.port

  /** The id of the current or last process. */
  def pid: Long = process.pid

  /** Whether the process exists, even if it is frozen. */
  def isAlive: Boolean = process.isAlive

  /**
   * Sends SIGKILL: the broker does not shut down gracefully. The other nodes notice this when its session expires, after
   * `broker.session.timeout.ms`.
   */
  def kill(): Unit = cluster.synchronized {
    process.kill()
    frozen = false
  }

  /** Sends SIGSTOP: the broker keeps its connections but does not respond. Its session expires as after [[kill]]. */
  def freeze(): Unit = cluster.synchronized {
    if (!isAlive) throw new IllegalStateException(s"$label is down")
    frozen = true
    process.freeze()
  }

  /** Sends SIGCONT: ends [[freeze]]. Returns when the broker is in sync, or at once if the cluster does not serve. */
  def thaw(): Unit = cluster.synchronized {
    resume()
    cluster.awaitServing()
  }

  /**
   * Restarts the broker with the same data and ports. A running broker is shut down first, and hands its partitions over
   * to other nodes. Returns when the broker is in sync, or at once if the cluster does not serve.
   */
  def restart(): Unit = cluster.synchronized {
    end()
    start()
    cluster.awaitServing()
  }

  override def toString: String = label

  private[testkit] def isFrozen: Boolean = frozen

  private[testkit] def isServing: Boolean = isAlive && !frozen

  /** The address for the testkit, which bypasses a proxy. */
  private[testkit] def directAddress: String = s"127.0.0.1:${config.directPort}"

  private[testkit] def folder: java.nio.file.Path = process.folder

  private[testkit] def format(clusterId: String): Unit = process.format(config, clusterId)

  /** Returns immediately. */
  private[testkit] def start(): Unit = process.start(config)

  private[testkit] def isListening: Boolean = Ports.accepts(config.port) && Ports.accepts(config.directPort)

  private[testkit] def end(): Unit = {
    // A stopped process does not receive SIGTERM.
    if (frozen) process.kill() else process.end()
    frozen = false
  }

  private[testkit] def resume(): Unit = {
    process.thaw()
    frozen = false
  }

  private[testkit] def delete(): Unit = process.delete()

  private[testkit] def failure(what: String): BrokerFailure = process.failure(what)

  private[testkit] def silence(what: String): BrokerFailure = process.silence(what)
}
