package io.github.dynamickafka.sink.operate

import java.io.PrintStream

import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.hadoop.conf.Configuration

import io.github.dynamickafka.error.{DynamicKafkaError, FailureText}
import io.github.dynamickafka.sink.commit.{Clusters, Inspector, Outcome}
import io.github.dynamickafka.sink.journal.{Claims, Journal, JournalEntry}
import io.github.dynamickafka.sink.transaction.{Prepared, ResumableProducer, TransactionPool}
import io.github.dynamickafka.time.Clock

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
      on(checkpoint, file, timeout.toLong)((journal, clusters) => transactions(journal, clusters, answer))
    case Seq("resolve", checkpoint, file, timeout, user, batch, how, more @ _*) =>
      val resolution = Resolution.named(how, more.headOption)
        .getOrElse(throw new IllegalArgumentException(s"unknown resolution $how"))
      ResumableProducer.problem.foreach(why => throw new Refused(Seq(why)))
      on(checkpoint, file, timeout.toLong)((journal, clusters) =>
        resolve(journal, clusters, new Notes(checkpoint, hadoop), batch.toLong, resolution, user, answer)
      )
    case _ => throw new IllegalArgumentException(s"unknown arguments: ${arguments.take(1).mkString}")
  }

  private def on(checkpoint: String, file: String, timeoutMs: Long)(
      use: (Journal, Clusters) => (Int, Seq[String])
  ): (Int, Seq[String]) = {
    val journal = new Journal(checkpoint, hadoop)
    if (!journal.exists) throw new Refused(Seq(
      s"$checkpoint has no journal of decisions (${journal.path}): it is not the checkpoint of a query that writes with exactly-once"
    ))
    val clusters = Connections.of(file, timeoutMs, hadoop)
    try use(journal, clusters)
    finally clusters.close()
  }

  private def transactions(journal: Journal, clusters: Clusters, answer: ObjectNode): (Int, Seq[String]) = {
    val open = journal.newest().filterNot(_._2).map(_._1)
    val decisions = answer.putObject("result").putArray("decisions")
    open.fold((0, Seq.empty[String])) { entry =>
      clusters.remember(entry)
      val outcomes = new Inspector(clusters, Clock.System).once(entry.transactions, entry.kafkaId).outcomes
      put(decisions.addObject(), entry, outcomes)
      (1, States.reasons(clusters, outcomes))
    }
  }

  private def resolve(
      journal: Journal,
      clusters: Clusters,
      notes: Notes,
      batch: Long,
      how: Resolution,
      user: String,
      answer: ObjectNode
  ): (Int, Seq[String]) = {
    val resolver = new Resolver(
      journal,
      notes,
      clusters,
      // The shared one takes its settings from Spark's environment, and there is none.
      new TransactionPool(ResumableProducer.create(_), Connections.CommitTimeoutMs, Clock.System),
      Connections.CommitTimeoutMs,
      Clock.System,
      // Three intervals: a run shows itself after one, and may be slow.
      () => Clock.System.pauseMs(3 * Claims.BeatMs)
    )
    val (entry, outcomes) = resolver(batch, how, user)
    val result = answer.putObject("result")
    put(result, entry, outcomes)
    result.put("resolution", how.name)
    how.cluster.foreach(result.put("cluster", _))
    (0, Nil)
  }

  private def put(node: ObjectNode, entry: JournalEntry, outcomes: Seq[(Prepared, Outcome)]): Unit = {
    val list = node.put("batch", entry.batch).put("generation", entry.generation).putArray("transactions")
    outcomes.foreach { case (t, outcome) =>
      list.addObject().put("cluster", t.cluster).put("transactional_id", t.transactionalId)
        .put("state", States.of(outcome))
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
