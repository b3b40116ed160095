package io.github.dynamickafka.sink.commit

import java.io.IOException
import java.net.URI
import java.nio.file.Files

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path, RawLocalFileSystem}
import org.apache.kafka.clients.admin.TransactionState.{COMPLETE_ABORT, COMPLETE_COMMIT, ONGOING}
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit

/** A decision whose write fails: it counts if it can be read, and must not be aborted as long as that is unknown. */
class LostAnswerSuite extends AnyFunSuite with TimeLimit {
  import CommitScene._

  private val one = prepared("blue", 0)

  private def commit(fault: String): (CommitScene, TwoPhaseCommit, String) = {
    val scene = new CommitScene
    scene.kafka.put(ONGOING, one)
    val hadoop = new Configuration
    hadoop.set("fs.faulty.impl", classOf[FaultyFileSystem].getName)
    hadoop.setBoolean("fs.faulty.impl.disable.cache", true)
    hadoop.set("fault", fault)
    val journal = new Journal(s"faulty://${Files.createTempDirectory("dynamic-kafka-faulty-")}", hadoop)
    val query = scene.start("first", earlier = Some(Nil), kept = journal)
    val thrown =
      try {
        query.commit(0L, tasks(one), scene.clock.nanoTime(), TransactionTimeoutMs)
        "none"
      } catch { case e: IOException => e.getMessage }
    query.abort(0L, tasks(one))
    (scene, query, thrown)
  }

  test("written despite an error: the batch is committed") {
    val (scene, query, thrown) = commit("after the rename")
    assert(thrown == "none" && query.lastCommitted.contains(0L))
    assert(scene.kafka.in(COMPLETE_COMMIT) == Set(one.transactionalId))
  }

  test("not written: the batch fails with that error and is aborted") {
    val (scene, query, thrown) = commit("before the rename")
    assert(thrown == "before the rename" && query.lastCommitted.isEmpty)
    assert(scene.kafka.in(COMPLETE_ABORT) == Set(one.transactionalId))
  }

  test("unknown, because it cannot be read either: nothing is committed or aborted") {
    val (scene, query, thrown) = commit("for good")
    assert(thrown == "cannot be read" && query.lastCommitted.isEmpty)
    assert(scene.kafka.in(ONGOING) == Set(one.transactionalId))
  }
}

/** A local file system on which the decision fails to be renamed in the way that `fault` names. */
class FaultyFileSystem extends RawLocalFileSystem {
  private var broken = false

  override def getUri: URI = URI.create("faulty:///")

  override def rename(from: Path, to: Path): Boolean =
    if (!to.getName.matches("""\d+-\d+\.json""")) super.rename(from, to)
    else {
      val fault = getConf.get("fault")
      if (fault != "before the rename") super.rename(from, to)
      broken = fault == "for good"
      throw new IOException(fault)
    }

  override def open(file: Path, bufferSize: Int): org.apache.hadoop.fs.FSDataInputStream =
    if (broken && file.getName.matches("""\d+-\d+\.json""")) throw new IOException("cannot be read")
    else super.open(file, bufferSize)
}
