package io.github.dynamickafka.source

import io.github.dynamickafka.offset.{CompositeOffset, CompositeOffsetJson}

/**
 * Reads offsets. The same text is the same object: Spark reads the start offset again for each trigger. Used only by the
 * thread of the query.
 */
private[source] final class OffsetReader {
  private var last: Option[(String, CompositeOffset)] = None

  def apply(json: String): CompositeOffset =
    last.collect { case (`json`, offset) => offset }.getOrElse {
      val offset = CompositeOffsetJson.read(json)
      last = Some(json -> offset)
      offset
    }
}
