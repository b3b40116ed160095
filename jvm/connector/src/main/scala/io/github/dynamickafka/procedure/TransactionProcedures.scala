package io.github.dynamickafka.procedure

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types.StructType

import io.github.dynamickafka.catalog.StreamCatalog
import io.github.dynamickafka.procedure.checkpoint.Refusal
import io.github.dynamickafka.sink.operate.{OpenDecision, Resolution}

/** `transactions` and `resolve`: the open decision of a query that writes with `exactly-once`. */
private[procedure] final class TransactionProcedures(catalog: StreamCatalog) {
  import CheckpointProcedures.Checkpoint
  import TransactionProcedures._

  val all: Seq[CatalogProcedure] = Seq(
    CatalogProcedure(
      "transactions",
      "The transactions of a decision that is not finished; no row: none is open",
      Seq(Checkpoint),
      StructType.fromDDL(
        "batch BIGINT, generation BIGINT, cluster STRING, transactional_id STRING, state STRING"
      ),
      arguments =>
        decision(arguments).find().toSeq.flatMap(found =>
          found.transactions.map(t => Seq(found.batch, found.generation, t.cluster, t.id, t.state))
        )
    ),
    CatalogProcedure(
      "resolve",
      "Closes a decision that the query cannot complete, in exactly one of three ways",
      Seq(Checkpoint, Batch, AcceptLoss, Rewrite, Abandon),
      StructType.fromDDL("batch BIGINT, action STRING, transactions BIGINT"),
      arguments => {
        val how = chosen(arguments)
        val found =
          decision(arguments).resolve(arguments(Batch), how, SparkSession.active.sparkContext.sparkUser)
        Seq(Seq(found.batch, how.name, found.transactions.size.toLong))
      }
    )
  )

  private def decision(arguments: Arguments) =
    OpenDecision.ofSession(
      arguments(Checkpoint),
      () => catalog.streams(),
      catalog.writing,
      catalog.hadoop
    )

  private def chosen(arguments: Arguments): Resolution = {
    val all = Seq(
      Option.when(arguments.get(AcceptLoss).contains(true))(Resolution.AcceptLoss),
      Option.when(arguments.get(Rewrite).contains(true))(Resolution.Rewrite),
      arguments.get(Abandon).map(Resolution.AbandonCluster)
    ).flatten
    all match {
      case Seq(one) => one
      case _ => throw new Refusal("use exactly one of accept_loss, rewrite and abandon_cluster")
    }
  }
}

private[procedure] object TransactionProcedures {
  private val Batch = Parameter.number("batch", "The batch whose decision is open")
  private val AcceptLoss =
    Parameter.flag("accept_loss", "Commit what is open; what is lost stays lost")
  private val Rewrite =
    Parameter.flag("rewrite", "Abort what is open; the next start writes the batch again")
  private val Abandon =
    Parameter.optionalText("abandon_cluster", "Give up the part on this cluster, and commit the others")
}
