package io.github.dynamickafka.kafka

import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.github.dynamickafka.base.ManualClock
import io.github.dynamickafka.testkit.TimeLimit

class IdlePoolSuite extends AnyFunSuite with TimeLimit with Eventually {
  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(60, Seconds), interval = Span(5, Millis))

  private final class Client(val key: Int)

  private final class Pool(capacity: Int) {
    val clock = new ManualClock
    private val closed = ConcurrentHashMap.newKeySet[Int]
    private val pool = new IdlePool[Client](capacity, 60000L, clock, c => { val _ = closed.add(c.key) })

    /** Uses the clients of these keys one after the other, and returns how many were idle in the pool. */
    def visit(keys: Seq[Int]): Int = keys.count { key =>
      val found = pool.take(_.find(_.key == key))
      pool.put(found.getOrElse(new Client(key)))
      found.isDefined
    }

    def size: Int = pool.size
    def sweep(): Unit = pool.sweep()
    def hasClosed(keys: Int*): Boolean = closed.asScala.toSet == keys.toSet
  }

  for ((keys, hits) <- Seq(63 -> 63, 64 -> 64, 65 -> 63, 128 -> 63, 256 -> 63, 1000 -> 63))
    test(s"$keys clients that are used in turn: at least $hits of them are found in a pool of 64") {
      val pool = new Pool(64)
      pool.visit(0 until keys)
      (0 until 5).foreach(_ => assert(pool.visit(0 until keys) >= hits))
      assert(pool.size == math.min(keys, 64))
    }

  test("clients that are no longer used give way to others") {
    val pool = new Pool(4)
    pool.visit(0 until 4)
    pool.clock.advanceMs(9999)
    pool.visit(10 until 13)
    assert(pool.visit(10 until 13) == 0)
    pool.clock.advanceMs(1)
    pool.visit(10 until 13)
    assert(pool.visit(10 until 13) == 3 && pool.size == 4)
  }

  test("clients that have been idle for too long are closed") {
    val pool = new Pool(4)
    pool.visit(Seq(1, 2))
    pool.clock.advanceMs(36000)
    pool.visit(Seq(2, 3))
    pool.clock.advanceMs(24000)
    pool.sweep()
    assert(pool.size == 2)
    eventually(assert(pool.hasClosed(1)))
  }

  test("a pool without capacity keeps no client") {
    val pool = new Pool(0)
    assert(pool.visit(Seq(1, 1)) == 0 && pool.size == 0)
  }
}
