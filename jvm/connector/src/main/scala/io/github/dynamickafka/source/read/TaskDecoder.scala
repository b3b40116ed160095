package io.github.dynamickafka.source.read

import io.github.dynamickafka.format.Layout

/**
 * Decodes the records of one task, of which clusters may have formats of their own. The thread of the task creates and uses it,
 * for all its partitions.
 */
private[source] final class TaskDecoder(val decoding: Decoding) {
  private var decoders = Map.empty[Layout, RecordDecoder]

  /** The rows of the records of a stream on a cluster. */
  def rows(cluster: String, stream: String): RecordRows = {
    val layout = decoding.ofClusters.getOrElse((cluster, stream), decoding.layout)
    new DecodedRow(decoder(layout), layout, cluster, stream)
  }

  /** Whether a record may have several rows. */
  def several: Boolean = decoding.layout.value.change.isDefined

  /** At the end of the records: waits until all dead letters are stored. */
  def finish(): Unit = decoders.valuesIterator.foreach(_.finish())

  private def decoder(layout: Layout): RecordDecoder = decoders.getOrElse(
    layout, {
      val created = new RecordDecoder(decoding, layout)
      decoders += layout -> created
      created
    }
  )
}
