package io.github.dynamickafka.admin

import io.github.dynamickafka.source.checkpoint.{Refusal, SparkCheckpoint}
import io.github.dynamickafka.base.Json
import io.github.dynamickafka.offset.{CompositeOffset, NextOffset, Positions}
import io.github.dynamickafka.topology.Topology

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
        val log = SparkCheckpoint(arguments(Parameter.Checkpoint), context.hadoop)
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
    private val lost = changes.filter(_.lost)
    private val (lostRecords, lostBytes) = (lost.flatMap(_.records).sum, lost.flatMap(_.bytes).sum)

    override def rows: Seq[Seq[Any]] = {
      sources.flatMap(_.hidden).headOption.foreach(why => throw new Refusal(why))
      changes.map(c =>
        Seq(c.change, c.cluster, c.topic, c.partition, c.position, c.target, c.records, c.bytes, c.lost)
      )
    }

    private def of(change: String): Seq[PlannedChange] = changes.filter(_.change == change)

    private def place(c: PlannedChange): Seq[(String, Any)] =
      Seq("cluster" -> c.cluster, "topic" -> c.topic, "partition" -> c.partition, "position" -> c.position)

    override def json: Any = Json.fields(
      "batch" -> batch,
      "enters" -> of("enters").map(c => Json.Fields(place(c) :+ ("by" -> c.by))),
      "drains" -> of("drains").map(c => Json.Fields(place(c) :+ ("target" -> c.target))),
      "leaves" -> of("leaves").map(c => Json.Fields(place(c) ++ Seq("end" -> c.end, "records" -> c.records))),
      "lost" -> Json.fields(
        "records" -> lostRecords,
        "bytes" -> lostBytes,
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
          s"lost: ${Text.count(lostRecords, "record")}, about $lostBytes bytes"
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
 * @param nextBatch the number of records by cluster
 * @param rights that are missing: cluster, topic, right
 * @param hidden why the plan lacks topics that may not be described
 * @param unknown why the number of records that are lost is not known
 * @param assumed what the plan leaves out
 */
private[admin] final case class Planned(
    changes: Seq[PlannedChange],
    nextBatch: Seq[(String, Long)],
    rights: Seq[(String, String, String)],
    hidden: Seq[String],
    unknown: Seq[String],
    assumed: Seq[String]
)

/**
 * What happens to one partition in the next batch of a query.
 *
 * @param change `enters`, `drains` or `leaves`
 * @param position where it enters, from where it drains, where it leaves
 * @param target the offset up to which it drains
 * @param records left to drain, or unread; None: not known
 * @param lost whether unread records leave without a drain
 * @param canLose whether they would, if there are any
 * @param end the latest offset of what leaves
 * @param bytes the estimated size of records that are lost
 * @param by why it enters where it does: `retained`, or the start
 */
private[admin] final case class PlannedChange(
    change: String,
    cluster: String,
    topic: String,
    partition: Int,
    position: Long,
    target: Option[Long] = None,
    records: Option[Long] = None,
    lost: Boolean = false,
    canLose: Boolean = false,
    end: Option[Long] = None,
    bytes: Option[Long] = None,
    by: Option[String] = None
)

private[admin] object PlannedChange {

  /**
   * What `Reconcile` and `NextOffset` have decided. Pure.
   *
   * @param topology the metadata, with the topics that match patterns
   * @param latest returns the latest offset of a partition that leaves, if it is known
   * @param continued clusters that are read no more because others continue where they were
   */
  def all(
      start: CompositeOffset,
      topology: Topology,
      drainRemoved: Boolean,
      next: NextOffset,
      latest: (String, String, Int) => Option[Long],
      continued: Set[String] = Set.empty
  ): Seq[PlannedChange] = {
    val enters = next.spans.filter(_.enters).map(s =>
      PlannedChange("enters", s.cluster, s.topic, s.partition, s.from)
    )
    val from = next.spans.map(s => (s.cluster, s.topic, s.partition) -> s.from).toMap
    val drains = each(next.draining).map { case (id, topic, p, target) =>
      val at = from.get((id, topic, p)).orElse(start.position(id).get(topic, p)).getOrElse(target)
      PlannedChange("drains", id, topic, p, at, Some(target), Some(math.max(0L, target - at)))
    }
    (enters ++ drains ++ leaving(start, next).map { case (id, topic, p, at) =>
      val end = latest(id, topic, p)
      val unread = end.map(e => math.max(0L, e - at))
      // Only what has reached its target leaves like this.
      val drained = topology.clusters.get(id).flatMap(_.topics.get(topic))
        .fold(drainRemoved && !topology.removes(id, topic))(t => t.draining && t.reads(p))
      val canLose = !drained && !continued(id)
      PlannedChange("leaves", id, topic, p, at, None, unread, canLose && unread.exists(_ > 0), canLose, end)
    }).sortBy(c => (Order.indexOf(c.change), c.cluster, c.topic, c.partition))
  }

  /** The positions that are not read any more. */
  def leaving(start: CompositeOffset, next: NextOffset): Seq[(String, String, Int, Long)] = {
    val after = next.latest
    each(start.clusters).filter { case (id, topic, p, _) => after.position(id).get(topic, p).isEmpty }
  }

  private val Order = Seq("enters", "drains", "leaves")

  private def each(clusters: Iterable[(String, Positions)]): Seq[(String, String, Int, Long)] =
    clusters.toSeq.flatMap { case (id, all) => all.iterator.map { case (t, p, at) => (id, t, p, at) } }
}
