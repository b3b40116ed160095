package io.github.dynamickafka.extension

import java.{lang => jl, util => ju}

/**
 * Determines the offsets at which a query starts or stops, for `startingOffsets=class:<name>` and `endingOffsets=class:<name>`. The
 * class needs a public constructor without parameters. In Scala, `Function3[String, String, Seq[Int], Map[Int, Long]]` can be
 * implemented instead.
 */
trait OffsetsFunction {

  /**
   * Called on the driver, once for each topic that a query finds at its first start. The offsets are stored in the checkpoint.
   *
   * @param partitions the partitions of the topic, in ascending order
   * @return the offset of each of these partitions, and of no others: -1 is the latest and, as a start position, -2 the
   *         earliest offset
   */
  def offsets(
      cluster: String,
      topic: String,
      partitions: ju.List[Integer]
  ): ju.Map[Integer, jl.Long]
}
