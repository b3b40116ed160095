package io.github.dynamickafka.metadata.service

import java.io.{File, FileNotFoundException, IOException}
import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.charset.{CharacterCodingException, CodingErrorAction}
import java.nio.file.attribute.{BasicFileAttributes, PosixFileAttributeView}
import java.nio.file.{Files, NoSuchFileException, Path => LocalPath, Paths, StandardCopyOption}

import scala.annotation.tailrec
import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path, PathIsDirectoryException}

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.config.MetadataServiceSpecs
import io.github.dynamickafka.metadata.KafkaStream
import io.github.dynamickafka.metadata.document.{EditRefused, MetadataDocument}
import io.github.dynamickafka.storage.{AtomicFiles, LocalWrite}

/**
 * Reads the streams from a YAML or JSON file. Each call reads the file again, so that a change takes effect at the next
 * poll.
 *
 * The service waits while another process writes the file. Nevertheless, replace the file with a rename if the file
 * system supports it: a file whose writer stopped for a long time cannot be distinguished from a complete file.
 *
 * Failures of a call are `IOException`s and METADATA_INVALID.
 * A path without scheme is a local file, relative to the working directory of the driver.
 */
private[dynamickafka] final class FileMetadataService(arguments: ServiceArguments, hadoopConf: Configuration)
    extends DocumentMetadataService(arguments(MetadataServiceSpecs.TtlMs))
    with EditableService {

  private val path = arguments(MetadataServiceSpecs.Path)
  private val file = new SettledFile(path, hadoopConf, Clock.System)

  override protected def read(): Map[String, KafkaStream] = file.read(parse)

  private[dynamickafka] override def edit(change: String => String)
      : (Map[String, KafkaStream], Map[String, KafkaStream]) = {
    val (before, after) = file.edit { text =>
      val _ = parse(text)
      change(text)
    }
    forget()
    parse(before) -> parse(after)
  }

  private def parse(text: String) = MetadataDocument.parse(text, s"file $path")
}

private[dynamickafka] object FileMetadataService {

  /** The text of a file now, and the document with all its problems. */
  def check(path: String, hadoopConf: => Configuration): (String, MetadataDocument.Checked) =
    new SettledFile(path, hadoopConf, Clock.System).read(text => text -> MetadataDocument.check(text))
}

/**
 * Reads a small file that other processes rewrite, and never returns a partially written state of it.
 *
 * Half of a YAML document can be a valid document with fewer clusters. So a recently modified file is accepted only if
 * a second read after a pause returns the same content. What may be the document before without its end, or nothing at all,
 * is accepted only if it stays the same for a second, however old the file is by the clock of its file system: a writer may pause for
 * longer than that pause on a busy machine, and clusters that are missing are removed from queries. If the file is modified continuously, it is accepted only if
 * its writer replaces the file, which leaves a complete file each time, and not if its writer modifies the file in
 * place.
 */
