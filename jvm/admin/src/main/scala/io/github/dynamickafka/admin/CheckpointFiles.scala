package io.github.dynamickafka.admin

import java.io.{FileNotFoundException, FileOutputStream, IOException}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.attribute.{
  BasicFileAttributes,
  PosixFileAttributeView,
  PosixFileAttributes,
  PosixFilePermissions
}
import java.nio.file.{Files, LinkOption, NoSuchFileException, StandardCopyOption}
import java.util.concurrent.TimeUnit

import scala.collection.immutable.SortedMap
import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.fs.{ChecksumFileSystem, FileUtil, Path}

import io.github.dynamickafka.source.checkpoint.Refusal
import io.github.dynamickafka.storage.AtomicFiles

/**
 * The files of a checkpoint by their paths in it, in any file system of Hadoop, for commands that change or copy them. The content of a
 * checkpoint is not trusted: a name that leads out of it, and a symbolic link, are refused, so that no other file is read or written.
 *
 * @param location a path that Hadoop's configuration can read, which may not exist
 */
private[admin] final class CheckpointFiles(val location: String, hadoop: Configuration) {
  import CheckpointFiles._

  // Checksums of Hadoop's local file system would be those of the former content.
  private val fs = new Path(location).getFileSystem(hadoop) match {
    case checked: ChecksumFileSystem => checked.getRawFileSystem
    case other => other
  }
  private val isLocal = fs.getUri.getScheme == "file"

  /** The whole path, with the scheme of the file system. */
  val root: Path = fs.makeQualified(new Path(location))

  /** The checkpoint's path without links on the way to it. */
  private lazy val place: Path = if (isLocal) new Path(root, resolved(local(root)).toUri.getPath) else root

  def isSame(other: CheckpointFiles): Boolean = place == other.place

  def isIn(other: CheckpointFiles): Boolean =
    Iterator.iterate(place.getParent)(_.getParent).takeWhile(_ != null).contains(other.place)

  def beside(name: String): CheckpointFiles =
    new CheckpointFiles(new Path(root.getParent, name).toString, hadoop)

  def name: String = root.getName

  /** Whether a whole path of Spark, such as `file:/checkpoints/q`, is this folder. */
  def isAt(path: String): Boolean = {
    val (other, own) = (new Path(path), root.toUri)
    other.toUri.getScheme == own.getScheme && other.toUri.getAuthority == own.getAuthority &&
    new CheckpointFiles(path, hadoop).place == place
  }

  /**
   * All files by their paths, with what changes when a file is written.
   *
   * @throws Refusal if one is a symbolic link, or outside of the checkpoint
   */
  def all(): SortedMap[String, Stamp] = {
    val found =
      if (isLocal) {
        val home = local(place)
        for {
          file <- Using.resource(Files.walk(home))(_.iterator.asScala.toVector)
          attributes <- ifThere(
            Files.readAttributes(file, classOf[BasicFileAttributes], LinkOption.NOFOLLOW_LINKS)
          )
          if { if (attributes.isSymbolicLink) refuseLink(file.toString) else attributes.isRegularFile }
        } yield home.relativize(file).toString ->
          Stamp(attributes.size, attributes.lastModifiedTime.to(TimeUnit.NANOSECONDS))
      } else {
        val files = fs.listFiles(root, true)
        Iterator.continually(files).takeWhile(_.hasNext).map(_.next()).map { status =>
          if (status.isSymlink) refuseLink(status.getPath.toString)
          relative(status.getPath) -> Stamp(status.getLen, status.getModificationTime)
        }.toVector
      }
    SortedMap.from(found)
  }

  /** None: there is no such file, maybe because it was deleted meanwhile. */
  private def ifThere[A](read: => A): Option[A] =
    try Some(read)
    catch { case _: FileNotFoundException | _: NoSuchFileException => None }

  private def relative(path: Path): String = {
    val (whole, home) = (path.toUri.getPath, root.toUri.getPath.stripSuffix("/") + "/")
    if (!whole.startsWith(home)) throw new Refusal(s"the store lists $path in $location, which is not in it")
    whole.stripPrefix(home)
  }

  private def refuseLink(file: String): Nothing = throw new Refusal(
    s"$file is a symbolic link, and files outside of the checkpoint are neither read nor written: replace it with what it leads to"
  )

  /** Whether there is something in this folder, or a file of this name. */
  def isTaken: Boolean =
    ifThere(fs.exists(root) && (!fs.getFileStatus(root).isDirectory || fs.listStatus(root).nonEmpty))
      .contains(true)

  def exists(name: String): Boolean = fs.exists(at(name))

  def names(folder: String): Seq[String] =
    ifThere(fs.listStatus(at(folder)).toSeq.map(_.getPath.getName).sorted).getOrElse(Nil)

  def read(name: String): Option[Array[Byte]] =
    ifThere(Using.resource(fs.open(at(name)))(_.readAllBytes()))

  def text(name: String): Option[String] = read(name).map(new String(_, UTF_8))

  def delete(name: String): Unit = {
    val _ = fs.delete(at(name), true)
  }

  def access(name: String): Option[Access] = ifThere(accessOf(at(name)))

  /** Writes a file that no process can read before it is complete. */
  def write(name: String, content: Array[Byte], access: Option[Access] = None): Unit = {
    write(at(name), content)
    access.foreach(keep(at(name), _))
  }

  /**
   * Replaces a file at once: a start of the query reads the former content or this one.
   *
   * @param access of the new file; None: what a new file of this user has
   */
  def replace(name: String, content: Array[Byte], access: Option[Access] = None): Unit = {
    val file = at(name)
    if (isLocal) {
      val temporary = new Path(file.getParent, s".${file.getName}.edited.tmp")
      write(temporary, content)
      access.foreach(keep(temporary, _))
      if (!fs.rename(temporary, file)) throw new IOException(s"$temporary cannot be renamed to $file")
    } else {
      new AtomicFiles(root, hadoop).replace(file, new String(content, UTF_8))
      access.foreach(keep(file, _))
    }
  }

  /** Copies a file with its mode, and with its owner if this user may do that. */
  def copy(name: String, to: CheckpointFiles): Unit = {
    val (from, target) = (at(name), to.at(name))
    if (isLocal && to.isLocal) {
      Files.createDirectories(local(target).getParent)
      val _ = Files.copy(
        local(from),
        local(target),
        StandardCopyOption.COPY_ATTRIBUTES,
        LinkOption.NOFOLLOW_LINKS
      )
    } else if (to.isLocal || !isChecksum(name)) {
      if (!FileUtil.copy(fs, from, to.fs, target, false, true, hadoop))
        throw new IOException(s"$from cannot be copied to $target")
      to.adopt(target, accessOf(from))
    }
  }

  /** Creates this folder, with the mode and the owner of another one if this user may do that. */
  def create(like: CheckpointFiles): Unit = {
    if (isLocal) Files.createDirectories(local(root)) else fs.mkdirs(root)
    adopt(root, like.accessOf(like.root))
  }

  /**
   * Gives this folder another name beside it. No folder has this name, or it is empty. Where the store has no rename of folders,
   * Hadoop copies the files one by one.
   *
   * @throws Refusal if somebody has filled the other folder meanwhile
   */
  def moveTo(target: CheckpointFiles): Unit = {
    def refuse(cause: Throwable = null) =
      throw new Refusal(s"${target.location} is not empty: choose a folder that does not exist", cause)
    if (target.isTaken) refuse()
    try
      if (fs.exists(target.root)) {
        val _ = fs.delete(target.root, false)
      }
    catch { case e: IOException => refuse(e) }
    if (!fs.rename(root, target.root)) throw new IOException(s"$root cannot be renamed to ${target.root}")
    // A folder of this name that was made meanwhile: the file system has moved this one into it.
    val inside = new Path(target.root, root.getName)
    if (fs.exists(inside)) {
      fs.delete(inside, true)
      refuse()
    }
  }

  def deleteAll(): Unit = {
    val _ = fs.delete(root, true)
  }

  /** @throws Refusal if the name leads out of the checkpoint */
  private def at(name: String): Path = {
    val whole = s"${root.toUri.getPath.stripSuffix("/")}/$name"
    val path = new Path(root.toUri.getScheme, root.toUri.getAuthority, whole)
    // A name with '..' or the like leads elsewhere.
    if (path.toUri.getPath != whole) throw new Refusal(s"'$name' is not the name of a file in $location")
    if (isLocal) Iterator.iterate(path)(_.getParent).takeWhile(p => p != null && p != root).map(local)
      .find(Files.isSymbolicLink).foreach(link => refuseLink(link.toString))
    path
  }

  // Hadoop starts a process for each mode and each owner of a local file.
  private def write(path: Path, content: Array[Byte]): Unit = if (isLocal) {
    Files.createDirectories(local(path).getParent)
    Using.resource(new FileOutputStream(local(path).toFile)) { out =>
      out.write(content)
      out.getFD.sync()
    }
  } else Using.resource(fs.create(path, true))(_.write(content))

  private def accessOf(path: Path): Access =
    if (isLocal) {
      val found = Files.readAttributes(local(path), classOf[PosixFileAttributes])
      Access(PosixFilePermissions.toString(found.permissions), found.owner.getName, found.group.getName)
    } else {
      val found = fs.getFileStatus(path)
      Access(found.getPermission.toString.take(9), found.getOwner, found.getGroup)
    }

  private def setMode(path: Path, mode: String): Unit =
    if (isLocal) {
      val _ = Files.setPosixFilePermissions(local(path), PosixFilePermissions.fromString(mode))
    } else fs.setPermission(path, FsPermission.valueOf(s"-$mode"))

  private def setOwner(path: Path, owner: String, group: String): Unit =
    if (isLocal) {
      val names = local(path).getFileSystem.getUserPrincipalLookupService
      val view = Files.getFileAttributeView(local(path), classOf[PosixFileAttributeView])
      view.setOwner(names.lookupPrincipalByName(owner))
      view.setGroup(names.lookupPrincipalByGroupName(group))
    } else fs.setOwner(path, owner, group)

  private def keep(path: Path, access: Access): Unit = {
    val now = accessOf(path)
    if (now.mode != access.mode) setMode(path, access.mode)
    if (now.owner != access.owner || now.group != access.group)
      try setOwner(path, access.owner, access.group)
      catch {
        case e: IOException =>
          throw new Refusal(
            s"files of $location belong to '${access.owner}' (group '${access.group}'), and '${now.owner}' may not give files to " +
              s"that user: run the command as '${access.owner}', so that the query can read them",
            e
          )
      }
  }

  private def adopt(path: Path, access: Access): Unit =
    try keep(path, access)
    catch { case _: Refusal => () }
}

private[admin] object CheckpointFiles {

  final case class Stamp(size: Long, modified: Long)

  /** @param mode such as `rw-r-----` */
  final case class Access(mode: String, owner: String, group: String)

  /** The checksum of Hadoop's local file system. */
  def checksum(name: String): String = {
    val at = name.lastIndexOf('/') + 1
    s"${name.take(at)}.${name.drop(at)}.crc"
  }

  /** Whether the file is a checksum of Hadoop's local file system. */
  def isChecksum(name: String): Boolean = name.matches("(?s)(.*/)?\\.[^/]*\\.crc")

  private def local(path: Path) = java.nio.file.Path.of(path.toUri.getPath)

  /** The real path, of one that may not exist yet. */
  private def resolved(path: java.nio.file.Path): java.nio.file.Path =
    try path.toRealPath()
    catch {
      case _: NoSuchFileException if path.getParent != null =>
        resolved(path.getParent).resolve(path.getFileName)
    }
}
