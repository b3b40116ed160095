package org.apache.kafka.connect.mirror

/** What MirrorMaker writes; its methods are visible in this package only. */
object CheckpointBytes {
  def key(checkpoint: Checkpoint): Array[Byte] = checkpoint.recordKey
  def value(checkpoint: Checkpoint): Array[Byte] = checkpoint.recordValue
}
