package io.github.dynamickafka

import org.scalatest.Assertions.fail

/** The first of many simulated histories that a defect makes wrong. */
object FirstWrong {

  /** Also in a run with another seed: how early a rare defect shows depends on it. */
  private val First = 91L

  /**
   * Fails if none of the histories is wrong.
   *
   * @param most the number of histories
   * @param skipped how many come first and are not run: a rare defect shows only later
   * @param wrong what is wrong in the history with a seed
   */
  def apply(most: Int, skipped: Int = 0)(wrong: Long => Option[String]): String =
    Iterator.range(skipped, skipped + most).flatMap { i =>
      // The time limit of the test. Otherwise it would have to end the JVM, with all suites that come later.
      if (Thread.interrupted()) throw new InterruptedException(s"not found in $i histories")
      wrong(First + i).map(what => s"in history ${i + 1}: ${what.take(200)}")
    }.nextOption().getOrElse(fail(s"not found in $most histories"))
}
