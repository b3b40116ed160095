package io.github.dynamickafka.storage

import java.io.{FileNotFoundException, FileOutputStream, IOException}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{
  FileAlreadyExistsException => LocalFileExistsException,
  FileSystemException,
  Files,
  Path => LocalPath,
  StandardCopyOption
}
import java.util.UUID

import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.local.LocalFs
import org.apache.hadoop.fs.{
  FSDataOutputStream,
  FileAlreadyExistsException,
  FileStatus,
  FileSystem,
  LocalFileSystem,
  Path
}
import org.apache.spark.sql.SparkSession
import org.slf4j.LoggerFactory

/**
 * The files of source and sink in a checkpoint. Each is written as a whole or not at all, by the file manager with which
 * Spark writes its part of the checkpoint, by a conditional write where the store has one, or by a link in a local folder. What was
 * written counts after it was read back. Which store refuses two writers of one file is in docs/sink.md.
 *
 * Thread-safe.
 *
 * @param folder any folder of the checkpoint
 * @param hadoop the configuration of the session: [[SessionConfiguration]]
 */
private[dynamickafka] final class AtomicFiles(folder: Path, hadoop: Configuration) {
  private val log = LoggerFactory.getLogger(classOf[AtomicFiles])
  private val manager = SparkFileManager.of(folder, hadoop)
  private val writes = AtomicWrite.in(folder, hadoop, manager)

  /**
   * Writes a file that does not exist.
   *
   * @throws FileAlreadyExistsException if the file exists, or has another content when it is read back, because another
   *                                    process has written or deleted it at the same time: it is that of the other process
   * @throws IOException if writing or reading back fails. The file may have been written nevertheless
   */
  def create(path: Path, text: String): Unit = {
    try writes.create(path, text.getBytes(UTF_8))
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
    def write() = writes.replace(path, text.getBytes(UTF_8))
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

/** How a file is written as a whole or not at all. */
private[storage] trait AtomicWrite {

  /** @throws java.io.IOException if the file exists, which is then unchanged, and if writing fails */
  def create(path: Path, content: Array[Byte]): Unit

  def replace(path: Path, content: Array[Byte]): Unit
}

private[storage] object AtomicWrite {

  /** What Spark reads from the configuration of the session: the class of its file manager. */
  private val ManagerClass = "spark.sql.streaming.checkpointFileManagerClass"

  /** A write of which a second writer fails, where the store has it, unless the user has chosen how files are written. */
  def in(folder: Path, hadoop: Configuration, manager: SparkFileManager.Of): AtomicWrite = {
    def managed = new ManagedWrite(manager)
    if (hadoop.get(ManagerClass) != null) managed
    else
      folder.getFileSystem(hadoop) match {
        case fs: LocalFileSystem if isHadoops(hadoop) =>
          new LocalWrite(fs, Files.createLink(_, _))
        case fs if fs.hasPathCapability(folder, ConditionalWrite.Capability) =>
          new ConditionalWrite(fs, manager)
        case _ => managed
      }
  }

  /** Whether local files are those of Hadoop's own classes, by the configuration: file systems of other ones are in a cache. */
  private def isHadoops(hadoop: Configuration) =
    Seq("fs.file.impl" -> classOf[LocalFileSystem], "fs.AbstractFileSystem.file.impl" -> classOf[LocalFs])
      .forall { case (name, own) => hadoop.get(name, own.getName) == own.getName }
}

/**
 * By Spark's file manager. Those that come with Spark write a temporary file and rename it, which fails if the target exists on
 * HDFS and ABFS, and looks for the target before that elsewhere: then two writers at the same time may both succeed.
 */
private[storage] sealed class ManagedWrite(manager: SparkFileManager.Of) extends AtomicWrite {
  private var made = Set.empty[Path]

  override def create(path: Path, content: Array[Byte]): Unit = {
    // Spark's file managers find it as well, but leave their temporary file then.
    if (manager.exists(path)) throw new FileAlreadyExistsException(s"$path already exists")
    write(path, content, overwrite = false)
  }

  override def replace(path: Path, content: Array[Byte]): Unit = write(path, content, overwrite = true)

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
        // The folder was deleted since.
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
private[storage] final class ConditionalWrite(fs: FileSystem, manager: SparkFileManager.Of)
    extends ManagedWrite(manager) {

  override def create(path: Path, content: Array[Byte]): Unit = {
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
 * By the operating system: of several links of one name, one succeeds. Hadoop's local file system starts a process for each file and
 * folder, to set its mode, if it has no native library.
 *
 * @param link gives a file, the second one, another name, unless the name exists
 */
private[storage] final class LocalWrite(fs: LocalFileSystem, link: (LocalPath, LocalPath) => LocalPath)
    extends AtomicWrite {

  override def create(path: Path, content: Array[Byte]): Unit =
    try
      write(path, content) { (temporary, file) =>
        try link(file, temporary)
        catch {
          // NFS sends a request again whose response was lost.
          case e: LocalFileExistsException =>
            if (Files.isSameFile(file, temporary)) file else throw e
          // A file system without links: a move looks for the target before, as Spark's file manager does.
          case _: UnsupportedOperationException | _: FileSystemException => Files.move(temporary, file)
        }
      }
    catch {
      case e: LocalFileExistsException =>
        throw new FileAlreadyExistsException(s"$path already exists").initCause(e)
    }

  override def replace(path: Path, content: Array[Byte]): Unit =
    write(path, content)(Files.move(_, _, StandardCopyOption.ATOMIC_MOVE))

  private def write(path: Path, content: Array[Byte])(place: (LocalPath, LocalPath) => LocalPath): Unit = {
    val file = fs.pathToFile(path).toPath
    Files.createDirectories(file.getParent)
    LocalWrite.synced(file.resolveSibling(s".${path.getName}.${UUID.randomUUID()}.tmp"), content) {
      temporary =>
        // The checksum would be that of a former file of this name, which this one does not match.
        Files.deleteIfExists(fs.pathToFile(fs.getChecksumFile(path)).toPath)
        val _ = place(temporary, file)
    }
  }
}

private[dynamickafka] object LocalWrite {

  /** Writes a file durably under another name, which it has only while `place` gives it its own. */
  def synced(temporary: LocalPath, content: Array[Byte])(place: LocalPath => Unit): Unit =
    try {
      // Not by a channel, which the interrupt of a query that stops would close.
      Using.resource(new FileOutputStream(temporary.toFile)) { out =>
        out.write(content)
        out.getFD.sync()
      }
      place(temporary)
    } finally { val _ = Files.deleteIfExists(temporary) }
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
