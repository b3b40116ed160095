package io.github.dynamickafka.storage

import java.io.IOException
import java.nio.file.{FileSystemException, Files}
import java.util.UUID
import java.util.concurrent.CountDownLatch

import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, Future}
import scala.util.{Failure, Success, Try}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileAlreadyExistsException, FileSystem, Path}
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit

/** What is written atomically, by whom, if a writer dies, fails or meets another one at any step. */
class AtomicFilesSuite extends AnyFunSuite with TimeLimit with AtomicFilesBehavior {
  import ObjectStore._

  testsFor(atomicFiles("a local folder", newFolder _, new Configuration, new Configuration))
  Kinds.foreach(kind =>
    testsFor(atomicFiles(s"an object store ($kind)", () => newPlace()._1, of("a", kind), of("b", kind)))
  )

  private def read(file: Path) = new AtomicFiles(file.getParent, new Configuration).read(file)

  private def newFolder() = new Path(Files.createTempDirectory("dynamic-kafka-files-").toUri)

  private def newPlace(): (Path, ObjectStore) = {
    val name = UUID.randomUUID().toString
    new Path(s"objects://$name/checkpoint") -> ObjectStore.named(name)
  }

  private val Key = "/checkpoint/file"

  /** A scenario with the files of two drivers, for each kind of store. */
  private def stores(scenario: (Kind, Path, ObjectStore, AtomicFiles, AtomicFiles) => Unit): Unit =
    Kinds.foreach { kind =>
      val (folder, store) = newPlace()
      scenario(
        kind,
        new Path(folder, "file"),
        store,
        new AtomicFiles(folder, of("a", kind)),
        new AtomicFiles(folder, of("b", kind))
      )
    }

  test("a writer dies at any step of a new file: it is whole or absent, and others can continue") {
    Kinds.foreach { kind =>
      val steps = atEachStep("a") { stepped =>
        val (folder, store) = newPlace()
        val file = new Path(folder, "file")
        stepped.dying(store)(new AtomicFiles(folder, of("a", kind)).create(file, "mine"))
        val others = new AtomicFiles(folder, of("b", kind))
        val left = store.text(Key)
        assert(left.forall(_ == "mine"), stepped.where)
        Try(others.create(file, "other")) match {
          case Success(()) => assert(left.isEmpty && store.text(Key).contains("other"), stepped.where)
          case Failure(e) =>
            assert(
              e.isInstanceOf[FileAlreadyExistsException] && store.text(Key) == left && left.nonEmpty,
              stepped.where
            )
        }
      }
      assert(steps >= 4, s"$kind")
    }
  }

  test(
    "a writer dies at any step of a replacement: the file is the former or the new one, and can be replaced"
  ) {
    Kinds.foreach { kind =>
      val steps = atEachStep("a") { stepped =>
        val (folder, store) = newPlace()
        val file = new Path(folder, "file")
        val others = new AtomicFiles(folder, of("b", kind))
        others.create(file, "former")
        stepped.dying(store)(new AtomicFiles(folder, of("a", kind)).replace(file, "new"))
        // The store has no rename that replaces a file, so that there may be none for a moment.
        assert(store.text(Key).forall(Set("former", "new")), stepped.where)
        others.replace(file, "newest")
        assert(store.text(Key).contains("newest"), stepped.where)
      }
      assert(steps >= 4, s"$kind")
    }
  }

  test(
    "a request fails at any step: a reported write is complete, and a complete one is reported unless it cannot be read back"
  ) {
    Kinds.foreach { kind =>
      val steps = atEachStep("a") { stepped =>
        val (folder, store) = newPlace()
        val files = new AtomicFiles(folder, of("a", kind))
        val result = stepped.during(store)(throw new IOException("lost"))(Try(files.create(
          new Path(folder, "file"),
          "mine"
        )))
        val isThere = store.text(Key).contains("mine")
        result match {
          case Success(()) => assert(isThere, stepped.where)
          case Failure(e) =>
            assert(
              !e.isInstanceOf[FileAlreadyExistsException] && e.getMessage.contains("lost"),
              stepped.where
            )
            // Only if it cannot be read back.
            assert(!isThere || stepped.operation.contains("get"), stepped.where)
        }
      }
      assert(steps >= 4, s"$kind")
    }
  }

  test("another writer at any step: one wins where writes are conditional, at least one elsewhere") {
    val both = Kinds.map { kind =>
      var twice = 0
      atEachStep("a") { stepped =>
        val (folder, store) = newPlace()
        val file = new Path(folder, "file")
        def wins(driver: String) = Try(new AtomicFiles(folder, of(driver, kind)).create(file, driver)) match {
          case Success(()) => true
          case Failure(e) => assert(e.isInstanceOf[FileAlreadyExistsException], stepped.where); false
        }
        var second = false
        val first = stepped.during(store) { second = wins("b") }(wins("a"))
        if (stepped.isReached) {
          assert(first || second, stepped.where)
          if (first && second) twice += 1
          assert(store.text(Key).exists(winner => if (winner == "a") first else second), stepped.where)
        }
      }
      kind -> (twice > 0)
    }
    // Between looking for the file and copying it there, as docs/sink.md says.
    assert(both.toMap == Map(ByFileSystem -> true, ByFileContext -> true, Conditional -> false))
  }

  test("of several writers of a local file at the same time, one wins, and the file is its own") {
    val folder = newFolder()
    (1 to 20).foreach { round =>
      val file = new Path(folder, s"$round")
      val all = (1 to 3).map(_.toString)
      val begin = new CountDownLatch(1)
      val results = all.map(writer =>
        Future {
          begin.await()
          Try(new AtomicFiles(folder, new Configuration).create(file, writer))
        }
      )
      begin.countDown()
      val found = all.zip(results.map(Await.result(_, 1.minute)))
      assert(found.collect { case (writer, Success(())) => writer } == read(file).toSeq, s"round $round")
      found.collect { case (_, Failure(e)) => assert(e.isInstanceOf[FileAlreadyExistsException]) }
    }
  }

