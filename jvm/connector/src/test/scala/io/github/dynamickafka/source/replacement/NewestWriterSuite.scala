package io.github.dynamickafka.source.replacement

import java.util.concurrent.{CompletableFuture, CountDownLatch, LinkedBlockingQueue, TimeUnit}

import scala.collection.mutable

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.base.DaemonThreads
import io.github.dynamickafka.testkit.TimeLimit

/** Writes of which only the newest one counts. */
class NewestWriterSuite extends AnyFunSuite with TimeLimit with ScalaCheckPropertyChecks {

  private sealed trait Step
  private case object Offer extends Step
  private case object Take extends Step
  private case object Close extends Step

  private val steps = Gen.listOf(Gen.frequency[Step](5 -> Offer, 5 -> Take, 1 -> Close))

  test("one writer at most, which takes the newest state, and ends when nothing is left") {
    forAll(steps) { all =>
      var state = NewestState[Int]()
      var writers, offered, open = 0
      val taken = mutable.Buffer.empty[Int]
      def take(): Unit = {
        val (next, found) = state.taken
        state = next
        found.foreach(taken += _)
        if (found.isEmpty) writers -= 1
      }
      all.foreach {
        case Offer =>
          offered += 1
          if (!state.isClosed) open = offered
          val (next, starts) = state.offered(offered)
          state = next
          if (starts) writers += 1
          assert(writers <= 1)
        case Take => if (writers > 0) take()
        case Close => state = state.closed
      }
      val wasClosed = state.isClosed
      while (writers > 0) take()
      assert(!state.isWriting && state.waiting.isEmpty)
      assert(taken == taken.sorted.distinct && taken.forall(_ <= open))
      assert(wasClosed || taken.lastOption.getOrElse(0) == offered, "the newest one is written last")
    }
  }

  private final class Scene(write: Int => Unit) {
    val tasks = new LinkedBlockingQueue[Runnable]
    val written = mutable.Buffer.empty[Int]
    val failed = mutable.Buffer.empty[Throwable]
    val writer = new NewestWriter[Int](
      n => {
        write(n)
        written += n
      },
      failed += _,
      tasks.add(_)
    )
    def runAll(): Unit = Iterator.continually(tasks.poll()).takeWhile(_ != null).foreach(_.run())
  }

  test("states that wait are replaced; a state that comes during a write is written after it") {
    lazy val scene: Scene = new Scene(n => if (n == 2) scene.writer.offer(3))
    scene.writer.offer(1)
    scene.writer.offer(2)
    assert(scene.tasks.size == 1 && scene.written.isEmpty)
    scene.runAll()
    assert(scene.written == Seq(2, 3))
    scene.writer.offer(4)
    scene.runAll()
    assert(scene.written == Seq(2, 3, 4), "the writer starts again")
    assert(scene.writer.close(0))
    scene.writer.offer(5)
    scene.runAll()
    assert(scene.written == Seq(2, 3, 4), "closed")
  }

  test("an error of a write, also a fatal one, is passed on, and the next state is written") {
    val scene = new Scene(n => if (n == 1) throw new NoClassDefFoundError("gone"))
    scene.writer.offer(1)
    scene.runAll()
    scene.writer.offer(2)
    scene.runAll()
    assert(scene.failed.map(_.getMessage) == Seq("gone") && scene.written == Seq(2))
    assert(scene.writer.close(0))
  }

  test("a writer that is closed before its thread has begun writes nothing") {
    val scene = new Scene(_ => ())
    scene.writer.offer(1)
    assert(!scene.writer.close(0))
    scene.runAll()
    assert(scene.written.isEmpty)
  }

  test("the thread is a daemon with a name, and ends when nothing is left, without a close") {
    val thread = new CompletableFuture[Thread]
    val goOn = new CountDownLatch(1)
    val writer = new NewestWriter[Int](
      _ => {
        thread.complete(Thread.currentThread)
        goOn.await()
      },
      throw _,
      new DaemonThreads("dynamic-kafka-test")
    )
    writer.offer(1)
    val running = thread.get(2, TimeUnit.MINUTES)
    assert(running.isDaemon && running.getName == "dynamic-kafka-test")
    goOn.countDown()
    running.join()
    assert(writer.close(0))
  }
}
