package io.github.dynamickafka.admin

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays

import scala.collection.immutable.SortedMap
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.commons.codec.digest.DigestUtils.sha256Hex

import io.github.dynamickafka.base.Json
import io.github.dynamickafka.source.checkpoint.{LoggedBatch, Refusal, SparkCheckpoint}

/**
 * Edits of a checkpoint in place, each of which can be undone. An edit is a folder `dynamic-kafka-edits/<time>` with what the files were,
 * complete as soon as `edit.json` is there, before the first file changes; `done` marks that the last one has changed. Files keep their
 * mode and their owner.
 */
private[admin] final class CheckpointEdit(val log: SparkCheckpoint, val files: CheckpointFiles) {
  import CheckpointEdit._

  /**
   * The newest batch.
   *
   * @throws Refusal if it is not finished, or another edit is not complete
   */
  def begin(): LoggedBatch = {
    refuseInterrupted()
    log.newestFinished()
  }

  def refuseInterrupted(): Unit = newest.filterNot(_.isDone).foreach { edit =>
    throw new Refusal(
      s"an edit of ${files.location} (${edit.command}) was interrupted, or its undoing: run 'restore' first"
    )
  }

  /**
   * Changes files, after it has stored what they were. The offset log is changed last.
   *
   * @param command the command that does the same
   * @param batch the newest one, with which the change was planned
   * @param changes what the change was planned with and what a file becomes, by its path in the checkpoint
   * @throws Refusal if the checkpoint is not what the change was planned with any more
   */
  def apply(
      command: String,
      user: String,
      batch: Long,
      changes: SortedMap[String, (String, String)]
  ): Unit = {
    // A checksum of the file system would be that of the former content.
    val sums =
      changes.keys.map(CheckpointFiles.checksum).flatMap(sum => files.read(sum).map(sum -> _)).toMap
    val before = changes.map { case (name, (text, _)) => name -> text.getBytes(UTF_8) } ++ sums
    val after = changes.map { case (name, (_, text)) => name -> Option(text.getBytes(UTF_8)) } ++
      sums.map { case (name, _) => name -> None }
    val access = before.map { case (name, _) => name -> files.access(name) }
    // A query that runs notices an edit by its number, also after others were undone: none is used again.
    val folder = s"$Folder/${newest.fold(0L)(_.number + 1).max(System.currentTimeMillis())}"
    def record() = {
      before.foreach { case (name, content) =>
        files.write(s"$folder/$Before/$name", content, access(name))
      }
      if (
        log.logged.last != batch || before.exists { case (name, content) =>
          !files.read(name).exists(Arrays.equals(_, content))
        }
      )
        throw new Refusal(s"${files.location} has changed meanwhile: stop its query first")
      files.replace(s"$folder/$Record", description(command, user, batch, before, after))
    }
    // Left by a command that was interrupted before the edit was complete.
    files.names(Folder).filterNot(n => files.exists(s"$Folder/$n/$Record")).foreach(n =>
      files.delete(s"$Folder/$n")
    )
    try record()
    catch {
      case NonFatal(e) =>
        files.delete(folder)
        deleteIfEmpty()
        throw e
    }
    inOrder(after.keys).foreach(name =>
      after(name).fold(files.delete(name))(files.replace(name, _, access(name)))
    )
    files.write(s"$folder/$Done", Array.empty)
  }

  /**
   * Undoes the newest edit.
   *
   * @throws Refusal if there is none, or the query has run since, or its newest batch is not finished
   */
  def restore(): Edit = {
    val last =
      newest.getOrElse(throw new Refusal(s"there is no edit of ${files.location} that can be undone"))
    def refuse(why: String) =
      throw new Refusal(s"the edit of ${files.location} (${last.command}) cannot be undone: $why")
    val batch = log.logged.last
    if (batch != last.batch) refuse(
      s"it was made after batch ${last.batch}, and the query has logged batch $batch since"
    )
    log.newestFinished()
    val before = last.files.map { case (name, digests) =>
      val content = files.read(s"${last.folder}/$Before/$name")
      if (content.map(sha256Hex(_)) != digests.before) refuse(s"'$Before/$name' in ${last.folder} is damaged")
      if (files.read(name).map(sha256Hex(_)).exists(now => !digests.has(now)) && !name.endsWith(s"/$Latest"))
        refuse(s"$name has changed since")
      name -> content
    }
    // From here on the edit counts as interrupted, until it is gone.
    files.delete(s"${last.folder}/$Done")
    inOrder(before.keys).reverse.foreach { name =>
      before(name).fold(files.delete(name))(files.replace(
        name,
        _,
        files.access(s"${last.folder}/$Before/$name")
      ))
    }
    files.delete(s"${last.folder}/$Record")
    files.delete(last.folder)
    deleteIfEmpty()
    last
  }

  /**
   * The newest edit that was not undone.
   *
   * @throws Refusal if its description cannot be read, or names a file that no edit changes
   */
  private def newest: Option[Edit] = files.names(Folder).filter(_.matches("\\d{1,18}")).map(_.toLong)
    .filter(n => files.exists(s"$Folder/$n/$Record")).maxOption.map { number =>
      val record = s"$Folder/$number"
      try read(number, mapper.readTree(files.read(s"$record/$Record").get))
      catch {
        case NonFatal(e) =>
          throw new Refusal(s"${files.location}/$record is not an edit that this program wrote", e)
      }
    }

  private def read(number: Long, root: JsonNode): Edit = {
    def digest(node: JsonNode) = Option(node).filterNot(_.isNull).map { text =>
      require(text.isTextual)
      text.textValue
    }
    require(root.path("version").isInt && root.path("version").intValue == Version)
    require(root.path("command").isTextual && root.path("batch").isIntegralNumber)
    val changed = root.required("files").properties.asScala.map { entry =>
      require(isChanged(entry.getKey))
      entry.getKey -> Digests(digest(entry.getValue.get(Before)), digest(entry.getValue.get(After)))
    }
    Edit(
      number,
      root.get("command").textValue,
      root.get("batch").longValue,
      SortedMap.from(changed),
      files.exists(s"$Folder/$number/$Done")
    )
  }

  private def description(
      command: String,
      user: String,
      batch: Long,
      before: Map[String, Array[Byte]],
      after: Map[String, Option[Array[Byte]]]
  ): Array[Byte] = Json.write(Json.fields(
    "version" -> Version,
    "command" -> command,
    "batch" -> batch,
    "by" -> user,
    "at_ms" -> System.currentTimeMillis(),
    "files" -> before.map { case (name, content) =>
      name -> Json.fields(Before -> sha256Hex(content), After -> after(name).map(sha256Hex(_)))
    }
  )).getBytes(UTF_8)

  private def deleteIfEmpty(): Unit = if (files.names(Folder).isEmpty) files.delete(Folder)
}

