package io.github.dynamickafka.storage

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.streaming.CheckpointFileManager

/** Spark's access to the files of a checkpoint, whose package differs between Spark lines. */
private[storage] object SparkFileManager {
  type Of = CheckpointFileManager
  type Stream = CheckpointFileManager.CancellableFSDataOutputStream

  /** The file manager that Spark uses for a checkpoint, which the session may have set. */
  def of(folder: Path, hadoop: Configuration): Of = CheckpointFileManager.create(folder, hadoop)
}