  test("a local file system without links: a file is written once") {
    val file = new Path(newFolder(), "file")
    Seq(new UnsupportedOperationException, new FileSystemException("Operation not permitted")).foreach {
      error =>
        val writes = new LocalWrite(FileSystem.getLocal(new Configuration), (_, _) => throw error)
        writes.replace(file, "former".getBytes)
        intercept[FileAlreadyExistsException](writes.create(file, "mine".getBytes))
        assert(read(file).contains("former"))
        new AtomicFiles(file.getParent, new Configuration).delete(file)
        writes.create(file, "mine".getBytes)
        assert(read(file).contains("mine"))
        assert(new java.io.File(file.getParent.toUri).list.toSeq == Seq("file"))
    }
  }

  test("a local file can be read beside the checksum of a former file of its name") {
    val file = new Path(newFolder(), "file")
    val spark = SparkFileManager.of(file.getParent, new Configuration)
    val files = new AtomicFiles(file.getParent, new Configuration)
    def writeAsSpark(): Unit = new ManagedWrite(spark).replace(file, "former".getBytes)
    writeAsSpark()
    // As somebody who does not see hidden files.
    Files.delete(java.nio.file.Paths.get(file.toUri))
    files.create(file, "mine")
    assert(files.read(file).contains("mine"))
    writeAsSpark()
    files.replace(file, "newest")
    assert(files.read(file).contains("newest"))
  }

  test("a file that is overwritten or deleted before it is read back belongs to the other writer") {
    Seq("overwritten" -> Some("other"), "deleted" -> None).foreach { case (what, left) =>
      stores { (kind, file, store, files, _) =>
        store.at = step =>
          if (step.isDone && Set("copy", "put-if-absent")(step.operation) && step.path == Key)
            left.fold(store.remove(Key))(text => store.put(Key, text.getBytes("UTF-8")))
        val e = intercept[FileAlreadyExistsException](files.create(file, "mine"))
        assert(e.getMessage.contains(what), s"$kind")
        store.at = _ => ()
        assert(files.read(file) == left)
      }
    }
  }

  test("the file manager of the session is used, also instead of conditional writes") {
    val (folder, store) = newPlace()
    val hadoop = of("a", Conditional)
    hadoop.set("spark.sql.streaming.checkpointFileManagerClass", classOf[RecordingFileManager].getName)
    var operations = Set.empty[String]
    store.at = step => operations += step.operation
    new AtomicFiles(folder, hadoop).create(new Path(folder, "file"), "mine")
    assert(operations("copy") && !operations("put-if-absent"))
    assert(RecordingFileManager.created.contains(new Path(folder, "file") -> false))
  }

  test("the content of a file is synced before the file has its name") {
    val folder = newFolder()
    val hadoop = new Configuration
    hadoop.set("spark.sql.streaming.checkpointFileManagerClass", classOf[RecordingFileManager].getName)
    val files = new AtomicFiles(folder, hadoop)
    val (created, replaced) = (new Path(folder, "created"), new Path(folder, "replaced"))
    files.create(created, "a")
    files.replace(replaced, "b")
    assert(Set(created, replaced).subsetOf(RecordingFileManager.synced))
    assert(files.read(created).contains("a") && files.read(replaced).contains("b"))
  }
}

/** What holds on each file system. */
trait AtomicFilesBehavior { this: AnyFunSuite =>

  /**
   * @param newFolder a folder in which nothing was written
   * @param first the configuration of a driver, `second` that of another one
   */
  def atomicFiles(
      where: String,
      newFolder: () => Path,
      first: => Configuration,
      second: => Configuration
  ): Unit = {

    test(s"$where: a new file is written once, in a folder that may not exist") {
      val folder = newFolder()
      val file = new Path(folder, "deep/er/file.json")
      val (one, two) = (new AtomicFiles(folder, first), new AtomicFiles(folder, second))
      assert(one.read(file).isEmpty && !one.exists(file) && one.names(file.getParent).isEmpty)
      one.create(file, "mine \u00e4")
      assert(two.read(file).contains("mine \u00e4") && two.exists(file))
      Seq(one, two).foreach(files => intercept[FileAlreadyExistsException](files.create(file, "other")))
      assert(one.read(file).contains("mine \u00e4"))
      assert(one.names(file.getParent).filterNot(_.endsWith(".crc")) == Seq("file.json"))
    }

    test(s"$where: a file is replaced, also if there is none, and deleted, also if there is none") {
      val folder = newFolder()
      val file = new Path(folder, "file")
      val files = new AtomicFiles(folder, first)
      Seq("", "one", "two", "").foreach { text =>
        files.replace(file, text)
        assert(new AtomicFiles(folder, second).read(file).contains(text))
      }
      files.delete(file)
      files.delete(file)
      assert(!files.exists(file))
      files.create(file, "again")
    }

    test(s"$where: a folder is deleted with its content, and can be written again") {
      val folder = newFolder()
      val files = new AtomicFiles(folder, first)
      val file = new Path(folder, "inner/file")
      files.create(file, "x")
      assert(files.list(folder).filter(_.isDirectory).map(_.getPath.getName) == Seq("inner"))
      files.delete(file.getParent)
      assert(files.read(file).isEmpty)
      files.create(file, "y")
      assert(files.read(file).contains("y"))
    }
  }
}
