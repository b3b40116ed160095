package io.github.dynamickafka

import org.scalatest.prop.Seed

/** The seed of random choices. ScalaCheck reads it itself; the build sets it from DYNAMIC_KAFKA_SEED. */
object TestSeed {
  def apply(): Long =
    Seed.configured.map(_.value).getOrElse(throw new IllegalStateException("ScalaTest was run without -S"))
}
