package io.github.dynamickafka.source.simulation

import java.util.concurrent.atomic.AtomicLong
import java.util.stream.LongStream

/**
 * Runs histories on all cores, beyond what a suite has time for: `make extra NAME=simulation HISTORIES=1000000 SEED=n`. Prints each
 * that is wrong, and fails if there is one.
 */
object RunHistories {
  private val ReportEvery = 1000L

  /** @param args of what the histories are, their number, and the seed of the first one; the others follow */
  def main(args: Array[String]): Unit = run(
    args.tail,
    args.head match {
      case "triggers" => History.failure
      case "copies" => CopiesHistory.failure
      case "real-time" => RealTimeHistory.failure
    }
  )

  /** @param failure what is wrong in the history with a seed */
  def run(args: Array[String], failure: Long => Option[String]): Unit = {
    val Array(histories, first) = args.map(_.toLong)
    val done, wrong = new AtomicLong
    val begin = System.nanoTime
    def report(): Unit = {
      val seconds = (System.nanoTime - begin) / 1000000000L
      println(s"${done.get} histories from seed $first in $seconds s: ${wrong.get} failed")
    }
    LongStream.range(first, first + histories).parallel().forEach { seed =>
      failure(seed).foreach { what =>
        wrong.incrementAndGet()
        println(what)
      }
      if (done.incrementAndGet() % ReportEvery == 0) report()
    }
    report()
    if (wrong.get > 0) sys.exit(1)
  }
}
