package io.github.dynamickafka.sink.operate

import java.io.PrintStream

import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.hadoop.conf.Configuration

import io.github.dynamickafka.error.{DynamicKafkaError, FailureText}

/**
 * The Java side of `python -m dynamic_kafka transactions` and `resolve`: Python's Kafka client can neither describe
 * transactions nor end those of others. The last line that it prints is a JSON object with `exit`, `reasons` and, if the
 * command has one, `result`.
 *
 * Arguments: `transactions <checkpoint> <metadata file> <timeout in ms>`, or `resolve` with the same ones and
 * `<user> <batch> <resolution> [<cluster>]`.
 */
private[dynamickafka] object OperatorTool {
  private val mapper = new ObjectMapper

  def main(arguments: Array[String]): Unit = {
    val out = System.out
    // For anything that a library prints.
    System.setOut(new PrintStream(System.err, true))
    out.println(reply(arguments.toSeq))
    out.flush()
  }

  private[operate] def reply(arguments: Seq[String]): String = {
    val answer = mapper.createObjectNode()
    val (exit, reasons) =
      try run(arguments, answer)
      catch {
        case refused: Refused => (1, refused.reasons)
        // A missing jar.
        case e: LinkageError => (1, Seq(s"${MissingClass(e)}"))
        case e: DynamicKafkaError => (1, Seq(e.getMessage))
        case NonFatal(e) => (1, Seq(FailureText.of(e)))
      }
    val texts = answer.put("exit", exit).putArray("reasons")
    reasons.foreach(texts.add)
    mapper.writeValueAsString(answer)
  }

  private def run(arguments: Seq[String], answer: ObjectNode): (Int, Seq[String]) = arguments match {
    case Seq("transactions", checkpoint, file, timeout) =>
      val found = OpenDecision.ofFile(checkpoint, file, timeout.toLong, hadoop).find()
      val decisions = answer.putObject("result").putArray("decisions")
      found.foreach(decision => put(decisions.addObject(), decision))
      found.fold((0, Seq.empty[String]))(decision => (1, decision.reasons))
    case Seq("resolve", checkpoint, file, timeout, user, batch, how, more @ _*) =>
      val resolution = Resolution.named(how, more.headOption)
        .getOrElse(throw new IllegalArgumentException(s"unknown resolution $how"))
      val found =
        OpenDecision.ofFile(checkpoint, file, timeout.toLong, hadoop).resolve(batch.toLong, resolution, user)
      val result = answer.putObject("result")
      put(result, found)
      result.put("resolution", resolution.name)
      resolution.cluster.foreach(result.put("cluster", _))
      (0, Nil)
    case _ => throw new IllegalArgumentException(s"unknown arguments: ${arguments.take(1).mkString}")
  }

  private def put(node: ObjectNode, found: OpenDecision.Found): Unit = {
    val list = node.put("batch", found.batch).put("generation", found.generation).putArray("transactions")
    found.transactions.foreach { t =>
      list.addObject().put("cluster", t.cluster).put("transactional_id", t.id).put("state", t.state)
    }
  }

  /** The configuration that spark-submit has taken from `spark-defaults.conf`. */
  private lazy val hadoop: Configuration = {
    val own = new Configuration
    sys.props.foreach { case (name, value) =>
      if (name.startsWith(SparkHadoop)) own.set(name.stripPrefix(SparkHadoop), value)
    }
    own
  }
  private val SparkHadoop = "spark.hadoop."

  private object MissingClass {
    def apply(e: LinkageError): String =
      s"a class is missing (${e.getMessage}). The command needs the connector's jar, kafka-clients 3.9, spark-sql-kafka-0-10, " +
        "spark-token-provider-kafka-0-10 and commons-pool2, as a query does"
  }
}
