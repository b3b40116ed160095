package io.github.dynamickafka.storage

/** Folders in the checkpoint of a query that source and sink both look at. */
private[dynamickafka] object CheckpointFolders {

  /** Spark's offset log: a file for each batch, named by its number. */
  val Offsets = "offsets"

  /** The state of Spark's stateful operators. */
  val State = "state"

  /** The decisions of this project's sink: `<batch>-<round>.json`. */
  val SinkJournal = "dynamic-kafka-sink"
}
