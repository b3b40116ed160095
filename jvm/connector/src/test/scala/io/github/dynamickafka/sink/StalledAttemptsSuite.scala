package io.github.dynamickafka.sink

import org.apache.spark.scheduler.{
  SparkListenerExecutorRemoved,
  SparkListenerTaskStart,
  TaskInfo,
  TaskLocality
}
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit

class StalledAttemptsSuite extends AnyFunSuite with TimeLimit {

  private def start(stageAttempt: Int = 0, attempt: Int = 0, speculative: Boolean = false) =
    SparkListenerTaskStart(
      1,
      stageAttempt,
      new TaskInfo(1L, 0, attempt, 0, 0L, "1", "host", TaskLocality.ANY, speculative)
    )

  test("first attempts leave none") {
    val stalled = new StalledAttempts
    stalled.onTaskStart(start())
    assert(!stalled.found())
  }

  test("a second attempt, of a task or of a stage, a speculative one, or a lost executor may leave one") {
    val events = Seq[StalledAttempts => Unit](
      _.onTaskStart(start(attempt = 1)),
      _.onTaskStart(start(stageAttempt = 1)),
      _.onTaskStart(start(speculative = true)),
      _.onExecutorRemoved(SparkListenerExecutorRemoved(0L, "1", "lost"))
    )
    events.foreach { event =>
      val stalled = new StalledAttempts
      event(stalled)
      assert(stalled.found() && !stalled.found())
    }
  }
}
