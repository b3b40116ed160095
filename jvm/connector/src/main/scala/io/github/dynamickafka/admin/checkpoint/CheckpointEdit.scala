package io.github.dynamickafka.admin.checkpoint

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import java.util.HexFormat

import scala.util.{Try, Using}

import com.fasterxml.jackson.databind.node.ObjectNode
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{ChecksumFileSystem, Path}

import io.github.dynamickafka.storage.AtomicFiles

/**
 * An edit of one file of a checkpoint, in a journal that the command `restore` reads: a folder `dynamic-kafka-edits/<n>` with what the
 * file was. It is complete before the file changes, and `done` marks that it has changed. Python's `edits.py` does the same.
 */
private[admin] final class CheckpointEdit(location: String, hadoop: Configuration) {
  import CheckpointEdit._

  private val root = new Path(location)

  // Checksums of Hadoop's local file system would be those of the former content.
  private val (fs, isLocal) = root.getFileSystem(hadoop) match {
    case checked: ChecksumFileSystem => (checked.getRawFileSystem, true)
    case other => (other, false)
  }
  private val journal = new Path(root, Folder)

  /** @throws Refusal if an edit was interrupted */
  def refuseInterrupted(): Unit = newest.foreach { record =>
    val description = Try(mapper.readTree(new String(read(new Path(record, Record)), UTF_8))).toOption
    val command = description.filter(_.path("version").asInt == Version).map(_.path("command").asText)
      .getOrElse(throw new Refusal(s"$record is not an edit that this program wrote"))
    if (!fs.exists(new Path(record, Done))) throw new Refusal(
      s"an edit of $location ($command) was interrupted, or its undoing: run 'restore' first"
    )
  }

  /**
   * Changes a file, after it has stored what the file was.
   *
   * @param command the command that does the same
   * @param name the path in the checkpoint
   * @param before the text that the change was planned with
   * @param unchanged whether the checkpoint is still what the change was planned with
   * @throws Refusal if it is not
   */
  def apply(
      command: String,
      user: String,
      batch: Long,
      name: String,
      before: String,
      after: String,
      unchanged: => Boolean
  ): Unit = {
    val file = new Path(root, name)
    val checksum = new Path(file.getParent, s".${file.getName}.crc")
    val sum = Option.when(isLocal && fs.exists(checksum))(
      s"${name.stripSuffix(file.getName)}${checksum.getName}" -> read(checksum)
    )
    val number = newest.fold(1L)(_.getName.toLong + 1)
    val (record, temporary) = (new Path(journal, number.toString), new Path(journal, s".$number.incomplete"))
    fs.delete(temporary, true)
    (sum.toSeq :+ (name -> before.getBytes(UTF_8))).foreach { case (path, content) =>
      write(new Path(new Path(temporary, Before), path), content)
    }
    val description = mapper.createObjectNode().put("version", Version).put("command", command)
      .put("batch", batch).put("by", user).put("at_ms", System.currentTimeMillis())
    val files = description.putObject("files")
    put(files, name, Some(before.getBytes(UTF_8)), Some(after.getBytes(UTF_8)))
    sum.foreach { case (path, content) => put(files, path, Some(content), None) }
    write(new Path(temporary, Record), mapper.writeValueAsBytes(description))
    if (!unchanged || !java.util.Arrays.equals(read(file), before.getBytes(UTF_8))) {
      fs.delete(temporary, true)
      throw new Refusal(s"$location has changed meanwhile: stop its query first")
    }
    if (!fs.rename(temporary, record)) throw new Refusal(s"$temporary cannot be renamed to $record")
    // A file without a checksum is not checked.
    sum.foreach { case (_, _) => fs.delete(checksum, false) }
    replace(file, after)
    write(new Path(record, Done), Array.empty)
  }

  private def newest: Option[Path] =
    if (!fs.exists(journal)) None
    else fs.listStatus(journal).map(_.getPath).filter(_.getName.matches("\\d{1,18}"))
      .maxByOption(_.getName.toLong)

  private def put(
      files: ObjectNode,
      name: String,
      before: Option[Array[Byte]],
      after: Option[Array[Byte]]
  ): Unit = {
    val of = files.putObject(name)
    Seq(Before -> before, "after" -> after).foreach { case (key, content) =>
      val digest: JsonNode = content.fold[JsonNode](of.nullNode())(c => of.textNode(sha256(c)))
      of.set[JsonNode](key, digest)
    }
  }

  private def read(path: Path): Array[Byte] = Using.resource(fs.open(path))(_.readAllBytes())

  private def write(path: Path, content: Array[Byte]): Unit =
    Using.resource(fs.create(path, true)) { out =>
      out.write(content)
      out.hsync()
    }

  /** At once: a start of the query reads the former text or this one. */
  private def replace(file: Path, text: String): Unit =
    if (isLocal) {
      val temporary = new Path(file.getParent, s".${file.getName}.edited.tmp")
      write(temporary, text.getBytes(UTF_8))
      if (!fs.rename(temporary, file)) throw new Refusal(s"$temporary cannot be renamed to $file")
    } else new AtomicFiles(root, hadoop).replace(file, text)
}

private[admin] object CheckpointEdit {
  private val Folder = "dynamic-kafka-edits"
  private val Version = 1
  private val Record = "edit.json"
  private val Before = "before"
  private val Done = "done"
  private val mapper = new ObjectMapper

  private def sha256(content: Array[Byte]): String =
    HexFormat.of.formatHex(MessageDigest.getInstance("SHA-256").digest(content))
}
