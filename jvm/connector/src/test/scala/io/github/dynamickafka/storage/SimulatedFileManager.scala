package io.github.dynamickafka.storage

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, FileNotFoundException, OutputStream}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.ConcurrentHashMap

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs._

/** The requests about files that a simulation answers. Each is atomic. */
private[dynamickafka] trait SimulatedFiles {
  def read(path: String): Option[String]
  def exists(path: String): Boolean

  /** The names in a folder; None: there is no folder. */
  def names(folder: String): Option[Seq[String]]
  def delete(path: String): Unit
  def replace(path: String, text: String): Unit

  /** @return false if the file exists, which is then unchanged */
  def create(path: String, text: String): Boolean

  /** Whether a file is created in one request, or looked for and then written in two. */
  def isExclusive: Boolean
}

/** The file manager of checkpoints in a simulation, which the first part of the path names. */
class SimulatedFileManager(folder: Path, @annotation.unused hadoop: Configuration)
    extends SparkFileManager.Of {
  import SimulatedFileManager._

  private val files = all.get(key(folder).split('/')(1))

  override def createAtomic(path: Path, overwriteIfPossible: Boolean): SparkFileManager.Stream =
    new Pending(new Content(text =>
      if (overwriteIfPossible) files.replace(key(path), text)
      else if (files.isExclusive) { if (!files.create(key(path), text)) refuse(path) }
      else if (files.exists(key(path))) refuse(path)
      else files.replace(key(path), text)
    ))

  private def refuse(path: Path) = throw new FileAlreadyExistsException(path.toString)

  override def open(path: Path): FSDataInputStream = files.read(key(path))
    .fold(throw new FileNotFoundException(path.toString))(text => new FSDataInputStream(new Input(text)))

  override def list(path: Path, filter: PathFilter): Array[FileStatus] =
    files.names(key(path)).getOrElse(throw new FileNotFoundException(path.toString))
      .map(name => new FileStatus(0L, false, 1, 1024L, 0L, new Path(path, name)))
      .filter(status => filter.accept(status.getPath)).toArray

  override def mkdirs(path: Path): Unit = ()
  override def exists(path: Path): Boolean = files.exists(key(path))
  override def delete(path: Path): Unit = files.delete(key(path))
  override def isLocal: Boolean = false
  override def createCheckpointDirectory(): Path = folder
}

private[dynamickafka] object SimulatedFileManager {
  private val all = new ConcurrentHashMap[String, SimulatedFiles]

  /** Runs `body` with these files under `/name/`. */
  def using[A](name: String, files: SimulatedFiles)(body: => A): A = {
    all.put(name, files)
    try body
    finally { val _ = all.remove(name) }
  }

  /** The same for all simulations: copying one takes longer than a step. */
  lazy val hadoop: Configuration = {
    val hadoop = new Configuration
    hadoop.set("spark.sql.streaming.checkpointFileManagerClass", classOf[SimulatedFileManager].getName)
    hadoop.size
    hadoop
  }

  private def key(path: Path): String = path.toUri.getPath

  private final class Content(write: String => Unit) extends ByteArrayOutputStream {
    var isOpen = true
    override def close(): Unit = if (isOpen) {
      isOpen = false
      write(toString(UTF_8))
    }
  }

  private final class Pending(content: Content) extends SparkFileManager.Stream(content: OutputStream) {
    override def cancel(): Unit = content.isOpen = false
  }

  private final class Input(text: String)
      extends ByteArrayInputStream(text.getBytes(UTF_8)) with Seekable with PositionedReadable {
    override def seek(to: Long): Unit = pos = to.toInt
    override def getPos: Long = pos.toLong
    override def seekToNewSource(to: Long): Boolean = false
    override def read(at: Long, into: Array[Byte], offset: Int, length: Int): Int = unused
    override def readFully(at: Long, into: Array[Byte], offset: Int, length: Int): Unit = unused
    override def readFully(at: Long, into: Array[Byte]): Unit = unused
    private def unused: Nothing = throw new UnsupportedOperationException
  }
}