private[metadata] final class SettledFile(location: String, conf: => Configuration, clock: Clock) {
  import SettledFile._

  /** A path without a scheme is local, regardless of `fs.defaultFS`. */
  private val path = {
    val named = new Path(location)
    if (named.toUri.getScheme == null) new Path(new File(location).getAbsoluteFile.toURI) else named
  }

  /**
   * A local file is read without Hadoop, whose start takes longer than a command that reads one file, and whose checksum files
   * other writers do not update.
   */
  private val local = Option.when(path.toUri.getScheme == "file")(Paths.get(path.toUri))
  private var believed: Option[Array[Byte]] = None

  /**
   * @param parse may throw, which is final, because only settled content is parsed
   * @throws IOException if the file cannot be read or does not settle
   */
  def read[A](parse: String => A): A = {
    val content = settled(Looks, None, same = 0, replacements = 0)
    val result = parse(new String(content, UTF_8))
    believed = Some(content)
    result
  }

  /**
   * @param same how many reads in succession found the same as the read before
   * @param replacements how many reads found a different file than the read before. They need not be consecutive,
   *                     because a file system may reuse the identity of a deleted file
   */
  @tailrec private def settled(
      left: Int,
      before: Option[Attempt],
      same: Int,
      replacements: Int
  ): Array[Byte] = {
    val now = attempt()
    val sameNow = if (now.exists(n => before.exists(n.same))) same + 1 else 0
    val replaced = now.exists(n => before.exists(n.replaces))
    now match {
      case Some(l) if settles(l, sameNow) => l.content
      case Some(l) if replaced && replacements + 1 >= Replacements => l.content
      case None if believed.isEmpty || left == 0 =>
        throw new FileNotFoundException(s"file ${local.getOrElse(path)} does not exist")
      case _ if left == 0 => throw new IOException(s"file $path is modified continuously")
      case _ =>
        clock.pauseMs(BetweenAttemptsMs)
        settled(left - 1, now, sameNow, if (replaced) replacements + 1 else replacements)
    }
  }

  private def settles(l: Attempt, same: Int): Boolean = {
    val mayBeCut = l.content.isEmpty || believed.exists(l.isBeginningOf)
    l.steady && (believed.exists(l.has) ||
      (if (mayBeCut) same >= SameIfCut
       else same >= 1 || clock.currentTimeMillis() - l.after.modified >= OldMs))
  }

  /** None if the file is absent, for example between delete and rename on a file system that cannot replace a file. */
  private def attempt(): Option[Attempt] =
    try {
      val before = stamp()
      Some(Attempt(content(), before, stamp()))
    } catch { case _: FileNotFoundException | _: NoSuchFileException => None }

  private def fs = path.getFileSystem(conf)

  private def content(): Array[Byte] =
    local.fold(Using.resource(fs.open(path))(_.readAllBytes()))(Files.readAllBytes)

  private def stamp(): Stamp = {
    def of(isDirectory: Boolean, stamp: Stamp) =
      if (isDirectory) throw new PathIsDirectoryException(path.toString) else stamp
    local match {
      case Some(file) =>
        val now = Files.readAttributes(file, classOf[BasicFileAttributes])
        of(now.isDirectory, Stamp(now.lastModifiedTime.toMillis, now.size, Option(now.fileKey)))
      case None =>
        val now = fs.getFileStatus(path)
        of(now.isDirectory, Stamp(now.getModificationTime, now.getLen, None))
    }
  }

  /**
   * Writes what the function makes of the text, unless that is the same text. The file is replaced as a whole, so that a query never
   * reads half of it. It keeps its permissions, its owner and group, and links to a local file stay links.
   *
   * @return the text before and after
   * @throws EditRefused if the file was changed meanwhile, or is not UTF-8
   */
  def edit(change: String => String): (String, String) = {
    val before = content()
    val text = decoded(before)
    val edited = change(text)
    if (edited != text)
      local.fold(replace(before, edited))(file => replace(file.toRealPath(), before, edited))
    text -> edited
  }

  private def decoded(content: Array[Byte]): String =
    try
      UTF_8.newDecoder().onMalformedInput(CodingErrorAction.REPORT)
        .onUnmappableCharacter(CodingErrorAction.REPORT).decode(ByteBuffer.wrap(content)).toString
    catch { case _: CharacterCodingException => throw new EditRefused("it is not UTF-8") }

  private def replace(before: Array[Byte], edited: String): Unit = {
    val status = fs.getFileStatus(path)
    refuseIfChanged(before)
    new AtomicFiles(path.getParent, conf).replace(path, edited)
    val own = fs.getFileStatus(path)
    if (own.getPermission != status.getPermission) fs.setPermission(path, status.getPermission)
    if (own.getOwner != status.getOwner || own.getGroup != status.getGroup)
      fs.setOwner(path, status.getOwner, status.getGroup)
  }

  private def replace(file: LocalPath, before: Array[Byte], edited: String): Unit = {
    // Other users may not read it before it has the rights of the file.
    val temporary = Files.createTempFile(file.getParent, s".${file.getFileName}.", "")
    LocalWrite.synced(temporary, edited.getBytes(UTF_8)) { temporary =>
      keepRights(file, temporary)
      refuseIfChanged(before)
      val _ = Files.move(temporary, file, StandardCopyOption.ATOMIC_MOVE)
    }
  }

  /** With another owner or mode, the user of a query could not read the file any more. */
  private def keepRights(file: LocalPath, temporary: LocalPath): Unit = {
    def of(path: LocalPath) = Option(Files.getFileAttributeView(path, classOf[PosixFileAttributeView]))
    for (from <- of(file); to <- of(temporary)) {
      val (wanted, own) = (from.readAttributes(), to.readAttributes())
      try {
        if (wanted.group != own.group) to.setGroup(wanted.group)
        if (wanted.owner != own.owner) to.setOwner(wanted.owner)
      } catch {
        case _: IOException => throw new EditRefused(
            s"it belongs to user '${wanted.owner}' and group '${wanted.group}', which this user cannot give a file to: " +
              "edit it as that user"
          )
      }
      to.setPermissions(wanted.permissions)
    }
  }

  private def refuseIfChanged(before: Array[Byte]): Unit =
    if (!java.util.Arrays.equals(before, content()))
      throw new EditRefused("it was changed meanwhile, run the command again")
}

private[service] object SettledFile {
  private val Looks = 20
  private val BetweenAttemptsMs = 100L

  /** A file that was not modified for this time is considered complete. */
  private val OldMs = 1000L

  /** The number of attempts within [[OldMs]], by the clock of this process. */
  private val SameIfCut = (OldMs / BetweenAttemptsMs).toInt

  /** An editor may replace the file and then write into it, but not this often. */
  private val Replacements = 3

  /** @param identity the identity of the file with this name; None if the file system does not provide it */
  private final case class Stamp(modified: Long, length: Long, identity: Option[AnyRef])

  private final case class Attempt(content: Array[Byte], before: Stamp, after: Stamp) {
    def steady: Boolean = before == after && content.length.toLong == after.length
    def has(other: Array[Byte]): Boolean = java.util.Arrays.equals(content, other)
    def isBeginningOf(other: Array[Byte]): Boolean =
      content.length < other.length &&
        java.util.Arrays.equals(content, 0, content.length, other, 0, content.length)
    def same(earlier: Attempt): Boolean = after == earlier.after && has(earlier.content)
    def replaces(earlier: Attempt): Boolean =
      Seq(earlier.after, before, after).flatMap(_.identity).distinct.size > 1
  }
}
