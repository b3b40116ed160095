package io.github.dynamickafka

import org.scalatest.prop.Seed

/** Where random choices of a test begin. ScalaCheck takes it by itself; the build has it from DYNAMIC_KAFKA_SEED. */
object TestSeed {
  def apply(): Long =
    Seed.configured.map(_.value).getOrElse(throw new IllegalStateException("ScalaTest was run without -S"))
}
