package io.github.dynamickafka.admin

import java.io.{FileNotFoundException, UncheckedIOException}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.NoSuchFileException
import java.util.UUID

import scala.collection.immutable.SortedMap
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode, TextNode}
import org.apache.hadoop.conf.Configuration

import io.github.dynamickafka.base.Json
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.KafkaStream
import io.github.dynamickafka.offset.{CompositeOffset, CompositeOffsetJson, Positions}
import io.github.dynamickafka.source.checkpoint.{LoggedBatch, Refusal, SourceId, SparkCheckpoint}

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
      migrate,
      changes = true
    ),
    Command(
      "rename_cluster",
      "Gives a cluster another id in a checkpoint, in what source and sink keep there. Stop the query first, and rename the " +
        "cluster in the metadata before the next start. The command restore undoes it. Exit code 1: nothing is changed",
      Seq(Checkpoint, Old, New),
      "batch BIGINT, file STRING",
      (context, arguments) => {
        val (old, now) = (arguments(Old), arguments(New))
        val edit = CheckpointEdit(context, arguments(Checkpoint))
        val newest = edit.begin()
        val changes = ClusterRename.changes(edit.files, edit.log, newest, old, now)
        edit(s"rename-cluster $old $now", context.user, newest.number, changes)
        new Changed(
          changes.keys.toSeq,
          s"after batch ${newest.number}, cluster $old is $now in",
          file => Seq(newest.number, file),
          Seq("batch" -> newest.number, "old" -> old, "new" -> now)
        )
      },
      changes = true
    ),
    Command(
      "restore",
      "Undoes the newest edit of a checkpoint: its files are again what they were. Further calls undo the edits before it. " +
        "Exit code 1: there is no edit, or the query has logged a batch since, and nothing is changed",
      Seq(Checkpoint),
      "edit STRING, batch BIGINT, file STRING",
      (context, arguments) => {
        val undone = CheckpointEdit(context, arguments(Checkpoint)).restore()
        new Changed(
          undone.names,
          s"undone: ${undone.command}, after batch ${undone.batch}",
          file => Seq(undone.command, undone.batch, file),
          Seq("edit" -> undone.command, "batch" -> undone.batch)
        )
      },
      changes = true
    )
  )

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
      s"the query would fail with MIGRATION_MISMATCH, source ${moved.source.name}: the metadata lacks " +
        s"${migrated.missing.mkString(", ")}.${migrated.suggestion.fold("")(Errors.meant)}"
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

/**
 * What a checkpoint becomes when its query moves from Spark's own Kafka source to this one, or back.
 *
 * @param sources what moves. All other sources stay as they are
 * @param logs the new entries of the offset log, by batch
 * @param notes what the other source does not know, and what the copy needs elsewhere
 */
private[admin] final case class Migration(
    batch: Long,
    sources: Seq[MovedSource],
    logs: Map[Long, String],
    notes: Seq[String] = Nil
)

/** A source that moves, with its positions, which are the same before and after. */
private[admin] final case class MovedSource(source: SourceId, cluster: String, offsets: Positions)

