package io.github.dynamickafka.sink.simulation

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.{AtomicLong, LongAdder}
import java.util.stream.LongStream

import scala.jdk.CollectionConverters._

import org.apache.logging.log4j.Level
import org.apache.logging.log4j.core.config.Configurator

/**
 * Runs histories of the commit protocol on all cores, beyond what a suite has time for: `make extra NAME=simulation
 * SINK_HISTORIES=20000 SEED=n`. Prints each history that is wrong, and fails if there is one.
 */
object RunHistories {
  private val ReportEvery = 20000L

  /** @param args the number of histories, and the seed of the first one; the others follow */
  def main(args: Array[String]): Unit = {
    val Array(histories, first) = args.map(_.toLong)
    Configurator.setLevel("io.github.dynamickafka", Level.OFF)
    if (!random(histories, first)) sys.exit(1)
  }

  private def random(histories: Long, first: Long): Boolean = {
    val run, wrong = new AtomicLong
    val ends = new ConcurrentHashMap[String, LongAdder]
    val begin = System.nanoTime
    def report(): Unit = {
      val how = ends.asScala.toSeq.map { case (end, n) => n.sum -> end }.sortBy(-_._1).map { case (n, end) =>
        s"$n $end"
      }
      println(
        s"${run.get} histories from seed $first in ${seconds(begin)} s: ${wrong.get} failed; ${how.mkString(", ")}"
      )
    }
    LongStream.range(first, first + histories).parallel().forEach { seed =>
      History.end(seed, Defect.None) match {
        case Right(end) => ends.computeIfAbsent(end, _ => new LongAdder).increment()
        case Left(_) =>
          wrong.incrementAndGet()
          History.failure(seed).foreach(println)
      }
      if (run.incrementAndGet() % ReportEvery == 0) report()
    }
    report()
    wrong.get == 0
  }

  private def seconds(begin: Long): Long = (System.nanoTime - begin) / 1000000000L
}
