package io.github.dynamickafka.admin.checkpoint

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

import io.github.dynamickafka.source.checkpoint.{LoggedBatch, Refusal, SourceId, SparkCheckpoint}
import io.github.dynamickafka.offset.{CompositeOffset, CompositeOffsetJson, Positions}

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
    new CheckpointEdit(files).refuseInterrupted()
    def changed(cause: Throwable) =
      throw new Refusal(s"$checkpoint has changed while it was copied: stop its query first", cause)
    try {
      val before = stamps(files)
      val found = plan(files, log)
      val schemas = stateSchemas(files, before.keys, target)
      if (!dryRun) copy(files, before, target, found, schemas, if (stamps(files) != before) changed(null))
      found.copy(notes =
        found.notes ++ schemas.elsewhere.map(path =>
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
    def composite(source: SourceId, positions: Positions) =
      CompositeOffset(SortedMap(clusters(source) -> positions)).json
    val logs = log.logged.map { number =>
      val batch = log.batch(number)
      val read = found.flatMap { case (source, _) =>
        batch.offsets.collectFirst { case (`source`, Some(text)) => text }.flatMap(LoggedBatch.kafka).map(
          source -> _
        )
      }
      val all = if (number == newest.number) found else read
      number -> batch.text(all.map { case (source, of) => source -> composite(source, of) }.toMap)
    }
    Migration(
      newest.number,
      found.map { case (source, of) => MovedSource(source, clusters(source), of) },
      logs.toMap
    )
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
    val logs = log.logged.map { number =>
      val batch = log.batch(number)
      // Spark takes only the number of sources from earlier batches.
      val changed = for {
        of <- moved
        text <- batch.offsets.collectFirst { case (of.source, Some(text)) => text }
        if LoggedBatch.isComposite(text)
      } yield of.source -> CompositeOffsetJson.writePositions(
        CompositeOffsetJson.read(text).position(of.cluster)
      )
      number -> batch.text(changed.toMap)
    }
    Migration(newest.number, moved, logs.toMap, notes.flatten)
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
      before: SortedMap[String, CheckpointFiles.Stamp],
      target: CheckpointFiles,
      found: Migration,
      schemas: StateSchemas,
      checkUnchanged: => Unit
  ): Unit = {
    val temporary = target.beside(s".${target.name}.${UUID.randomUUID.toString.take(8)}.incomplete")
    try {
      temporary.create(files)
      before.keys.filter(isCopied(_, found.sources.map(_.source.name).toSet)).foreach(
        files.copy(_, temporary)
      )
      def write(name: String, text: String): Unit =
        temporary.write(name, text.getBytes(UTF_8), files.access(name))
      found.logs.foreach { case (number, text) => write(s"offsets/$number", text) }
      schemas.files.foreach { case (name, text) =>
        write(name, text)
        val at = name.lastIndexOf('/') + 1
        temporary.delete(s"${name.take(at)}.${name.drop(at)}.crc")
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
   * @param files what changes, by its path in the checkpoint
   * @param elsewhere paths that are not in the checkpoint, and stay
   */
  private final case class StateSchemas(files: Map[String, String], elsewhere: Seq[String])

  private val mapper = new ObjectMapper
  private val StatePath = "(?s)(.*)/state/(.*)".r

  private def stateSchemas(
      files: CheckpointFiles,
      names: Iterable[String],
      target: CheckpointFiles
  ): StateSchemas = {
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
    StateSchemas(changed, elsewhere.result().toSeq.sorted)
  }
}
