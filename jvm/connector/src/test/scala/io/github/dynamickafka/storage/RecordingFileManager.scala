package io.github.dynamickafka.storage

import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataInputStream, FileStatus, Path, PathFilter}

/** A file manager that a user sets: Spark's own one, which also notes what it creates, and what is synced before it has its name. */
class RecordingFileManager(folder: Path, hadoop: Configuration) extends SparkFileManager.Of {

  private val manager = {
    val own = new Configuration(hadoop)
    own.unset("spark.sql.streaming.checkpointFileManagerClass")
    SparkFileManager.of(folder, own)
  }

  override def createAtomic(path: Path, overwriteIfPossible: Boolean): SparkFileManager.Stream = {
    RecordingFileManager.calls.add(path -> overwriteIfPossible)
    val stream = manager.createAtomic(path, overwriteIfPossible)
    new SparkFileManager.Stream(stream) {
      private var isSynced = false
      override def hsync(): Unit = {
        isSynced = true
        super.hsync()
      }
      override def close(): Unit = {
        if (isSynced) RecordingFileManager.syncs.add(path)
        super.close()
      }
      override def cancel(): Unit = stream.cancel()
    }
  }

  override def open(path: Path): FSDataInputStream = manager.open(path)
  override def list(path: Path, filter: PathFilter): Array[FileStatus] = manager.list(path, filter)
  override def mkdirs(path: Path): Unit = manager.mkdirs(path)
  override def exists(path: Path): Boolean = manager.exists(path)
  override def delete(path: Path): Unit = manager.delete(path)
  override def isLocal: Boolean = manager.isLocal
  override def createCheckpointDirectory(): Path = manager.createCheckpointDirectory()
}

object RecordingFileManager {
  private val calls = new ConcurrentLinkedQueue[(Path, Boolean)]
  private val syncs = new ConcurrentLinkedQueue[Path]

  /** The files that were created by any of them, and whether each was allowed to replace one. */
  def created: Set[(Path, Boolean)] = calls.asScala.toSet

  /** The files whose content was synced before they got their names. */
  def synced: Set[Path] = syncs.asScala.toSet
}
