package io.github.dynamickafka.metadata.service

import java.net.URI

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataInputStream, Path, RawLocalFileSystem}

/** Local files as `opened:///<path>`, which change at a certain read. The clocks of Hadoop's files play no role. */
private[service] final class OpenedFiles {
  OpenedFiles.next = None

  val conf: Configuration = {
    val conf = new Configuration
    conf.setClass(
      "fs.opened.impl",
      classOf[OpenedFiles.Fs],
      classOf[org.apache.hadoop.fs.FileSystem]
    )
    conf.setBoolean("fs.opened.impl.disable.cache", true)
    conf
  }

  /** @param opens before this read from now on, 1, 2, ..., `change` runs once */
  def at(opens: Int)(change: () => Unit): Unit = OpenedFiles.next = Some((opens, change))
}

private object OpenedFiles {
  @volatile private var next = Option.empty[(Int, () => Unit)]

  private final class Fs extends RawLocalFileSystem {
    override def getUri: URI = URI.create("opened:///")

    override def open(f: Path, bufferSize: Int): FSDataInputStream = {
      next = next.flatMap {
        case (1, change) =>
          change()
          None
        case (n, change) => Some((n - 1, change))
      }
      super.open(f, bufferSize)
    }
  }
}
