package io.github.dynamickafka.sink.simulation

import org.apache.logging.log4j.Level
import org.apache.logging.log4j.core.config.Configurator

/** Explores more than a suite has time for: `connector/Test/runMain io.github.dynamickafka.sink.simulation.RunExploration 4`. */
object RunExploration {

  /** @param args how often runs take turns, at most */
  def main(args: Array[String]): Unit = {
    Configurator.setLevel("io.github.dynamickafka", Level.OFF)
    val ends = Seq(false, true).map { isDeferred =>
      val begin = System.nanoTime
      val end = new Exploration(args(0).toInt, isDeferred, Defect.None).run()
      println(s"deferred: $isDeferred, ${(System.nanoTime - begin) / 1000000000L} s: ${end.merge}")
      end
    }
    if (ends.exists(_.isLeft)) sys.exit(1)
  }
}