private[admin] object CheckpointEdit {

  /** Edits of a checkpoint that has neither a link nor a file outside of it. */
  def apply(context: Context, checkpoint: String): CheckpointEdit = {
    val log = SparkCheckpoint(checkpoint, context.hadoop)
    log.logged
    val files = new CheckpointFiles(checkpoint, context.hadoop)
    files.all()
    new CheckpointEdit(log, files)
  }

  private val Folder = SparkCheckpoint.Edits
  private val Version = 1
  private val Record = "edit.json"
  private val Before = "before"
  private val After = "after"
  private val Done = "done"

  /** The file that a start of the query deletes, and a stop writes again, without a batch in between. */
  private val Latest = "latest.json"
  private val mapper = new ObjectMapper

  /** @param files what changed, by its path in the checkpoint; `isDone` if all of them were */
  final case class Edit(
      number: Long,
      command: String,
      batch: Long,
      files: SortedMap[String, Digests],
      isDone: Boolean
  ) {
    def folder: String = s"$Folder/$number"

    /** The paths of the files, without checksums of the file system. */
    def names: Seq[String] = files.keys.toSeq.filterNot(CheckpointFiles.isChecksum)
  }

  /** SHA-256 of a file before and after; None: there was no file. */
  final case class Digests(before: Option[String], after: Option[String]) {
    def has(now: String): Boolean = before.contains(now) || after.contains(now)
  }

  /** Edits change the offset log, and what source and sink keep in a checkpoint. */
  private def isChanged(name: String): Boolean =
    name.matches("(offsets|dynamic-kafka-sink)/[^/]+|sources/[^/]+/dynamic-kafka/([^/]+/)?[^/]+") &&
      !name.split('/').exists(part => part == "." || part == "..")

  /** The offset log last, and checksums before their files: a file without a checksum is not checked. */
  private def inOrder(names: Iterable[String]): Seq[String] =
    names.toSeq.sortBy(name => (name.startsWith("offsets/"), !CheckpointFiles.isChecksum(name), name))
}
