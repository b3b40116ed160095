package io.github.dynamickafka.source

import java.net.URI
import java.nio.file.{Files, Paths}

import org.apache.spark.sql.streaming.Trigger

/** A history in a table of Iceberg: its snapshot is read file by file, whatever happens to the table. */
class IcebergHistorySuite extends IcebergTest {

  Seq(Nil, Seq("alignment" -> "timestamp", "alignmentMaxDrift" -> "1h")).foreach { more =>
    test(s"the files in the order of their times, and then Kafka, exactly once ${more.mkString}") {
      archived(_.fourFiles()) { a =>
        a.scene.catchUp(more :+ oneFile: _*)
        assertSame(a.scene.seen, a.all)
        val batches = (0L to 3L).map(a.scene.batch(_).map(_.offset).toSet)
        assert(batches == Seq(0L to 3L, 4L to 5L, 6L to 8L, 9L to 11L).map(_.toSet))
        assert(a.scene.batch(4).forall(_.value.startsWith("new")) && a.scene.batchCount == 5)
      }
    }
  }

  test("files that are not read count in the lag in time of their clusters") {
    archived(_.fourFiles()) { a =>
      val begun = System.currentTimeMillis()
      val query = a.scene.start(Trigger.AvailableNow(), oneFile)
      assert(query.awaitTermination(300000))
      val took = System.currentTimeMillis() - begun
      val all = query.recentProgress.toSeq.filter(_.numInputRows > 0).map(_.sources.head.metrics)
      // The minutes of the first unread records, of which the last ones are in Kafka.
      for ((m, minute) <- all.zip(Seq(4, 6, 9)); id <- Seq("blue", "green")) {
        val lag = m.get(s"eventTimeLagMs.$id").toLong - (begun - Noon - minute * 60000L)
        assert(lag >= 0 && lag <= took && m.get(s"eventTimeDriftMs.$id") == "0", m)
      }
      assert(all.size == 5 && all.last.get("eventTimeLagMs.blue") == "0", all)
    }
  }

  test("files that have rows of the same times are each read once") {
    archived { a =>
      a.create()
      (0 until 4).foreach(i => a.append(s"offset % 4 = $i"))
    } { a =>
      a.scene.catchUp("historyFilesPerTrigger" -> "3")
      assertSame(a.scene.seen, a.all)
      assert(a.scene.sizes == Seq(18, 6, 6))
    }
  }

  test("a batch does not read files of other times") {
    archived(_.fourFiles()) { a =>
      val read = a.sql("SELECT DISTINCT _file FROM {} WHERE offset = 0").map(_.getString(0))
      a.scene.inBatch = id =>
        if (id == 0) read.foreach(file => Files.delete(Paths.get(new URI(file).getPath)))
      a.scene.catchUp(oneFile)
      assert(read.size == 1)
      assertSame(a.scene.seen, a.all)
    }
  }

  test("a table that is read by columns") {
    archived(_.fourFiles(headers = false)) { a =>
      spark.conf.set("spark.sql.codegen.wholeStage", "true")
      try a.scene.catchUp(oneFile)
      finally spark.conf.set("spark.sql.codegen.wholeStage", "false")
      assertSame(a.scene.seen, a.all)
    }
  }

  test("rows that are deleted in a file that has others are not read") {
    archived { a =>
      a.fourFiles()
      a.sql("DELETE FROM {} WHERE offset % 3 = 0")
    } { a =>
      assert(a.numbers("SELECT count(*) FROM {}.delete_files").head > 0)
      a.scene.catchUp(oneFile)
      assertSame(a.scene.seen, a.all.filterNot(r => r.value.startsWith("old") && r.offset % 3 == 0))
    }
  }

  test("a table that is named by its location") {
    archived(_.fourFiles()) { a =>
      a.history(a.location)
      a.scene.catchUp(oneFile)
      assertSame(a.scene.seen, a.all)
    }
  }

  test("a snapshot that the history names") {
    archived { a =>
      a.fourFiles()
      a.append("true")
    } { a =>
      a.history(a.table, "versionAsOf" -> a.parent.toString)
      a.scene.catchUp(oneFile)
      assertSame(a.scene.seen, a.all)
    }
  }

  test("what happens to the table after the first start makes no difference, also after failures") {
    archived(_.fourFiles()) { a =>
      val first = a.snapshot
      val changes = Seq[() => Any](
        () => a.append("true"),
        () => a.sql("DELETE FROM {} WHERE offset % 3 = 0"),
        () => a.call("rewrite_data_files", "options => map('rewrite-all', 'true')"),
        () => a.sql("CREATE OR REPLACE TABLE {} USING iceberg AS SELECT * FROM {} LIMIT 1")
      )
      changes.zipWithIndex.foreach { case (change, batch) =>
        a.scene.inBatch = id =>
          if (id == batch) {
            change()
            throw new IllegalStateException("fails")
          }
        val query = a.scene.start(Trigger.AvailableNow(), oneFile)
        eventually(assert(!query.isActive))
      }
      a.scene.inBatch = _ => ()
      a.scene.catchUp(oneFile)
      assert(a.snapshot != first && a.scene.repeated == Set(0L, 1L, 2L, 3L))
      assertSame(a.scene.seen, a.all)
    }
  }

  test("a table that is rolled back after the first start") {
    archived { a =>
      a.create()
      a.append("offset < 6")
      a.append("offset >= 6")
    } { a =>
      val before = a.parent
      a.scene.inBatch =
        id => if (id == 0) { a.call("rollback_to_snapshot", s"snapshot_id => $before"); () }
      a.scene.catchUp(oneFile)
      assert(a.snapshot == before)
      assertSame(a.scene.seen, a.all)
    }
  }

  private val losses = Seq[(String, Archive => Any)](
    "a snapshot that has expired" -> { a =>
      a.sql("INSERT OVERWRITE {} SELECT * FROM {}")
      a.call("expire_snapshots", "older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1")
    },
    "a snapshot of a table that was dropped and created again" -> { a =>
      a.sql("DROP TABLE {}")
      a.fourFiles()
    },
    "a snapshot of a table that was dropped" -> (_.sql("DROP TABLE {}"))
  )
  losses.foreach { case (what, lose) =>
    test(s"$what is METADATA_INVALID, also after a restart") {
      archived(_.fourFiles()) { a =>
        val first = a.snapshot
        a.scene.inBatch = id => if (id == 1) { lose(a); () }
        (1 to 2).foreach { _ =>
          val e = refused(a.scene.start(Trigger.AvailableNow(), oneFile))
          assert(condition(e) == "METADATA_INVALID")
          Seq("stream 'orders'", a.table, s"snapshot $first").foreach(part => assert(text(e).contains(part)))
        }
        assertSame(a.scene.seen, a.all.filter(_.offset < 6))
      }
    }
  }

  test("a table that cannot be planned is METADATA_INVALID with its name") {
    archived(_.sql("CREATE TABLE {} (value BINARY, timestamp TIMESTAMP) USING iceberg")) { a =>
      Seq(
        (s"${a.table}_missing", Nil, "cannot be read"),
        (a.table, Nil, "has no snapshot"),
        (a.table, Seq("versionAsOf" -> "main"), "'versionAsOf' is not the id of a snapshot"),
        (a.table, Seq("versionAsOf" -> "1"), "cannot be read")
      ).foreach { case (path, options, says) =>
        a.history(path, options: _*)
        val e = refused(a.scene.start(Trigger.AvailableNow()))
        assert(condition(e) == "METADATA_INVALID")
        Seq("stream 'orders'", path, says).foreach(part => assert(text(e).contains(part), text(e)))
      }
    }
  }
}
