package io.github.dynamickafka.storage

import java.io.{FileNotFoundException, IOException}
import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataOutputStream, FileAlreadyExistsException, FileStatus, FileSystem, Path}
import org.apache.spark.sql.SparkSession
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

  /**
   * Writes a file that only this query writes.
   *
   * @throws IOException if another one has written it, and as [[create]]
   */
  def createOwn(path: Path, text: String): Unit =
    try create(path, text)
    catch {
      case e: FileAlreadyExistsException =>
        throw new IOException(
          s"could not write $path: the file exists, so another query uses this checkpoint",
          e
        )
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

/** How a file is written that does not exist yet. */
private[storage] trait NewFile {

  /**
   * Writes a file as a whole or not at all.
   *
   * @throws java.io.IOException if the file exists, which is then unchanged, and if writing fails
   */
  def write(path: Path, content: Array[Byte]): Unit
}

private[storage] object NewFile {

  /** What Spark reads from the configuration of the session: the class of its file manager. */
  private val ManagerClass = "spark.sql.streaming.checkpointFileManagerClass"

  /** A conditional write where the store has it, unless the user has chosen how files are written. */
  def in(folder: Path, hadoop: Configuration, manager: SparkFileManager.Of): NewFile = {
    lazy val fs = folder.getFileSystem(hadoop)
    if (hadoop.get(ManagerClass) == null && fs.hasPathCapability(folder, ConditionalWrite.Capability))
      new ConditionalWrite(fs)
    else new ManagedWrite(manager)
  }
}

/**
 * By Spark's file manager. Those that come with Spark write a temporary file and rename it, which fails if the target exists on
 * HDFS and ABFS, and looks for the target before that elsewhere: then two writers at the same time may both succeed.
 */
private[storage] final class ManagedWrite(manager: SparkFileManager.Of) extends NewFile {
  private var made = Set.empty[Path]

  override def write(path: Path, content: Array[Byte]): Unit = {
    // Spark's file managers find it as well, but leave their temporary file then.
    if (manager.exists(path)) throw new FileAlreadyExistsException(s"$path already exists")
    write(path, content, overwrite = false)
  }

  def replace(path: Path, content: Array[Byte]): Unit = write(path, content, overwrite = true)

  private def write(path: Path, content: Array[Byte], overwrite: Boolean): Unit = {
    val out = open(path, overwrite)
    try {
      out.write(content)
      sync(out)
      out.close()
    } catch {
      case e: Throwable =>
        // Has no effect on a stream that was closed.
        out.cancel()
        throw e
    }
  }

  /** The content must be durable before the file has its name. */
  private def sync(out: FSDataOutputStream): Unit =
    try out.hsync()
    catch {
      // An object store, where a file is durable when it is closed.
      case _: UnsupportedOperationException => ()
    }

  private def open(path: Path, overwrite: Boolean): SparkFileManager.Stream = {
    val folder = path.getParent
    if (!synchronized(made(folder))) makeFolder(folder)
    try manager.createAtomic(path, overwrite)
    catch {
      case _: FileNotFoundException =>
        // It was deleted since.
        makeFolder(folder)
        manager.createAtomic(path, overwrite)
    }
  }

  /** Not every file manager creates the folder of a file. */
  private def makeFolder(folder: Path): Unit = {
    manager.mkdirs(folder)
    synchronized(made += folder)
  }
}

/** The store compares when it writes, so that only one of several writers succeeds: S3A since Hadoop 3.4.2. */
private[storage] final class ConditionalWrite(fs: FileSystem) extends NewFile {

  override def write(path: Path, content: Array[Byte]): Unit = {
    val out: FSDataOutputStream = fs.createFile(path).must(ConditionalWrite.Capability, true).build()
    try out.write(content)
    catch {
      case e: Throwable =>
        // Closing would write what the stream has so far.
        val _ = out.abort()
        throw e
    }
    out.close()
  }
}

private[storage] object ConditionalWrite {

  /** `Options.CreateFileOptionKeys`, which Hadoop 3.4.1 of Spark 4.0 does not have. */
  val Capability = "fs.option.create.conditional.overwrite"
}

/**
 * The Hadoop configuration with which Spark accesses a checkpoint: that of the application and all settings of the session,
 * among them `spark.sql.streaming.checkpointFileManagerClass`.
 */
private[dynamickafka] object SessionConfiguration {

  def of(session: SparkSession): Configuration = {
    val own = new Configuration(session.sparkContext.hadoopConfiguration)
    session.conf.getAll.foreach { case (name, value) => if (value != null) own.set(name, value) }
    own
  }
}
