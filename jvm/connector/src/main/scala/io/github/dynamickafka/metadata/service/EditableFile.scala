package io.github.dynamickafka.metadata.service

import java.io.IOException
import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.charset.{CharacterCodingException, CodingErrorAction}
import java.nio.file.attribute.PosixFileAttributeView
import java.nio.file.{Files, Path => LocalPath, Paths, StandardCopyOption, StandardOpenOption}

import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.github.dynamickafka.metadata.document.EditRefused
import io.github.dynamickafka.storage.AtomicFiles

/**
 * A metadata file that is replaced as a whole, so that a query never reads half of it. A file keeps its permissions, its owner and
 * group, and links to a local file stay links.
 *
 * @param path with a scheme
 */
private[service] final class EditableFile(path: Path, conf: Configuration) {

  private val local: Option[LocalPath] =
    Option.when(path.toUri.getScheme == "file")(Paths.get(path.toUri).toRealPath())

  /** Only with a parent that exists, because it may check that it can write there. */
  private lazy val files = new AtomicFiles(path.getParent, conf)

  /**
   * Writes what the function makes of the text, unless that is the same text.
   *
   * @return the text before and after
   * @throws EditRefused if the file was changed meanwhile, or is not UTF-8
   */
  def edit(change: String => String): (String, String) = {
    val before = bytes()
    val text = decoded(before)
    val edited = change(text)
    if (edited != text) local.fold(replace(before, edited))(replaceLocal(_, before, edited))
    text -> edited
  }

  private def bytes(): Array[Byte] =
    local.fold(Using.resource(path.getFileSystem(conf).open(path))(_.readAllBytes()))(Files.readAllBytes)

  private def decoded(content: Array[Byte]): String =
    try
      UTF_8.newDecoder().onMalformedInput(CodingErrorAction.REPORT)
        .onUnmappableCharacter(CodingErrorAction.REPORT).decode(ByteBuffer.wrap(content)).toString
    catch { case _: CharacterCodingException => throw new EditRefused("it is not UTF-8") }

  private def replace(before: Array[Byte], edited: String): Unit = {
    val fs = path.getFileSystem(conf)
    val status = fs.getFileStatus(path)
    refuseIfChanged(before)
    files.replace(path, edited)
    val own = fs.getFileStatus(path)
    if (own.getPermission != status.getPermission) fs.setPermission(path, status.getPermission)
    if (own.getOwner != status.getOwner || own.getGroup != status.getGroup)
      fs.setOwner(path, status.getOwner, status.getGroup)
  }

  private def replaceLocal(file: LocalPath, before: Array[Byte], edited: String): Unit = {
    val temporary = Files.createTempFile(file.getParent, s".${file.getFileName}.", "")
    try {
      Using.resource(FileChannel.open(temporary, StandardOpenOption.WRITE)) { out =>
        val content = ByteBuffer.wrap(edited.getBytes(UTF_8))
        while (content.hasRemaining) { val _ = out.write(content) }
        out.force(true)
      }
      keepRights(file, temporary)
      refuseIfChanged(before)
      val _ = Files.move(temporary, file, StandardCopyOption.ATOMIC_MOVE)
    } finally { val _ = Files.deleteIfExists(temporary) }
  }

  /** With another owner or mode, the user of a query could not read the file any more. */
  private def keepRights(file: LocalPath, temporary: LocalPath): Unit = {
    def of(path: LocalPath) = Option(Files.getFileAttributeView(path, classOf[PosixFileAttributeView]))
    for (from <- of(file); to <- of(temporary)) {
      val (wanted, own) = (from.readAttributes(), to.readAttributes())
      try {
        if (wanted.group != own.group) to.setGroup(wanted.group)
        if (wanted.owner != own.owner) to.setOwner(wanted.owner)
      } catch {
        case _: IOException => throw new EditRefused(
            s"it belongs to user '${wanted.owner}' and group '${wanted.group}', which this user cannot give a file to: " +
              "edit it as that user"
          )
      }
      to.setPermissions(wanted.permissions)
    }
  }

  private def refuseIfChanged(before: Array[Byte]): Unit =
    if (!java.util.Arrays.equals(before, bytes()))
      throw new EditRefused("it was changed meanwhile, run the command again")
}
