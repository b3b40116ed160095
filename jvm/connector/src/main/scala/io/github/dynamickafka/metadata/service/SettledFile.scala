package io.github.dynamickafka.metadata.service

import java.io.{File, FileNotFoundException, IOException}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.attribute.BasicFileAttributes
import java.nio.file.{Files, Paths}
import java.util.concurrent.TimeUnit

import scala.annotation.tailrec
import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, LocalFileSystem, Path}

import io.github.dynamickafka.time.Clock

/**
 * Reads a small file that others rewrite, and never takes a half-written state of it for its content.
 *
 * Half of a YAML document can be a valid document that names fewer clusters. So what was written just now is
 * believed only when a second look, a moment later, finds nothing changed. A writer that never rests is told
 * apart: one that replaces the file again and again leaves a whole file each time, one that writes into it does not.
 */
private[metadata] final class SettledFile(location: String, conf: Configuration) {
  import SettledFile._

  private val path = pathOf(location)
  private var believed: Option[Array[Byte]] = None

  /**
   * @param parse may throw: that is final, since only settled content is parsed
   * @throws IOException the file can't be read, or does not settle
   */
  def read[A](parse: String => A): A = {
    val content = settled(Looks, None, replacements = 0)
    val result = parse(new String(content, UTF_8))
    believed = Some(content)
    result
  }

  /**
   * @param replacements how many looks found another file than the look before. Not in a row: a file system may give
   *                     the next file the identity of the one that has just gone
   */
  @tailrec private def settled(left: Int, before: Option[Look], replacements: Int): Array[Byte] = {
    val now = look()
    val replaced = now.exists(n => before.exists(n.replaces))
    now match {
      case Some(l) if l.steady && (l.old || before.exists(l.same) || believed.exists(l.has)) => l.content
      case Some(l) if replaced && replacements + 1 >= Replacements => l.content
      case None if believed.isEmpty || left == 0 => throw new FileNotFoundException(s"there is no file $path")
      case _ if left == 0 => throw new IOException(s"file $path is being rewritten all the time")
      case _ =>
        TimeUnit.MILLISECONDS.sleep(BetweenLooksMs)
        settled(left - 1, now, if (replaced) replacements + 1 else replacements)
    }
  }

  /** None: not there, as between the delete and the rename of a writer whose file system can't replace. */
  private def look(): Option[Look] =
    try {
      val fs = fileSystem()
      val before = stamp(fs)
      val in = fs.open(path)
      val content =
        try in.readAllBytes()
        finally in.close()
      Some(Look(content, before, stamp(fs)))
    } catch { case _: FileNotFoundException => None }

  private def stamp(fs: FileSystem): Stamp = {
    val identity = identityOf(path)
    val status = fs.getFileStatus(path)
    if (status.isDirectory) throw new IOException(s"$path is a directory")
    Stamp(status.getModificationTime, status.getLen, identity)
  }

  /** Not through the checksums that Hadoop keeps beside local files: other writers don't update them. */
  private def fileSystem(): FileSystem = path.getFileSystem(conf) match {
    case local: LocalFileSystem => local.getRawFileSystem
    case other => other
  }
}

private object SettledFile {
  private val Looks = 20
  private val BetweenLooksMs = 100L

  /** A file that was not touched for so long is not being written. */
  private val OldMs = 1000L

  /** An editor may put a new file in the old one's place and then write into it, but not so many times. */
  private val Replacements = 3

  /** @param identity which file it is under that name; None where the file system does not tell */
  private final case class Stamp(modified: Long, length: Long, identity: Option[AnyRef])

  private final case class Look(content: Array[Byte], before: Stamp, after: Stamp) {
    def steady: Boolean = before == after && content.length.toLong == after.length
    def old: Boolean = Clock.System.currentTimeMillis() - after.modified >= OldMs
    def has(other: Array[Byte]): Boolean = java.util.Arrays.equals(content, other)
    def same(earlier: Look): Boolean = after == earlier.after && has(earlier.content)
    def replaces(earlier: Look): Boolean =
      Seq(earlier.after, before, after).flatMap(_.identity).distinct.size > 1
  }

  /** A plain path is local whatever `fs.defaultFS` says: it stands beside the driver's program. */
  private def pathOf(location: String): Path = {
    val path = new Path(location)
    if (path.toUri.getScheme == null) new Path(new File(location).getAbsoluteFile.toURI) else path
  }

  private def identityOf(path: Path): Option[AnyRef] =
    if (path.toUri.getScheme != "file") None
    else
      Try(Files.readAttributes(Paths.get(path.toUri), classOf[BasicFileAttributes]).fileKey).toOption
        .flatMap(Option(_))
}
