package io.github.dynamickafka.storage

import java.io.FileNotFoundException

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataOutputStream, FileAlreadyExistsException, FileSystem, Path}

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
