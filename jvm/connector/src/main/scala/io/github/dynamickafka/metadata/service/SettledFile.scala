package io.github.dynamickafka.metadata.service

import java.io.{File, FileNotFoundException, IOException}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.attribute.BasicFileAttributes
import java.nio.file.{Files, NoSuchFileException, Paths}

import scala.annotation.tailrec
import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path, PathIsDirectoryException}

import io.github.dynamickafka.time.Clock

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

  private val path = pathOf(location)

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
      case Some(l) if l.steady && (believed.exists(l.has) || sameNow >= enough(l) || isOld(l)) => l.content
      case Some(l) if replaced && replacements + 1 >= Replacements => l.content
      case None if believed.isEmpty || left == 0 =>
        throw new FileNotFoundException(s"file $path does not exist")
      case _ if left == 0 => throw new IOException(s"file $path is modified continuously")
      case _ =>
        clock.pauseMs(BetweenAttemptsMs)
        settled(left - 1, now, sameNow, if (replaced) replacements + 1 else replacements)
    }
  }

  private def enough(l: Attempt): Int = if (mayBeCut(l)) SameIfCut else 1

  private def mayBeCut(l: Attempt): Boolean = l.content.isEmpty || believed.exists(l.isBeginningOf)

  private def isOld(l: Attempt): Boolean =
    !mayBeCut(l) && clock.currentTimeMillis() - l.after.modified >= OldMs

  /** None if the file is absent, for example between delete and rename on a file system that cannot replace a file. */
  private def attempt(): Option[Attempt] =
    try {
      val before = stamp()
      Some(Attempt(content(), before, stamp()))
    } catch { case _: FileNotFoundException | _: NoSuchFileException => None }

  private def content(): Array[Byte] =
    local.fold(Using.resource(path.getFileSystem(conf).open(path))(_.readAllBytes()))(Files.readAllBytes)

  private def stamp(): Stamp = {
    val (isDirectory, stamp) = local match {
      case Some(file) =>
        val now = Files.readAttributes(file, classOf[BasicFileAttributes])
        now.isDirectory -> Stamp(now.lastModifiedTime.toMillis, now.size, Option(now.fileKey))
      case None =>
        val now = path.getFileSystem(conf).getFileStatus(path)
        now.isDirectory -> Stamp(now.getModificationTime, now.getLen, None)
    }
    if (isDirectory) throw new PathIsDirectoryException(path.toString)
    stamp
  }
}

private[service] object SettledFile {
  private val Looks = 20
  private val BetweenAttemptsMs = 100L

  /** A file that was not modified for this time is considered complete. */
  private val OldMs = 1000L

  /** As long as [[OldMs]], by the clock of this process. */
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

  /** A path without scheme is local, regardless of `fs.defaultFS`. */
  def pathOf(location: String): Path = {
    val path = new Path(location)
    if (path.toUri.getScheme == null) new Path(new File(location).getAbsoluteFile.toURI) else path
  }
}
