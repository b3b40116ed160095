package io.github.dynamickafka.sink.commit

import java.nio.file.{Files, Path}

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.{ClusterScope, SinkOptionsParser}
import io.github.dynamickafka.error.DynamicKafkaError
import io.github.dynamickafka.sink.transaction.{
  Prepared,
  ResumableProducer,
  TaskTransactions,
  TransactionName,
  TransactionPool
}
import io.github.dynamickafka.testkit.TimeLimit
import io.github.dynamickafka.time.Clock

/** Decisions and errors before any cluster is contacted. */
class TwoPhaseCommitSuite extends AnyFunSuite with TimeLimit {

  private val options = SinkOptionsParser.parse(new CaseInsensitiveStringMap(java.util.Map.of(
    "metadataService",
    "file",
    "streamId",
    "s"
  )))

  private def properties(id: String, known: Map[String, String]) =
    new ClusterScope(options.clusters, Set(id)).producer(id, known)

  private def commits(folder: Path, run: String = "run", steps: CommitProbe = CommitProbe.Untold) = {
    // Nothing listens at this address: contacting the cluster would fail.
    val clusters = new Clusters(properties, requestTimeoutMs = 1000L, commitTimeoutMs = 1000L)
    clusters.set(Map("blue" -> properties("blue", Map("bootstrap.servers" -> "127.0.0.1:1"))))
    new TwoPhaseCommit(
      TransactionName("p", "q", run),
      Some(new Journal(folder.toString, new Configuration)),
      ofStreams = true,
      Nil,
      clusters,
      replayLost = false,
      1000L,
      new TransactionPool(ResumableProducer.create(_), 60000L, Clock.System),
      steps,
      Clock.System
    )
  }

  private val task =
    TaskTransactions(Seq(Prepared("blue", "id", 1L, 0, 0, 1L, Seq("t"))), retried = false, 0, Map.empty)

  private def refused(body: => Unit): (String, String) = {
    val e = intercept[RuntimeException](body)
    e match {
      case ours: DynamicKafkaError => ours.getCondition.stripPrefix("DYNAMIC_KAFKA.") -> e.getMessage
      case other => fail(other)
    }
  }

  private def journal(folder: Path) = new Journal(folder.toString, new Configuration)

  private def newFolder(): Path = Files.createTempDirectory("dynamic-kafka-commit-")

  test(
    "a batch that Spark has not logged before writing is not decided (real-time mode logs it afterwards)"
  ) {
    val folder = newFolder()
    val (condition, text) = refused(commits(folder).commit(0L, Seq(task), System.nanoTime(), 60000L))
    assert(condition == "EXACTLY_ONCE_REFUSED" && text.contains("real-time mode"))
    assert(journal(folder).newest().isEmpty)
  }

  test("transactions that are too old are not committed") {
    val folder = newFolder()
    val started = System.nanoTime() - 31000L * 1000000L
    val (condition, text) = refused(commits(folder).commit(0L, Seq(task), started, 60000L))
    assert(condition == "TRANSACTIONS_ABORTED" && text.contains("the transaction timeout is 60000 ms"))
    assert(journal(folder).newest().isEmpty)
  }

  test("if another run has started since, nothing is decided") {
    val folder = newFolder()
    Files.createDirectories(folder.resolve("offsets"))
    Files.writeString(folder.resolve("offsets").resolve("0"), "v1")
    val first = commits(folder, "first")
    journal(folder).claim("q", "second")
    val (condition, text) = refused(first.commit(0L, Seq(task), System.nanoTime(), 60000L))
    assert(
      condition == "JOURNAL_CONFLICT" && text.contains("run 'second' of the query started after this run")
    )
    assert(journal(folder).newest().isEmpty)
  }

  private def planned(): Path = {
    val folder = newFolder()
    Files.createDirectories(folder.resolve("offsets"))
    Files.writeString(folder.resolve("offsets").resolve("0"), "v1")
    folder
  }

  /** A probe that runs `action` at one step. */
  private def at(named: String)(action: => Unit): CommitProbe = new CommitProbe {
    override def reached(step: String, batch: Long): Unit = if (step == named) action
    override def oneByOne: Boolean = false
  }

  test("if another run starts while this one decides, nothing is committed or aborted") {
    val folder = planned()
    val first = commits(folder, "first", at("claimed")(journal(folder).claim("q", "second")))
    // Contacting the cluster would fail with an error about the cluster.
    val (condition, text) = refused(first.commit(0L, Seq(task), System.nanoTime(), 60000L))
    assert(
      condition == "JOURNAL_CONFLICT" && text.contains("run 'second' of the query started after this run")
    )
    val from = System.nanoTime()
    first.abort(0L, Seq(task))
    assert(System.nanoTime() - from < 10000000000L)
    assert(journal(folder).newest().exists { case (entry, done) => entry.run == "first" && !done })
  }

  test("a decision made too late is replaced by the decision of the run that started afterwards") {
    val folder = planned()
    refused(commits(folder, "first", at("claimed")(journal(folder).claim("q", "second")))
      .commit(0L, Seq(task), System.nanoTime(), 60000L))
    val (condition, _) =
      refused(commits(folder, "second").commit(0L, Seq(task), System.nanoTime(), 60000L))
    assert(condition == "COMMIT_INCOMPLETE")
    assert(journal(folder).newest().exists { case (entry, done) => entry.run == "second" && !done })
  }

  test("the decision of a later run is kept") {
    val folder = planned()
    val first = commits(
      folder,
      "first",
      at("claimed") {
        journal(folder).claim("q", "second")
        refused(commits(folder, "second").commit(0L, Seq(task), System.nanoTime(), 60000L))
        ()
      }
    )
    val (condition, text) = refused(first.commit(0L, Seq(task), System.nanoTime(), 60000L))
    assert(
      condition == "JOURNAL_CONFLICT" && text.contains("run 'second' of the query started after this run")
    )
    assert(journal(folder).newest().exists { case (entry, done) => entry.run == "second" && !done })
  }

  test("a batch without records needs no decision") {
    val folder = newFolder()
    val c = commits(folder)
    c.commit(0L, Seq(task.copy(prepared = Nil)), System.nanoTime(), 60000L)
    assert(c.summary.transactions == 0 && journal(folder).newest().isEmpty)
  }

  test("a commit that does not finish in time: the decision stays, the error lists it, nothing is aborted") {
    val folder = newFolder()
    Files.createDirectories(folder.resolve("offsets"))
    Files.writeString(folder.resolve("offsets").resolve("0"), "v1")
    val c = commits(folder)
    val (condition, text) = refused(c.commit(0L, Seq(task), System.nanoTime(), 60000L))
    assert(
      condition == "COMMIT_INCOMPLETE" && text.contains("cluster 'blue', transaction 'id' (task 0, 1 records")
    )
    assert(journal(folder).newest().exists { case (entry, done) => entry.batch == 0 && !done })
    // An abort would contact the cluster, which does not exist, until its time limit.
    val from = System.nanoTime()
    c.abort(0L, Seq(task))
    assert(System.nanoTime() - from < 10000000000L)
  }
}
