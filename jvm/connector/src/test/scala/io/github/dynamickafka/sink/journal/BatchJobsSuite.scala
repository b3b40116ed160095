package io.github.dynamickafka.sink.journal

import java.nio.file.Files

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.sink.commit.CommitScene
import io.github.dynamickafka.testkit.TimeLimit

class BatchJobsSuite extends AnyFunSuite with TimeLimit {
  private val hadoop = new Configuration

  test("the journals of a query's jobs are deleted after ten batches, except those with an open decision") {
    val place = Files.createTempDirectory("dynamic-kafka-jobs-")
    def journals =
      Files.list(place.resolve("dynamic-kafka-jobs")).iterator.asScala.map(_.getFileName.toString)
        .filterNot(_.startsWith("batches-")).toSet
    def run(query: String, batch: Long, isDone: Boolean): Unit = {
      val id = s"$query/$batch"
      new BatchJobs(place.toString, query, hadoop).start(batch, id)
      val journal = Journal.ofNamedJob(place.toString, id, hadoop)
      journal.decide(CommitScene.entry(0L, 0))
      if (isDone) journal.finish(CommitScene.entry(0L, 0))
    }
    run("other", 0L, isDone = true)
    (0L to 14L).foreach(batch => run("q", batch, isDone = batch != 2L))
    assert(journals == (Set(2L) ++ (4L to 14L)).map(n => s"job-q%2F$n") + "job-other%2F0")
    assert(Journal.earlier(place.toString, hadoop).isEmpty)
    Journal.ofNamedJob(place.toString, "q/2", hadoop).finish(CommitScene.entry(0L, 0))
    run("q", 15L, isDone = true)
    assert(journals == (5L to 15L).map(n => s"job-q%2F$n").toSet + "job-other%2F0")
  }
}
