package io.github.dynamickafka.source.trigger

import java.util.concurrent.{
  CompletableFuture,
  ConcurrentLinkedQueue,
  CountDownLatch,
  LinkedBlockingQueue,
  TimeUnit
}

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit

/** Writes of which only the newest one counts. */
class NewestWriterSuite extends AnyFunSuite with TimeLimit {
  private val LongMs = TimeUnit.MINUTES.toMillis(2)

  private final class Scene(write: Int => Unit) {
    private val all = new ConcurrentLinkedQueue[Int]
    val failed = new LinkedBlockingQueue[Throwable]
    val writer = new NewestWriter[Int](
      "dynamic-kafka-test",
      n => {
        write(n)
        all.add(n)
        ()
      },
      e => { val _ = failed.add(e) }
    )
    def written: Seq[Int] = all.asScala.toSeq
  }

  test("states that wait are replaced; one thread writes, and writes the newest state last") {
    val (entered, goOn) = (new CountDownLatch(1), new CountDownLatch(1))
    val threads = new ConcurrentLinkedQueue[Thread]
    val scene = new Scene(n => {
      threads.add(Thread.currentThread)
      if (n == 1) {
        entered.countDown()
        goOn.await()
      }
    })
    scene.writer.offer(1)
    entered.await()
    (2 to 1000).foreach(scene.writer.offer)
    assert(scene.written.isEmpty && threads.size == 1)
    goOn.countDown()
    assert(scene.writer.close(LongMs))
    assert(scene.written == Seq(1, 1000) && threads.asScala.toSet.size == 1)
    scene.writer.offer(5)
    assert(scene.writer.close(LongMs))
    assert(scene.written == Seq(1, 1000), "closed")
  }

  test("whenever states come, the newest one is written last, and none after a newer one") {
    (1 to 200).foreach { round =>
      val scene = new Scene(n => if (n % 3 == 0) Thread.`yield`())
      (1 to 1 + round % 7).foreach { n =>
        scene.writer.offer(n)
        if (round % 2 == 0) Thread.`yield`()
      }
      assert(scene.writer.close(LongMs))
      assert(scene.written == scene.written.sorted.distinct && scene.written.last == 1 + round % 7)
    }
  }

  test("an error of a write, also a fatal one, is passed on, and the next state is written") {
    val scene = new Scene(n => if (n == 1) throw new NoClassDefFoundError("gone"))
    scene.writer.offer(1)
    assert(scene.failed.take().getMessage == "gone")
    scene.writer.offer(2)
    assert(scene.writer.close(LongMs))
    assert(scene.failed.isEmpty && scene.written == Seq(2))
  }

  test("a write that hangs is interrupted by a close, and a state that waits for it is not written") {
    val entered = new CountDownLatch(1)
    val scene = new Scene(_ => {
      entered.countDown()
      new CountDownLatch(1).await()
    })
    scene.writer.offer(1)
    entered.await()
    scene.writer.offer(2)
    assert(!scene.writer.close(1))
    assert(scene.writer.close(LongMs))
    assert(scene.written.isEmpty && scene.failed.asScala.forall(_.isInstanceOf[InterruptedException]))
    assert(scene.failed.size == 1)
  }

  test("the thread is a daemon with a name, and ends when nothing is left, without a close") {
    val thread = new CompletableFuture[Thread]
    val scene = new Scene(_ => { val _ = thread.complete(Thread.currentThread) })
    scene.writer.offer(1)
    val running = thread.get(2, TimeUnit.MINUTES)
    assert(running.isDaemon && running.getName == "dynamic-kafka-test")
    running.join()
    scene.writer.offer(2)
    assert(scene.writer.close(LongMs))
    assert(scene.written == Seq(1, 2), "another thread begins")
  }
}
