package io.github.dynamickafka.storage

import java.io.{ByteArrayOutputStream, FileNotFoundException}
import java.net.URI
import java.util.EnumSet
import java.util.concurrent.ConcurrentHashMap

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Abortable.AbortableResult
import org.apache.hadoop.fs._
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.util.Progressable

/**
 * The requests that an object store answers, each of which is atomic, and visible to all clients from then on. A rename is not:
 * it is a copy and a deletion. A file is written when it is closed, over any other one.
 */
final class ObjectStore {
  private var objects = Map.empty[String, Array[Byte]]

  /** Called before and after each request; what it throws is what the caller of the request gets. */
  @volatile var at: ObjectStore.Step => Unit = _ => ()

  def request[A](driver: String, operation: String, path: String)(effect: ObjectStore => A): A = {
    at(ObjectStore.Step(driver, operation, path, isDone = false))
    val answer = synchronized(effect(this))
    at(ObjectStore.Step(driver, operation, path, isDone = true))
    answer
  }

  def get(path: String): Option[Array[Byte]] = synchronized(objects.get(path))
  def put(path: String, content: Array[Byte]): Unit = synchronized(objects += path -> content)
  def remove(path: String): Unit = synchronized(objects -= path)
  def paths(prefix: String): Seq[String] =
    synchronized(objects.keys.filter(_.startsWith(prefix)).toSeq.sorted)

  def text(path: String): Option[String] = get(path).map(new String(_, "UTF-8"))
}

object ObjectStore {

  /** @param driver who sends the request */
  final case class Step(driver: String, operation: String, path: String, isDone: Boolean)

  /** How files are renamed or created in a store. */
  sealed trait Kind
  case object ByFileSystem extends Kind
  case object ByFileContext extends Kind
  case object Conditional extends Kind
  val Kinds: Seq[Kind] = Seq(ByFileSystem, ByFileContext, Conditional)

  private val stores = new ConcurrentHashMap[String, ObjectStore]

  def named(name: String): ObjectStore = stores.computeIfAbsent(name, _ => new ObjectStore)

  /** Read once: that takes longer than a test. */
  private lazy val defaults = {
    val hadoop = new Configuration
    hadoop.size
    hadoop
  }

  /** The configuration of a driver, which has its own client of each store. */
  def of(driver: String, kind: Kind): Configuration = {
    val hadoop = new Configuration(defaults)
    hadoop.set("fs.objects.impl", classOf[ObjectStoreFileSystem].getName)
    hadoop.setBoolean("fs.objects.impl.disable.cache", true)
    if (kind == ByFileContext)
      hadoop.set("fs.AbstractFileSystem.objects.impl", classOf[ObjectStoreContext].getName)
    hadoop.setBoolean("conditional", kind == Conditional)
    hadoop.set("driver", driver)
    hadoop
  }

  /** What kills a driver: it sends no more requests, also not in `finally`. */
  final class Died extends RuntimeException("the driver died")

  /**
   * Runs `scenario` once for each step of `driver`, before and after each of its requests, and does `action` there.
   *
   * @return the number of steps
   */
  def atEachStep(driver: String)(scenario: Stepped => Unit): Int =
    Iterator.from(0).map { number =>
      val stepped = new Stepped(driver, number)
      scenario(stepped)
      stepped.isReached
    }.takeWhile(identity).size

  /** One run of a scenario, in which something happens at one step of a driver. */
  final class Stepped(driver: String, number: Int) {
    private var seen = 0
    private var reached: Option[Step] = None

    def isReached: Boolean = reached.isDefined
    def where: String = s"step $number, $reached"
    def operation: Option[String] = reached.map(_.operation)

    def during[A](store: ObjectStore)(action: => Unit)(body: => A): A = {
      store.at = step =>
        if (step.driver == driver && reached.isEmpty) {
          if (seen == number) {
            reached = Some(step)
            action
          }
          seen += 1
        }
      try body
      finally store.at = _ => ()
    }

    /** The driver dies at the step. */
    def dying(store: ObjectStore)(body: => Unit): Unit = {
      var isDead = false
      store.at = step =>
        if (step.driver == driver) {
          if (reached.isEmpty && seen == number) {
            reached = Some(step)
            isDead = true
          }
          seen += 1
          if (isDead) throw new Died
        }
      try body
      catch { case _: Died => () }
      finally store.at = _ => ()
    }
  }
}

/** For Hadoop's other interface, `FileContext`. */
class ObjectStoreContext(uri: URI, hadoop: Configuration)
    extends DelegateToFileSystem(uri, new ObjectStoreFileSystem, hadoop, "objects", false)

/** A client of an [[ObjectStore]], as S3A is one of S3. */
class ObjectStoreFileSystem extends FileSystem {
  private var uri: URI = _
  private var driver: String = _
  private var isConditional = false
  private def store = ObjectStore.named(uri.getAuthority)

  override def initialize(name: URI, hadoop: Configuration): Unit = {
    super.initialize(name, hadoop)
    setConf(hadoop)
    uri = name
    driver = hadoop.get("driver")
    isConditional = hadoop.getBoolean("conditional", false)
  }

  override def getUri: URI = URI.create(s"objects://${uri.getAuthority}")
  override def getScheme: String = "objects"
  override def getWorkingDirectory: Path = new Path(s"$getUri/")
  override def setWorkingDirectory(to: Path): Unit = ()

