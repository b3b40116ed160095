package io.github.dynamickafka.storage

import java.io.FileNotFoundException
import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID

import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{
  FileAlreadyExistsException,
  FileContext,
  FileSystem,
  Options,
  Path,
  UnsupportedFileSystemException
}

/**
 * Writes files atomically: under a temporary name, then renamed, as Spark writes the files of a checkpoint.
 */
private[dynamickafka] final class AtomicFiles(fs: FileSystem, hadoop: Configuration) {

  // Its rename fails if the target exists; that of FileSystem does not on every file system (HADOOP-13786 for S3A).
  private lazy val context: Option[FileContext] =
    try Some(FileContext.getFileContext(fs.getUri, hadoop))
    catch { case _: UnsupportedFileSystemException => None }

  /** @throws FileAlreadyExistsException if the file exists, which is then unchanged */
  def create(path: Path, text: String): Unit = write(path, text, overwrite = false)

  def replace(path: Path, text: String): Unit = write(path, text, overwrite = true)

  def read(path: Path): Option[String] =
    try Some(Using.resource(fs.open(path))(in => new String(in.readAllBytes(), UTF_8)))
    catch { case _: FileNotFoundException => None }

  private def write(path: Path, text: String, overwrite: Boolean): Unit = {
    val part = new Path(path.getParent, s".${path.getName}.${UUID.randomUUID()}.tmp")
    try {
      Using.resource(fs.create(part, true)) { out =>
        out.write(text.getBytes(UTF_8))
        // Must be durable before the rename.
        out.hsync()
      }
      rename(part, path, overwrite)
    } finally {
      val _ = fs.delete(part, false)
    }
  }

  private def rename(from: Path, to: Path, overwrite: Boolean): Unit = context match {
    case Some(c) => c.rename(from, to, if (overwrite) Options.Rename.OVERWRITE else Options.Rename.NONE)
    case None =>
      if (overwrite) fs.delete(to, false)
      if ((!overwrite && fs.exists(to)) || !fs.rename(from, to))
        throw new FileAlreadyExistsException(s"$to already exists")
  }
}
