package io.github.dynamickafka.sink

import java.nio.file.{Files, Path}

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.DataFrame

import io.github.dynamickafka.metadata.service.ServiceRegistry
import io.github.dynamickafka.sink.commit.{Journal, Prepared, PreparedScene}
import io.github.dynamickafka.source.{Entry, EntryService, Queries, Query, Target}
import io.github.dynamickafka.storage.RecordingFileManager
import io.github.dynamickafka.testkit.{KafkaCluster, TestAll}

/** What a start of a query that writes exactly once does, in Spark and on brokers, after its driver died or its checkpoint changed. */
class RestartedSinkSuite extends Queries {
  private val Next = Seq(
    ExactlyOnce,
    "writeFailover" -> "next",
    "clusterRequestTimeoutMs" -> "2000",
    "commitTimeoutMs" -> "3000"
  )

  private final class Restarted(t: Target, s: Query) {
    private val from = newTopicOn(2, blue)
    val topic: String = newTopicOn(2, blue, green, red)
    s.orders(Entry("blue", blue, from))

    def on(cluster: KafkaCluster): Seq[Int] = committed(cluster, topic).map(_.value.toInt).sorted
    def all: Seq[Int] = Seq(blue, green, red).flatMap(on).sorted
    def input(numbers: Range): Unit = produce(blue, from, 2, numbers.map(_.toString))
    def frame: DataFrame = s.frame().select("key", "value")
    def run(options: (String, String)*): Unit = { val _ = t.catchUp(frame, options: _*) }
    def dies(step: String, options: (String, String)*): Unit = dying(step)(t.start(frame, options: _*))

    /** Why a start fails. */
    def fails(options: (String, String)*): (String, String) = {
      val e = refused(t.start(frame, options: _*))
      condition(e) -> text(e)
    }

    def entry(cluster: KafkaCluster): Entry = Entry(cluster.name, cluster, topic)
    def dead(cluster: KafkaCluster): Entry =
      Entry(cluster.name, Map("bootstrap.servers" -> "127.0.0.1:1"), Seq(topic))

    /** Deletes a file of the checkpoint, with its checksum. */
    def lose(file: String): Unit = {
      val path: Path = t.checkpoint.resolve(file)
      Files.delete(path)
      Files.deleteIfExists(path.resolveSibling(s".${path.getFileName}.crc"))
      ()
    }
  }

  private def expire(transaction: Prepared): Unit =
    PreparedScene.expire(if (transaction.cluster == "blue") blue else green, transaction)

  private def restarted(body: (Target, Restarted) => Any): Unit = target { t =>
    scene { s =>
      body(t, new Restarted(t, s))
      ()
    }
  }

  test(
    "Spark has lost the last batch and plans it with more records: JOURNAL_CONFLICT, and its remedy loses none"
  ) {
    restarted { (t, r) =>
      t.out(r.entry(blue), r.entry(green))
      Seq(0 until 10, 10 until 20).foreach { numbers =>
        r.input(numbers)
        r.run(ExactlyOnce)
      }
      Seq("commits/1", "offsets/1").foreach(r.lose)
      r.input(20 until 30)
      val (condition, text) = r.fails(ExactlyOnce)
      assert(
        condition == "JOURNAL_CONFLICT" && text.contains("has planned another batch with this number"),
        text
      )
      assert(r.all == (0 until 20))
      Seq("json", "done").foreach(ending => r.lose(s"${Journal.Folder}/1-0.$ending"))
      r.run(ExactlyOnce)
      assert(r.all == ((0 until 30) ++ (10 until 20)).sorted)
    }
  }

  test("what is decided is committed before anything else, also on a cluster that has left the metadata") {
    restarted { (t, r) =>
      t.out(r.entry(blue), r.entry(green))
      r.input(0 until 20)
      r.dies("decided", ExactlyOnce)
      assert(r.all.isEmpty)
      t.out(r.entry(blue))
      // The next batch cannot be planned.
      assert(r.fails(ExactlyOnce, "kafka.transaction.timeout.ms" -> "900001")._1 == "INVALID_OPTION")
      assert(r.all == (0 until 20) && r.on(green).nonEmpty)
      r.input(20 until 30)
      r.run(ExactlyOnce)
      assert(r.all == (0 until 30))
    }
  }