private[admin] object Migration {

  /**
   * Copies a checkpoint, which is only read: completely, or not at all.
   *
   * @param dryRun whether nothing is written
   * @param plan finds what changes, before anything is written
   * @throws Refusal with the reason
   */
  def run(
      checkpoint: String,
      to: String,
      hadoop: Configuration,
      dryRun: Boolean
  )(plan: (CheckpointFiles, SparkCheckpoint) => Migration): Migration = {
    val log = SparkCheckpoint(checkpoint, hadoop)
    log.logged
    val (files, target) = (new CheckpointFiles(checkpoint, hadoop), new CheckpointFiles(to, hadoop))
    checkTarget(files, target)
    new CheckpointEdit(log, files).refuseInterrupted()
    def changed(cause: Throwable) =
      throw new Refusal(s"$checkpoint has changed while it was copied: stop its query first", cause)
    try {
      val before = stamps(files)
      val found = plan(files, log)
      val (schemas, elsewhere) = stateSchemas(files, before.keys, target)
      val texts = found.logs.map { case (number, text) => s"offsets/$number" -> text } ++ schemas
      val copied = before.keys.filter(isCopied(_, found.sources.map(_.source.name).toSet))
      if (!dryRun) copy(files, copied, target, texts, if (stamps(files) != before) changed(null))
      found.copy(notes =
        found.notes ++ elsewhere.map(path =>
          s"the state has its schema in $path, not in $checkpoint: the query in $to needs it too"
        )
      )
    } catch {
      case e @ (_: FileNotFoundException | _: NoSuchFileException | _: UncheckedIOException) => changed(e)
    }
  }

  private def checkTarget(files: CheckpointFiles, target: CheckpointFiles): Unit = {
    val (from, to) = (files.location, target.location)
    if (target.isSame(files))
      throw new Refusal(s"$to is the checkpoint itself, which is only read: choose a folder beside it")
    if (target.isIn(files)) throw new Refusal(s"$to is in the checkpoint $from: choose a folder beside it")
    if (files.isIn(target)) throw new Refusal(s"$to contains the checkpoint $from: choose a folder beside it")
    if (target.isTaken) throw new Refusal(s"$to is not empty: choose a folder that does not exist")
  }

  /** @param ids of the clusters: one, or `N=ID` for each source */
  def fromKafka(ids: Seq[String])(files: CheckpointFiles, log: SparkCheckpoint): Migration = {
    val newest = log.newestFinished("old query")
    val where = s"batch ${newest.number} of ${files.location}"
    newest.offsets.collectFirst { case (source, Some(text)) if LoggedBatch.isComposite(text) => source }
      .foreach(source =>
        throw new Refusal(
          s"source ${source.name} of $where is a dynamic-kafka source already: --to-kafka moves it back to Spark's kafka source"
        )
      )
    val found = newest.offsets.flatMap { case (source, text) =>
      // A pattern that has matched no topic yet: the source has started, and has no offset.
      def started = Option.when(hasInitialOffset(files, source))(Positions.empty)
      text.fold(started)(LoggedBatch.kafka).map(source -> _)
    }
    if (found.isEmpty) throw new Refusal(s"$where has no offset of Spark's kafka source")
    for ((source, positions) <- found; (topic, p, at) <- positions.iterator if at < 0)
      throw new Refusal(s"source ${source.name} of $where: topic '$topic', partition $p has the offset $at")
    val clusters = clustersOf(ids, found.map(_._1))
    val moved = found.map { case (source, positions) => MovedSource(source, clusters(source), positions) }
    migration(log, newest, moved) { (of, number, text) =>
      val positions = if (number == newest.number) Some(of.offsets) else text.flatMap(LoggedBatch.kafka)
      positions.map(at => CompositeOffset(SortedMap(of.cluster -> at)).json)
    }
  }

  def toKafka(dropRetained: Boolean)(files: CheckpointFiles, log: SparkCheckpoint): Migration = {
    val newest = log.newestFinished()
    val (moved, notes) =
      log.composite(newest, "its query reads Spark's kafka source already").map { case (source, offset) =>
        log.refuseDeferred(source, offset, newest)
        val where = s"source ${source.name} of batch ${newest.number} of ${files.location}"
        val cluster = onlyCluster(offset, dropRetained, where)
        val note = Option.when(offset.draining.nonEmpty || offset.ends.nonEmpty)(
          s"$where has drain targets or ending offsets. Spark's source has none, and reads beyond them"
        )
        MovedSource(source, cluster, offset.position(cluster)) -> note
      }.unzip
    migration(log, newest, moved, notes.flatten) { (of, _, text) =>
      text.filter(LoggedBatch.isComposite).map(composite =>
        CompositeOffsetJson.writePositions(CompositeOffsetJson.read(composite).position(of.cluster))
      )
    }
  }

  /** @param converted the offset of a source in a batch, given that of the log; None: it stays as it is */
  private def migration(
      log: SparkCheckpoint,
      newest: LoggedBatch,
      moved: Seq[MovedSource],
      notes: Seq[String] = Nil
  )(converted: (MovedSource, Long, Option[String]) => Option[String]): Migration = {
    val logs = log.logged.map { number =>
      val batch = log.batch(number)
      // Spark takes only the number of sources from earlier batches.
      val texts = batch.offsets.toMap
      number -> batch.text(
        moved.flatMap(of => converted(of, number, texts.get(of.source).flatten).map(of.source -> _)).toMap
      )
    }
    Migration(newest.number, moved, logs.toMap, notes)
  }

  /** Whether Spark's Kafka source has stored its first offset in its folder of the checkpoint. */
  private def hasInitialOffset(files: CheckpointFiles, source: SourceId): Boolean =
    files.text(s"sources/${source.name}/0").exists { text =>
      // Spark begins the file with a null character, which its version 2.1 needs.
      val lines = text.stripPrefix("\u0000").split("\n", 2)
      lines(0).startsWith("v") && lines.lift(1).flatMap(LoggedBatch.kafka).nonEmpty
    }

  private def clustersOf(ids: Seq[String], sources: Seq[SourceId]): Map[SourceId, String] = {
    val use = s"use ${sources.map(source => s"--cluster ${source.name}=ID").mkString(" ")}"
    val found = ids.foldLeft(Map.empty[SourceId, String]) { (all, text) =>
      val (name, id) = text.lastIndexOf('=') match {
        case -1 if sources.size > 1 =>
          throw new Refusal(s"the query has several sources of Spark's kafka format: $use")
        case -1 => (sources.head.name, text)
        case at => (text.take(at), text.drop(at + 1))
      }
      val source = sources.find(_.name == name)
        .getOrElse(throw new Refusal(s"'$name' is not a source of Spark's kafka format: $use"))
      ClusterRename.checkId(id)
      if (all.contains(source)) throw new Refusal(s"source $name has two clusters: $use")
      all.updated(source, id)
    }
    val missing = sources.filterNot(found.contains)
    if (missing.nonEmpty)
      throw new Refusal(s"there is no cluster for source ${missing.map(_.name).mkString(", ")}: $use")
    found
  }

  private def onlyCluster(offset: CompositeOffset, dropRetained: Boolean, where: String): String = {
    val sections = Seq("clusters" -> offset.clusters.keys, "draining" -> offset.draining.keys) ++
      Option.when(!dropRetained)("retained" -> offset.retained.keys)
    val ids = sections.flatMap(_._2).distinct
    if (ids.size > 1) {
      val what = sections.collect { case (name, of) if of.nonEmpty => s"$name: ${of.mkString(", ")}" }
      throw new Refusal(
        s"$where has several clusters (${what.mkString("; ")}), and Spark's source reads one" +
          (if (dropRetained) "" else ". --drop-retained gives up what is retained")
      )
    }
    if (!dropRetained) offset.retained.find(_._2.topics.nonEmpty).foreach { case (id, kept) =>
      throw new Refusal(
        s"$where retains offsets of topics on cluster $id (${kept.topics.keys.mkString(", ")}), which Spark's source does not do. " +
          "--drop-retained gives them up"
      )
    }
    ids.headOption.getOrElse(throw new Refusal(s"$where has no cluster"))
  }

  // Free transactional ids of the sink, which belong to the original. It writes them when the query has already ended, so that they
  // may appear during a copy. The file system has a temporary file and a checksum beside each.
  private val Slot = "dynamic-kafka-sink/\\.{0,2}slot-\\w+\\.json.*"

  private def stamps(files: CheckpointFiles) = files.all().filterNot(_._1.matches(Slot))

  /** Beside the target first, and moved into place when it is complete. */
  private def copy(
      files: CheckpointFiles,
      names: Iterable[String],
      target: CheckpointFiles,
      texts: Map[String, String],
      checkUnchanged: => Unit
  ): Unit = {
    val temporary = target.beside(s".${target.name}.${UUID.randomUUID.toString.take(8)}.incomplete")
    try {
      temporary.create(files)
      names.foreach(files.copy(_, temporary))
      texts.foreach { case (name, text) =>
        temporary.write(name, text.getBytes(UTF_8), files.access(name))
        temporary.delete(CheckpointFiles.checksum(name))
      }
      checkUnchanged
      temporary.moveTo(target)
    } finally temporary.deleteAll()
  }

  private def isCopied(name: String, moved: Set[String]): Boolean = name.split('/') match {
    // Checksums of the file system would be those of the former entries.
    case Array("offsets" | SparkCheckpoint.Edits, _*) => false
    case Array("sources", source, _, _*) => !moved(source)
    case _ => true
  }

  /**
   * The metadata of operators in a copy. Operators with arbitrary state (`transformWithState`) name the files with the schemas of their
   * state by whole paths, in `state/<operator>/_metadata/v2/<batch>`, which would lead to the former checkpoint.
   *
   * @return what changes, by its path in the checkpoint, and paths that are not in the checkpoint, and stay
   */
  private def stateSchemas(
      files: CheckpointFiles,
      names: Iterable[String],
      target: CheckpointFiles
  ): (Map[String, String], Seq[String]) = {
    val elsewhere = Set.newBuilder[String]
    def moved(path: String): String = path match {
      case StatePath(folder, rest) if folder.matches("\\w+:.*") && files.isAt(folder) =>
        s"${target.root}/state/$rest"
      case _ =>
        elsewhere += path
        path
    }
    val changed = names.filter(_.matches("state/[^/]+/_metadata/v2/\\d+")).map { name =>
      try {
        val Array(version, content) = files.text(name).getOrElse("").split("\n", 2)
        val root = mapper.readTree(content).asInstanceOf[ObjectNode]
        root.required("stateStoreInfo").elements.asScala.foreach { store =>
          val paths = store.required("stateSchemaFilePaths").asInstanceOf[ArrayNode]
          (0 until paths.size).foreach(n => paths.set(n, TextNode.valueOf(moved(paths.get(n).textValue))))
        }
        name -> s"$version\n$root"
      } catch {
        case NonFatal(e) =>
          throw new Refusal(
            s"${files.location}/$name is not the metadata of an operator that Spark wrote",
            e
          )
      }
    }.toMap
    (changed, elsewhere.result().toSeq.sorted)
  }

  private val mapper = new ObjectMapper
  private val StatePath = "(?s)(.*)/state/(.*)".r
}