  private def key(path: Path): String = makeQualified(path).toUri.getPath

  private def request[A](operation: String, path: Path)(effect: ObjectStore => A): A =
    store.request(driver, operation, key(path))(effect)

  override def getFileStatus(path: Path): FileStatus = {
    val at = makeQualified(path)
    request("head", path)(s =>
      s.get(key(path)).map(_.length) -> s.paths(s"${key(path)}/".replace("//", "/"))
    ) match {
      case (Some(length), _) => new FileStatus(length.toLong, false, 1, 1024L, 0L, at)
      case (None, inside) if inside.nonEmpty || path.isRoot => new FileStatus(0L, true, 1, 1024L, 0L, at)
      case _ => throw new FileNotFoundException(path.toString)
    }
  }

  override def listStatus(path: Path): Array[FileStatus] = {
    val folder = s"${key(path)}/"
    val found = request("list", path)(_.paths(folder))
    if (found.isEmpty) throw new FileNotFoundException(path.toString)
    found.filter(_ != folder).map(_.stripPrefix(folder).takeWhile(_ != '/')).distinct.map { name =>
      new FileStatus(0L, !found.contains(folder + name), 1, 1024L, 0L, new Path(makeQualified(path), name))
    }.toArray
  }

  override def open(path: Path, buffer: Int): FSDataInputStream =
    request("get", path)(_.get(key(path))).fold(throw new FileNotFoundException(path.toString))(content =>
      new FSDataInputStream(new BytesInput(content))
    )

  override def create(
      path: Path,
      permission: FsPermission,
      overwrite: Boolean,
      buffer: Int,
      replication: Short,
      block: Long,
      progress: Progressable
  ): FSDataOutputStream = {
    if (!overwrite && exists(path)) throw new FileAlreadyExistsException(path.toString)
    new FSDataOutputStream(new Upload(content => request("put", path)(_.put(key(path), content))), null)
  }

  override def hasPathCapability(path: Path, capability: String): Boolean =
    if (capability == "fs.option.create.conditional.overwrite") isConditional
    else super.hasPathCapability(path, capability)

  override def createFile(path: Path): FSDataOutputStreamBuilder[_, _] =
    new Conditional(path).create().overwrite(true)

  private final class Conditional(path: Path)
      extends FSDataOutputStreamBuilder[FSDataOutputStream, Conditional](this, path) {
    override def getThisBuilder: Conditional = this
    override def build(): FSDataOutputStream = {
      require(getOptions.getBoolean("fs.option.create.conditional.overwrite", false) && getFlags == Flags)
      // S3A has no exception of its own for a file that is in the way.
      def write(content: Array[Byte]): Unit =
        if (
          !request("put-if-absent", path) { s =>
            val isAbsent = s.get(key(path)).isEmpty
            if (isAbsent) s.put(key(path), content)
            isAbsent
          }
        ) throw new PathIOException(path.toString, "412")
      new FSDataOutputStream(new Upload(write), null)
    }
  }

  private def Flags = EnumSet.of(CreateFlag.CREATE, CreateFlag.OVERWRITE)

  /** As S3A does: not atomic, and over whatever is there by then. */
  override def rename(from: Path, to: Path): Boolean =
    if (!exists(from) || exists(to)) false
    else {
      request("copy", to)(s => s.get(key(from)).foreach(s.put(key(to), _)))
      request("delete", from)(_.remove(key(from)))
      true
    }

  override def delete(path: Path, recursive: Boolean): Boolean = {
    request("delete", path) { s =>
      s.remove(key(path))
      s.paths(s"${key(path)}/").foreach(s.remove)
    }
    true
  }

  /** An object that marks the folder, as S3A writes it. */
  override def mkdirs(path: Path, permission: FsPermission): Boolean = {
    request("mkdir", path)(_.put(s"${key(path)}/", Array.emptyByteArray))
    true
  }

  override def append(path: Path, buffer: Int, progress: Progressable): FSDataOutputStream =
    throw new UnsupportedOperationException
}

/** Becomes an object when it is closed. */
private final class Upload(write: Array[Byte] => Unit) extends ByteArrayOutputStream with Syncable
    with Abortable {
  private var isOpen = true

  override def close(): Unit = if (isOpen) {
    isOpen = false
    write(toByteArray)
  }

  override def hsync(): Unit = throw new UnsupportedOperationException("S3A streams are not Syncable")
  override def hflush(): Unit = hsync()

  override def abort(): AbortableResult = {
    isOpen = false
    new AbortableResult {
      override def alreadyClosed(): Boolean = false
      override def anyCleanupException(): java.io.IOException = null
    }
  }
}

private final class BytesInput(content: Array[Byte])
    extends java.io.ByteArrayInputStream(content) with Seekable with PositionedReadable {
  override def seek(to: Long): Unit = pos = to.toInt
  override def getPos: Long = pos.toLong
  override def seekToNewSource(to: Long): Boolean = false
  override def read(at: Long, into: Array[Byte], offset: Int, length: Int): Int =
    throw new UnsupportedOperationException
  override def readFully(at: Long, into: Array[Byte], offset: Int, length: Int): Unit =
    throw new UnsupportedOperationException
  override def readFully(at: Long, into: Array[Byte]): Unit = throw new UnsupportedOperationException
}
