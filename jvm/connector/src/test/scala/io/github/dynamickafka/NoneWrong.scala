package io.github.dynamickafka

import org.scalatest.Assertions.fail

/** Random histories from the seed of the run, of which none may be wrong. */
object NoneWrong {

  /** @param wrong what is wrong in the history with a seed */
  def apply(histories: Range)(wrong: Long => Option[String]): Unit = {
    val first = TestSeed()
    histories.foreach { i =>
      if (Thread.interrupted())
        throw new InterruptedException(s"none of ${i - histories.start} histories was wrong")
      wrong(first + i).foreach(fail(_))
    }
  }
}
