package io.github.dynamickafka.testkit

import java.util.{Timer, TimerTask}

import org.scalatest.time.{Minutes, Span}
import org.scalatest.{Failed, Outcome, TestSuite, TestSuiteMixin}

/** Interrupts and fails a test that takes longer than ten minutes. If the interrupt has no effect, the JVM exits. */
trait TimeLimit extends TestSuiteMixin { this: TestSuite =>

  abstract override protected def withFixture(test: NoArgTest): Outcome =
    TimeLimit.within(Span(10, Minutes), test.name)(super.withFixture(test))
}

object TimeLimit {
  private val GraceMs = 60000L

  private[testkit] def within(limit: Span, name: String)(body: => Outcome): Outcome = {
    val clock = new Clock(Thread.currentThread, s"'$name' took longer than ${limit.prettyString}")
    val timer = new Timer("time limit", true)
    timer.schedule(task(clock.interrupt()), limit.millisPart)
    timer.schedule(task(Runtime.getRuntime.halt(1)), limit.millisPart + GraceMs)
    val outcome =
      try body
      finally {
        timer.cancel()
        clock.stop()
      }
    outcome match {
      case Failed(e) if clock.late => Failed(clock.message, e)
      case _ if clock.late => Failed(clock.message)
      case _ => outcome
    }
  }

  /** Ensures that no thread is interrupted after its test has ended. */
  private final class Clock(thread: Thread, val message: String) {
    private var running = true
    var late = false

    def interrupt(): Unit = synchronized {
      if (running) {
        late = true
        System.err.println(s"$message, at\n  ${thread.getStackTrace.mkString("\n  ")}")
        thread.interrupt()
      }
    }

    def stop(): Unit = synchronized {
      running = false
      if (late) { val _ = Thread.interrupted() }
    }
  }

  private def task(body: => Unit): TimerTask = new TimerTask {
    override def run(): Unit = body
  }
}
