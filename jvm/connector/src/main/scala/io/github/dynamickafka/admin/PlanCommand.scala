package io.github.dynamickafka.admin

import io.github.dynamickafka.admin.checkpoint.{OffsetLog, Refusal}

/** `plan`: what the next batch of a query would do with the metadata of the catalog, or of a file. Nothing is changed. */
private[admin] object PlanCommand {

  private val Metadata = Parameter.text(
    "metadata",
    "A metadata file, any URI that Spark reads. NULL: the metadata service of the catalog, as it is now"
  ).optional.onlyInSql

  val all: Seq[Command] = Seq(
    Command(
      "plan",
      "What the next batch of a query would do with other metadata: what enters, drains and leaves. It is decided by the code of the " +
        "query, and nothing is changed. Exit code 2: unread records are lost, 1: that is not known",
      Seq(Parameter.Checkpoint, Parameter.File, Metadata, Parameter.Timeout),
      "change STRING, cluster STRING, topic STRING, partition INT, position BIGINT, target BIGINT, records BIGINT, " +
        "bytes BIGINT, lost BOOLEAN",
      (context, arguments) => {
        val log = new OffsetLog(arguments(Parameter.Checkpoint), context.hadoop)
        val file = arguments.get(Metadata)
        val streams = file.fold(context.streams())(context.streamsOf)
        val isActive: String => Boolean =
          if (file.isDefined || context.file.isDefined) _ => true else context.catalog.service.isClusterActive
        val newest = log.newest
        new Plan(
          newest.number,
          log.composite(newest).map { case (source, start) =>
            new QueryPlan(context, log, source, start, streams, isActive).planned
          }
        )
      }
    )
  )

  private[admin] final class Plan(batch: Long, sources: Seq[Planned]) extends Result {
    private val changes = sources.flatMap(_.changes)
    private val nextBatch = sources.flatMap(_.nextBatch).groupMapReduce(_._1)(_._2)(_ + _).toSeq.sortBy(_._1)
    private val rights = sources.flatMap(_.rights)
    private val assumed = sources.flatMap(_.assumed).distinct
    private val lost =
      changes.collect { case (c, bytes) if c.lost => c.records.getOrElse(0L) -> bytes.getOrElse(0L) }
    private val lostRecords = lost.map(_._1).sum

    override def rows: Seq[Seq[Any]] = {
      sources.flatMap(_.hidden).headOption.foreach(why => throw new Refusal(why))
      changes.map { case (c, bytes) =>
        Seq(c.change, c.cluster, c.topic, c.partition, c.position, c.target, c.records, bytes, c.lost)
      }
    }

    private def of(change: String): Seq[PlannedChange] = changes.map(_._1).filter(_.change == change)

    private def place(c: PlannedChange): Seq[(String, Any)] =
      Seq("cluster" -> c.cluster, "topic" -> c.topic, "partition" -> c.partition, "position" -> c.position)

    override def json: Any = Json.fields(
      "batch" -> batch,
      "enters" -> of("enters").map(c => Json.Fields(place(c) :+ ("by" -> c.by))),
      "drains" -> of("drains").map(c => Json.Fields(place(c) :+ ("target" -> c.target))),
      "leaves" -> of("leaves").map(c => Json.Fields(place(c) ++ Seq("end" -> c.end, "records" -> c.records))),
      "lost" -> Json.fields(
        "records" -> lostRecords,
        "bytes" -> lost.map(_._2).sum,
        "bytes_estimated" -> true
      ),
      "rights" -> rights.map { case (cluster, topic, right) =>
        Json.fields("cluster" -> cluster, "topic" -> topic, "right" -> right)
      },
      "next_batch" -> Json.fields("records" -> nextBatch.map(_._2).sum, "clusters" -> Json.Fields(nextBatch)),
      "assumed" -> assumed
    )

    override def text: String = {
      def at(c: PlannedChange) = s"cluster ${c.cluster}, topic ${c.topic}, partition ${c.partition}"
      val byCluster = nextBatch.map { case (id, records) => s"$id $records" }.mkString(", ")
      (Seq(s"after batch $batch") ++
        of("enters").map(c => s"+ ${at(c)} enters at ${c.position} (${c.by.getOrElse("")})") ++
        of("drains").map(c => s"~ ${at(c)} drains from ${c.position} to ${c.target.getOrElse("")}") ++
        of("leaves").map { c =>
          val records = c.records.fold("unknown")(Text.count(_, "unread record"))
          s"- ${at(c)} leaves at ${c.position}: $records"
        } ++
        rights.map { case (cluster, topic, right) =>
          s"! cluster $cluster, topic $topic: no right to $right"
        } ++
        Option.when(lostRecords > 0)(
          s"lost: ${Text.count(lostRecords, "record")}, about ${lost.map(_._2).sum} bytes"
        ) ++
        Seq(s"next batch: ${Text.count(nextBatch.map(_._2).sum, "record")}" +
          (if (byCluster.isEmpty) "" else s" ($byCluster)")) ++
        assumed.map(text => s"assumed: $text")).mkString("\n")
    }

    override def reasons: Seq[String] = sources.flatMap(s => s.hidden ++ s.unknown)

    override def exitCode: Int = if (reasons.nonEmpty) 1 else if (lostRecords > 0) 2 else 0
  }
}

/**
 * What the next batch of one source does.
 *
 * @param changes with the estimated bytes of records that are lost
 * @param nextBatch the number of records by cluster
 * @param rights the rights that are missing: cluster, topic, right
 * @param hidden why the plan lacks topics that may not be described
 * @param unknown why the number of records that are lost is not known
 * @param assumed what the plan leaves out
 */
private[admin] final case class Planned(
    changes: Seq[(PlannedChange, Option[Long])],
    nextBatch: Seq[(String, Long)],
    rights: Seq[(String, String, String)],
    hidden: Seq[String],
    unknown: Seq[String],
    assumed: Seq[String]
)
