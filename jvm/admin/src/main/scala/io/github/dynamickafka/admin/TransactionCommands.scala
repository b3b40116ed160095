package io.github.dynamickafka.admin

import io.github.dynamickafka.base.Json
import io.github.dynamickafka.sink.commit.{OpenDecision, Resolution}

/** `transactions` and `resolve`: the open decision of a query that writes with `exactly-once`. */
private[admin] object TransactionCommands {
  import Parameter.{Checkpoint, Metadata, Timeout}

  private val Batch = Parameter.number("batch", "The batch whose decision is open")
  private val AcceptLoss = Parameter.flag("accept_loss", "Commit what is open; what is lost stays lost")
  private val Rewrite =
    Parameter.flag("rewrite", "Abort what is open; the next start writes the batch again")
  private val Abandon =
    Parameter.text("abandon_cluster", "Give up the part on this cluster, and commit the others").optional

  val all: Seq[Command] = Seq(
    Command(
      "transactions",
      "The transactions of a decision that is not finished; no row: none is open. The checkpoint is that of a query that " +
        "writes with exactly-once. Nothing is changed. Exit code 1: a decision is open, or that is not known",
      Seq(Checkpoint, Metadata, Timeout),
      "batch BIGINT, generation BIGINT, cluster STRING, transactional_id STRING, state STRING",
      (context, arguments) => new Open(decision(context, arguments).find())
    ),
    Command(
      "resolve",
      "Closes a decision that the query cannot complete, in exactly one of three ways. It is refused while a run of the query " +
        "works on the decision; keep the query from being restarted meanwhile. Exit code 1: it stays open",
      Seq(Checkpoint, Metadata, Timeout, Batch, AcceptLoss, Rewrite, Abandon),
      "batch BIGINT, action STRING, transactions BIGINT",
      (context, arguments) => {
        val how = chosen(arguments)
        new Closed(decision(context, arguments).resolve(arguments(Batch), how, context.user), how)
      },
      changes = true
    )
  )

  private def decision(context: Context, arguments: Arguments) =
    new OpenDecision(arguments(Checkpoint), context.streams _, context.catalog.writing, context.hadoop)

  private def chosen(arguments: Arguments): Resolution = {
    val all = Seq(
      Option.when(arguments.has(AcceptLoss))(Resolution.AcceptLoss),
      Option.when(arguments.has(Rewrite))(Resolution.Rewrite),
      arguments.get(Abandon).map(Resolution.AbandonCluster)
    ).flatten
    all match {
      case Seq(one) => one
      case _ => throw new WrongUsage("use exactly one of accept_loss, rewrite and abandon_cluster")
    }
  }

  private def table(found: OpenDecision.Found) = Table(
    Seq("cluster", "transactional_id", "state"),
    found.outcomes.map { case (t, outcome) => Seq(t.cluster, t.transactionalId, outcome.state) }
  )

  private def fields(found: OpenDecision.Found) = Json.fields(
    "batch" -> found.entry.batch,
    "generation" -> found.entry.claim.generation,
    "transactions" -> table(found).json
  )

  private[admin] final class Open(found: Option[OpenDecision.Found]) extends Result {
    override def rows: Seq[Seq[Any]] =
      found.toSeq.flatMap(f => table(f).rows.map(Seq(f.entry.batch, f.entry.claim.generation) ++ _))
    override def json: Any = Json.fields("decisions" -> found.toSeq.map(fields))
    override def text: String = found.fold("no decision is open")(f =>
      s"batch ${f.entry.batch}, decided by generation ${f.entry.claim.generation}, not finished\n\n${table(f).text}"
    )
    override def reasons: Seq[String] = found.fold(Seq.empty[String])(_.reasons)
    override def exitCode: Int = found.size
  }

  private[admin] final class Closed(found: OpenDecision.Found, how: Resolution) extends Result {
    override def rows: Seq[Seq[Any]] = Seq(Seq(found.entry.batch, how.name, found.outcomes.size.toLong))
    override def json: Any =
      fields(found) ++ Json.fields("resolution" -> how.name) ++ Json.present("cluster" -> how.cluster)
    override def text: String = {
      val after = how match {
        case Resolution.AcceptLoss => "is closed: what is lost stays lost"
        case Resolution.Rewrite => "is not decided any more: the next start of the query writes it again"
        case Resolution.AbandonCluster(id) => s"is closed, without what is missing on cluster $id"
      }
      s"batch ${found.entry.batch} $after\n\n${table(found).text}"
    }
  }
}
