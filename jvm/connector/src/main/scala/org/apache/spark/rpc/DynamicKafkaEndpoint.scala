package org.apache.spark.rpc

import java.{util => ju}

import scala.concurrent.Future
import scala.concurrent.duration.FiniteDuration

import org.apache.spark.SparkEnv
import org.apache.spark.util.RpcUtils

/**
 * An endpoint of the driver that executors ask, and that may reply much later. In a package of Spark because its RPC is private to
 * its packages: a connection of another kind would need a port, authentication and encryption of its own.
 *
 * Questions and replies are values of the JDK, so that Spark finds their classes whatever the class loader of the connector is.
 */
object DynamicKafkaEndpoint {

  /**
   * Opens an endpoint in the driver.
   *
   * @param reported called with what is sent by [[teller]]
   * @param answer called by threads of Spark, which it must not block, with the question and what sends the reply
   */
  def open(name: String, reported: ju.Map[String, Array[Long]] => Unit)(
      answer: (Long, Boolean => Unit) => Unit
  ): AutoCloseable = {
    val env = SparkEnv.get.rpcEnv
    val endpoint = new RpcEndpoint {
      override val rpcEnv: RpcEnv = env
      override def receive: PartialFunction[Any, Unit] = {
        case counts: ju.Map[_, _] => reported(counts.asInstanceOf[ju.Map[String, Array[Long]]])
      }
      override def receiveAndReply(context: RpcCallContext): PartialFunction[Any, Unit] = {
        case question: java.lang.Long => answer(question, reply => context.reply(Boolean.box(reply)))
      }
    }
    val ref = env.setupEndpoint(name, endpoint)
    () => env.stop(ref)
  }

  /** What sends counts to the endpoint of this name in the driver, without a reply. Looks the endpoint up once. */
  def teller(name: String): ju.Map[String, Array[Long]] => Unit = {
    val env = SparkEnv.get
    RpcUtils.makeDriverRef(name, env.conf, env.rpcEnv).send(_)
  }

  /** Asks the endpoint of this name in the driver. The result fails if there is none, or no reply in time. */
  def ask(name: String, question: Long, within: FiniteDuration): Future[Boolean] = {
    val env = SparkEnv.get
    RpcUtils.makeDriverRef(name, env.conf, env.rpcEnv)
      .ask[java.lang.Boolean](Long.box(question), new RpcTimeout(within, "dynamic-kafka"))
      .map(_.booleanValue)(scala.concurrent.ExecutionContext.parasitic)
  }
}