  test(
    "the commit log has a decided batch by hand, and Kafka has aborted it: PARTIAL_COMMIT, and its remedy loses none"
  ) {
    restarted { (t, r) =>
      val replay = Seq(ExactlyOnce, "partialCommitPolicy" -> "replay-lost-partitions")
      t.out(r.entry(blue), r.entry(green))
      r.input(0 until 10)
      r.run(ExactlyOnce)
      r.input(10 until 20)
      r.dies("decided", ExactlyOnce)
      new Journal(t.checkpoint.toString, new Configuration).newest().toSeq.flatMap(_._1.transactions).foreach(
        expire
      )
      Files.copy(t.checkpoint.resolve("commits/0"), t.checkpoint.resolve("commits/1"))
      r.input(20 until 30)
      Seq(Seq(ExactlyOnce), replay).foreach { options =>
        val (condition, text) = r.fails(options: _*)
        assert(condition == "PARTIAL_COMMIT", text)
        Seq("'commits/1'", "after 'offsets/1'", "'1-*'").foreach(what => assert(text.contains(what), text))
      }
      assert(r.all == (0 until 10))
      Seq("commits/1", "offsets/2", s"${Journal.Folder}/1-0.json").foreach(r.lose)
      r.run(ExactlyOnce)
      assert(r.all == (0 until 30))
    }
  }

  test(
    "writeFailover: a decided batch is completed first, and waits for a cluster that does not respond",
    TestAll
  ) {
    restarted { (t, r) =>
      t.out(r.entry(blue), r.entry(green))
      r.input(0 until 20)
      r.dies("decided", Next: _*)
      t.out(r.entry(blue), r.dead(green))
      r.input(20 until 40)
      assert(r.fails(Next: _*)._1 == "COMMIT_INCOMPLETE")
      assert(r.all.isEmpty)
      t.out(r.entry(blue), r.entry(green))
      r.run(Next: _*)
      assert(r.all == (0 until 40))
    }
  }

  test(
    "writeFailover: what is lost of a batch is written again to its own clusters, also if the one that was left out responds",
    TestAll
  ) {
    restarted { (t, r) =>
      val replay = Next :+ ("partialCommitPolicy" -> "replay-lost-partitions")
      t.out(r.entry(blue), r.entry(green), r.dead(red))
      r.input(0 until 40)
      r.dies("between-commits", Next: _*)
      val decided = new Journal(t.checkpoint.toString, new Configuration).newest().map(_._1)
      assert(decided.exists(_.leftOut == Set("red")))
      decided.toSeq.flatMap(_.transactions).tail.foreach(expire)
      t.out(Seq(blue, green, red).map(r.entry): _*)
      r.run(replay: _*)
      assert(r.all == (0 until 40) && r.on(red).isEmpty)
      r.input(40 until 80)
      r.run(replay: _*)
      assert(r.all == (0 until 80) && r.on(red).nonEmpty)
    }
  }

  test("the first answer after a restart lacks a cluster of the last decision: it is not believed at once") {
    restarted { (t, r) =>
      val both = Seq(r.entry(blue), r.entry(green))
      t.out(both: _*)
      r.input(0 until 10)
      r.run(ExactlyOnce, "clusterRouting" -> "all")
      // Of another driver, which has not seen an answer yet.
      val service = new EntryService
      val handle = ServiceRegistry.register(service)
      def run(answers: Seq[Entry]*): Unit = {
        val next = answers.iterator
        service.behave = () => if (next.hasNext) service.streams = Map("out" -> next.next())
        r.run(ExactlyOnce, "clusterRouting" -> "all", "metadataService.handle" -> handle)
      }
      try {
        r.input(10 until 20)
        run(both.take(1), both)
        assert(Seq(blue, green).forall(r.on(_) == (0 until 20)))
      } finally ServiceRegistry.unregister(handle)
    }
  }

  test("the files of the journal are written by the file manager of the session") {
    restarted { (t, r) =>
      t.out(r.entry(blue))
      r.input(0 until 2)
      val name = "spark.sql.streaming.checkpointFileManagerClass"
      spark.conf.set(name, classOf[RecordingFileManager].getName)
      try r.run(ExactlyOnce)
      finally spark.conf.unset(name)
      val written = RecordingFileManager.created.map(_._1.toString).filter(_.contains(s"${t.checkpoint}/"))
      Seq("offsets/0", s"${Journal.Folder}/run-[0-9]+.json", s"${Journal.Folder}/0-0.json").foreach { file =>
        assert(written.exists(_.matches(s".*/$file")), s"$file: $written")
      }
    }
  }
}
