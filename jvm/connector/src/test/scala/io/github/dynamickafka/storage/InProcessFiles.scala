package io.github.dynamickafka.storage

import java.net.URI
import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermissions

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.fs.{
  ChecksumFs,
  DelegateToFileSystem,
  FileStatus,
  FsServerDefaults,
  LocalFileSystem,
  Path,
  RawLocalFileSystem
}

/**
 * Hadoop's local file system, without the processes `chmod` and `readlink`: without its native library, Hadoop starts them for
 * each file that it creates or renames, which took a tenth of the CPU of the suites.
 */
class InProcessFiles extends LocalFileSystem(new RawInProcessFiles)

class RawInProcessFiles extends RawLocalFileSystem {
  override def setPermission(path: Path, permission: FsPermission): Unit = {
    val text =
      permission.getUserAction.SYMBOL + permission.getGroupAction.SYMBOL + permission.getOtherAction.SYMBOL
    val _ = Files.setPosixFilePermissions(pathToFile(path).toPath, PosixFilePermissions.fromString(text))
  }

  /** Hadoop runs `readlink` for both names of each rename; the tests have no links. */
  override def getFileLinkStatus(path: Path): FileStatus = getFileStatus(path)

  override def rename(from: Path, to: Path): Boolean = {
    RawInProcessFiles.renaming(to)
    super.rename(from, to)
  }
}

object RawInProcessFiles {

  /** Called before a file gets this name, which is how files of a checkpoint are written: to fail, or to take time. */
  @volatile var renaming: Path => Unit = _ => ()
}

/** The same for Hadoop's `FileContext`, which Spark's checkpoints use. */
class InProcessFilesContext(uri: URI, hadoop: Configuration)
    extends ChecksumFs(new RawInProcessFilesContext(uri, hadoop))

class RawInProcessFilesContext(uri: URI, hadoop: Configuration)
    extends DelegateToFileSystem(uri, new RawInProcessFiles, hadoop, "file", false) {
  override def getUriDefaultPort: Int = -1
  override def getServerDefaults(path: Path): FsServerDefaults =
    org.apache.hadoop.fs.local.LocalConfigKeys.getServerDefaults
  override def isValidName(name: String): Boolean = true
}
