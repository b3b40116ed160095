package io.github.dynamickafka.admin

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.source.checkpoint.{Refusal, SparkCheckpoint}
import io.github.dynamickafka.base.Json
import io.github.dynamickafka.admin.checkpoint.{CheckpointEdit, CheckpointFiles, ClusterRename, Migration}
import io.github.dynamickafka.metadata.KafkaStream
import io.github.dynamickafka.offset.CompositeOffset

/** `migrate`, `rename_cluster` and `restore`: copies and edits of a checkpoint. No broker is asked. */
private[admin] object MigrationCommands {
  import Parameter.Checkpoint

  private val To = Parameter.text(
    "to",
    "The folder of the new checkpoint, any URI that Spark writes. It does not exist, or is empty"
  )
  private val Clusters = Parameter.texts(
    "cluster",
    "The id that the metadata gives to the cluster. With several sources N=ID, for each of them"
  )
  private val Metadata = Parameter.Metadata.optional.copy(comment =
    "The metadata file of the query: its clusters have to have the ids and the topics"
  )
  private val ToKafka = Parameter.flag("to_kafka", "Back to Spark's kafka source, in place of a cluster")
  private val DropRetained =
    Parameter.flag("drop_retained", "On the way back: give up the offsets of what was removed")
  private val DryRun = Parameter.flag("dry_run", "Return the offsets, and write nothing")
  private val Old = Parameter.text("old", "The id of the cluster in the checkpoint").positional
  private val New = Parameter.text("new", "Its new id").positional

  val all: Seq[Command] = Seq(
    Command(
      "migrate",
      "Copies the checkpoint of a query on Spark's kafka source, so that the query continues with this source. It continues at " +
        "exactly the same offsets, with its state, its batch numbers and its id. Stop the query first, and do not run both: the " +
        "checkpoint is only read. Exit code 1: it cannot be migrated, and nothing is written",
      Seq(Checkpoint, To, Clusters, Metadata, ToKafka, DropRetained, DryRun),
      "source INT, cluster STRING, topic STRING, partition INT, position BIGINT, note STRING",
      migrate
    ),
    Command(
      "rename_cluster",
      "Gives a cluster another id in a checkpoint, in what source and sink keep there. Stop the query first, and rename the " +
        "cluster in the metadata before the next start. The command restore undoes it. Exit code 1: nothing is changed",
      Seq(Checkpoint, Old, New),
      "batch BIGINT, file STRING",
      (context, arguments) => {
        val (old, now) = (arguments(Old), arguments(New))
        val (log, files) = opened(context, arguments(Checkpoint))
        val edit = new CheckpointEdit(files)
        edit.refuseInterrupted()
        val newest = log.newestFinished()
        val changes = ClusterRename.changes(files, log, newest, old, now)
        edit(
          s"rename-cluster $old $now",
          context.user,
          newest.number,
          changes,
          log.logged.last == newest.number
        )
        new Changed(
          changes.keys.toSeq,
          s"after batch ${newest.number}, cluster $old is $now in",
          file => Seq(newest.number, file),
          Seq("batch" -> newest.number, "old" -> old, "new" -> now)
        )
      }
    ),
    Command(
      "restore",
      "Undoes the newest edit of a checkpoint: its files are again what they were. Further calls undo the edits before it. " +
        "Exit code 1: there is no edit, or the query has logged a batch since, and nothing is changed",
      Seq(Checkpoint),
      "edit STRING, batch BIGINT, file STRING",
      (context, arguments) => {
        val (log, files) = opened(context, arguments(Checkpoint))
        val undone = new CheckpointEdit(files).restore(log)
        new Changed(
          undone.names,
          s"undone: ${undone.command}, after batch ${undone.batch}",
          file => Seq(undone.command, undone.batch, file),
          Seq("edit" -> undone.command, "batch" -> undone.batch)
        )
      }
    )
  )

  /** The log and the files of a checkpoint without a link, and without a file outside of it. */
  def opened(context: Context, checkpoint: String): (SparkCheckpoint, CheckpointFiles) = {
    val log = SparkCheckpoint(checkpoint, context.hadoop)
    log.logged
    val files = new CheckpointFiles(checkpoint, context.hadoop)
    files.all()
    log -> files
  }

  private def migrate(context: Context, arguments: Arguments): Result = {
    val clusters = arguments.get(Clusters).getOrElse(Nil)
    val (toKafka, dropRetained) = (arguments.has(ToKafka), arguments.has(DropRetained))
    if (toKafka && (clusters.nonEmpty || arguments.get(Metadata).isDefined))
      throw new WrongUsage("--to-kafka takes neither --cluster nor --metadata")
    if (!toKafka && clusters.isEmpty) throw new WrongUsage(s"--cluster is missing: ${Clusters.comment}")
    if (dropRetained && !toKafka) throw new WrongUsage("--drop-retained needs --to-kafka")
    // A command without a file has no stream. In SQL, the streams are those of the catalog.
    val streams = if (toKafka) Nil else context.streams()
    val (to, dryRun) = (arguments(To), arguments.has(DryRun))
    val found = Migration.run(arguments(Checkpoint), to, context.hadoop, dryRun) { (files, log) =>
      if (toKafka) Migration.toKafka(dropRetained)(files, log)
      else {
        val found = Migration.fromKafka(clusters)(files, log)
        if (streams.nonEmpty || arguments.get(Metadata).isDefined) check(found, streams)
        found
      }
    }
    new Moved(found, to, dryRun)
  }

  /** Fails if the query would not read its topics with these streams: its first start would be refused. */
  private def check(found: Migration, streams: Seq[KafkaStream]): Unit = found.sources.foreach { moved =>
    val migrated = QueryClusters.migrated(CompositeOffset(SortedMap(moved.cluster -> moved.offsets)), streams)
    if (migrated.missing.nonEmpty) throw new Refusal(
      s"the query would fail with MIGRATION_MISMATCH, source ${moved.source.name}: the metadata lack " +
        s"${migrated.missing.mkString(", ")}.${migrated.suggestion.fold("")(s => s" Did you mean '$s'?")}"
    )
  }

  private final class Moved(found: Migration, to: String, dryRun: Boolean) extends Result {
    private val places = Table(
      Seq("source", "cluster", "topic", "partition", "offset"),
      for (of <- found.sources; (topic, p, at) <- of.offsets.iterator)
        yield Seq(of.source, of.cluster, topic, p, at)
    )

    override def rows: Seq[Seq[Any]] =
      places.rows.map(_ :+ Option.when(reasons.nonEmpty)(reasons.mkString("; ")))
    override def json: Any = Json.fields(
      "batch" -> found.batch,
      "dry_run" -> dryRun,
      "sources" -> found.sources.map(of =>
        Json.fields(
          "source" -> of.source.shown,
          "cluster" -> of.cluster,
          "offsets" -> of.offsets.byTopic
        )
      )
    )
    override def text: String = {
      val what = if (dryRun) "would continue" else "continues"
      s"the query $what in $to after batch ${found.batch}, at these offsets\n\n${places.text}"
    }
    override def reasons: Seq[String] = found.notes
  }

  /** What an edit has changed. */
  private final class Changed(
      files: Seq[String],
      title: String,
      row: String => Seq[Any],
      fields: Seq[(String, Any)]
  ) extends Result {
    override def rows: Seq[Seq[Any]] = files.map(row)
    override def json: Any = Json.Fields(fields :+ ("files" -> files))
    override def text: String = (title +: files.map(file => s"  $file")).mkString("\n")
  }
}
