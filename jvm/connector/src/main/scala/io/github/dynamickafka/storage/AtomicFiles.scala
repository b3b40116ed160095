package io.github.dynamickafka.storage

import java.io.{FileNotFoundException, IOException}
import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileAlreadyExistsException, FileStatus, Path}
import org.slf4j.LoggerFactory

/**
 * The files of source and sink in a checkpoint. Each is written as a whole or not at all, by the file manager with which
 * Spark writes its part of the checkpoint, or by a conditional write where the store has one. What was written counts
 * after it was read back. Which store refuses two writers of one file is in docs/sink.md.
 *
 * Thread-safe.
 *
 * @param folder any folder of the checkpoint
 * @param hadoop the configuration of the session: [[SessionConfiguration]]
 */
private[dynamickafka] final class AtomicFiles(folder: Path, hadoop: Configuration) {
  private val log = LoggerFactory.getLogger(classOf[AtomicFiles])
  private val manager = SparkFileManager.of(folder, hadoop)
  private val managed = new ManagedWrite(manager)
  private val newFile = NewFile.in(folder, hadoop, manager)

  /**
   * Writes a file that does not exist.
   *
   * @throws FileAlreadyExistsException if the file exists, or has another content when it is read back, because another
   *                                    process has written or deleted it at the same time: it is that of the other process
   * @throws IOException if writing or reading back fails. The file may have been written nevertheless
   */
  def create(path: Path, text: String): Unit = {
    try newFile.write(path, text.getBytes(UTF_8))
    catch {
      case e: FileAlreadyExistsException => throw e
      case e: IOException =>
        // The error may have come after the effect, and not every store names a file that is in the way.
        read(path) match {
          case Some(`text`) => log.warn(s"$path was written despite an error", e)
          case Some(_) => throw exists(s"$path already exists: ${e.getMessage}", e)
          case None => throw e
        }
    }
    read(path) match {
      case Some(`text`) => ()
      case Some(_) => throw exists(s"$path was overwritten by another process right after it was written")
      case None => throw exists(s"$path was deleted by another process right after it was written")
    }
  }

  /** Writes a file, whether or not it exists. */
  def replace(path: Path, text: String): Unit = {
    def write() = managed.replace(path, text.getBytes(UTF_8))
    try write()
    catch {
      case e: IOException if !e.isInstanceOf[FileAlreadyExistsException] && !has(path, text) => throw e
    }
    if (!has(path, text)) {
      // Where a rename does not replace a file, Spark's file manager keeps the former one and reports no error.
      delete(path)
      write()
      if (!has(path, text)) throw new IOException(s"$path was written, but has another content")
    }
  }

  def read(path: Path): Option[String] =
    try Some(Using.resource(manager.open(path))(in => new String(in.readAllBytes(), UTF_8)))
    catch { case _: FileNotFoundException => None }

  def exists(path: Path): Boolean = manager.exists(path)

  /** What a folder contains; empty if there is none. */
  def list(path: Path): Seq[FileStatus] =
    try manager.list(path).toSeq
    catch { case _: FileNotFoundException => Nil }

  /** The names in a folder; empty if there is none. */
  def names(path: Path): Seq[String] = list(path).map(_.getPath.getName)

  /** Deletes a file, or a folder with its content, if it exists. */
  def delete(path: Path): Unit = manager.delete(path)

  private def has(path: Path, text: String): Boolean = read(path).contains(text)

  private def exists(message: String, cause: Throwable = null): FileAlreadyExistsException = {
    val e = new FileAlreadyExistsException(message)
    if (cause != null) e.initCause(cause)
    e
  }
}
