package io.github.dynamickafka.metadata.service

import java.io.{FileNotFoundException, FileOutputStream, IOException}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.attribute.FileTime
import java.nio.file.{Files, Path, Paths, StandardCopyOption}
import java.time.Instant
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.{CountDownLatch, TimeUnit}

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.MetadataServiceSpecs
import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException
import io.github.dynamickafka.metadata.KafkaMetadataService
import io.github.dynamickafka.testkit.TimeLimit

class FileMetadataServiceSuite extends AnyFunSuite with TimeLimit {

  private def withFile[A](body: Path => A): A = {
    val folder = Files.createTempDirectory("metadata file")
    try body(folder.resolve("streams.yaml"))
    finally
      Files.walk(folder).iterator.asScala.toSeq.reverse.foreach(Files.delete)
  }

  /** A document with `clusters` clusters in block style: every prefix of whole lines is a document, too. */
  private def document(clusters: Int): String = {
    val ids = (1 to clusters).map(i => f"c$i%04d")
    "version: 1\nclusters:\n" + ids.map(id =>
      s"  $id: {properties: {bootstrap.servers: '$id:9092'}}\n"
    ).mkString +
      "streams:\n  orders:\n    clusters:\n" + ids.map(id => s"      $id: {topics: [orders]}\n").mkString
  }

  private def write(file: Path, text: String): Unit = { Files.write(file, text.getBytes(UTF_8)); () }

  private def replace(file: Path, text: String): Unit = {
    val next = file.resolveSibling("next")
    write(next, text)
    Files.move(next, file, StandardCopyOption.ATOMIC_MOVE)
    ()
  }

  /** Writes unbuffered: each line is a write of its own, and the file stays open. */
  private def writeLines(file: Path, text: String): Unit = {
    val out = new FileOutputStream(file.toFile)
    try text.linesWithSeparators.foreach(line => out.write(line.getBytes(UTF_8)))
    finally out.close()
  }

  private def clusters(service: KafkaMetadataService): Int =
    service.describeStreams(java.util.List.of("orders")).get("orders").getClusterMetadataMap.size

  private def service(file: Path, ttlMs: Long = 0) =
    at(file.toString, new Configuration, ttlMs)

  private def at(path: String, conf: Configuration, ttlMs: Long = 0) = new FileMetadataService(
    ServiceArguments(MetadataServiceSpecs.File, "path" -> path, "ttlMs" -> ttlMs.toString),
    conf
  )

  test("the streams of the file, and an edit is seen by the next call") {
    withFile { file =>
      write(file, document(2))
      val files = service(file)
      assert(clusters(files) == 2)
      assert(files.getAllStreams().asScala.map(_.streamId) == Set("orders"))
      assert(files.describeStreams(java.util.List.of("other")).isEmpty)
      assert(files.isClusterActive("c0002"))
      assert(!files.isClusterActive("c0003"))
      write(file, document(3))
      assert(clusters(files) == 3)
      assert(files.isClusterActive("c0003"))
    }
  }

  test("an edit that keeps the length within one tick of the file's clock is seen") {
    withFile { file =>
      val old = FileTime.from(Instant.now().minusSeconds(3600))
      write(file, document(2))
      Files.setLastModifiedTime(file, old)
      val files = service(file)
      assert(clusters(files) == 2)
      write(file, document(2).replace("[orders]", "[others]"))
      Files.setLastModifiedTime(file, old)
      val topics = files.describeStreams(java.util.List.of("orders")).get("orders").getClusterMetadataMap
      assert(topics.get("c0001").getTopics.contains("others"))
    }
  }

  test("without snakeyaml a YAML file fails and the error says what to add; a JSON file is read") {
    withFile { file =>
      write(file, document(1))
      val failure = ServiceByName.answerWithout("snakeyaml", "file", s"path=$file")
      assert(failure.contains("DYNAMIC_KAFKA.METADATA_INVALID") && failure.contains(s"file $file"))
      assert(failure.contains("'org.yaml:snakeyaml:2.") && failure.contains("spark.jars.packages"))
      write(
        file,
        """{"version": 1, "clusters": {"blue": {"properties": {"bootstrap.servers": "b:1"}}},
          | "streams": {"orders": {"clusters": {"blue": {"topics": ["orders"]}}}}}""".stripMargin
      )
      assert(ServiceByName.answerWithout("snakeyaml", "file", s"path=$file") == "orders")
    }
  }

  test("an answer is reused within its time to live") {
    withFile { file =>
      write(file, document(2))
      val files = service(file, ttlMs = TimeUnit.HOURS.toMillis(1))
      assert(clusters(files) == 2)
      Files.delete(file)
      assert(clusters(files) == 2)
    }
  }

  test("a Hadoop URI, a relative path, and an outdated checksum file") {
    withFile { file =>
      write(file, document(1))
      write(file.resolveSibling(".streams.yaml.crc"), "crc\u0000nonsense")
      assert(clusters(at(s"file:$file", new Configuration)) == 1)
      val relative = Paths.get("").toAbsolutePath.relativize(file)
      // A plain path is local, whatever the default file system is.
      val conf = new Configuration
      conf.set("fs.defaultFS", "hdfs://nowhere:1")
      assert(clusters(at(relative.toString, conf)) == 1)
    }
  }

  test("a missing file, a directory or an unknown file system is a failure") {
    withFile { file =>
      assert(intercept[FileNotFoundException](clusters(service(file))).getMessage.contains("streams.yaml"))
      assert(intercept[IOException](clusters(service(file.getParent))).getMessage.contains("directory"))
      intercept[IOException](clusters(at("nope://a/b.yaml", new Configuration)))
      write(file, document(1))
      val files = service(file)
      assert(clusters(files) == 1)
      Files.delete(file)
      intercept[FileNotFoundException](clusters(files))
    }
  }

  test("an invalid file is a failure that names file and line, and a correction is read") {
    withFile { file =>
      write(file, "version: 1\nstreams: []\n")
      val files = service(file)
      val e = intercept[DynamicKafkaIllegalArgumentException](clusters(files))
      assert(e.getMessage.contains(s"file $file, line 2, key 'streams'"))
      write(file, document(1))
      assert(clusters(files) == 1)
    }
  }

  for (
    (state, cut) <- Seq[(String, String => String)](
      "nothing" -> (_ => ""),
      "a first part" -> (text => text.take(text.lastIndexOf("      c0003")))
    )
  ) test(s"a writer that has written $state and is slow: the file is read when it is complete") {
    withFile { file =>
      val opened = new OpenedFiles
      write(file, document(3))
      val files = at(s"opened://$file", opened.conf)
      assert(clusters(files) == 3)
      write(file, cut(document(3)))
      // Longer than content has to stay the same that is no part of the document before.
      opened.at(opens = 4)(() => write(file, document(3) + "# complete\n"))
      assert(clusters(files) == 3)
    }
  }

  test("a beginning of the document before is read when it has stayed the same for a second") {
    withFile { file =>
      val all = document(2) + "  other:\n    clusters:\n      c0001: {topics: [other]}\n"
      write(file, all)
      val files = service(file)
      assert(files.getAllStreams().size == 2)
      write(file, document(2))
      // The clock of another machine may be ahead.
      Files.setLastModifiedTime(file, FileTime.from(Instant.now().plusSeconds(3600)))
      assert(files.getAllStreams().size == 1)
      write(file, "")
      val e = intercept[DynamicKafkaIllegalArgumentException](files.getAllStreams())
      assert(e.getMessage.contains("the document is empty"))
    }
  }

  test("an emptied file is waited for, also if the clock of the file system is behind") {
    withFile { file =>
      val opened = new OpenedFiles
      write(file, document(3))
      val files = at(s"opened://$file", opened.conf)
      assert(clusters(files) == 3)
      val behind = FileTime.from(Instant.now().minusSeconds(30))
      write(file, "")
      Files.setLastModifiedTime(file, behind)
      opened.at(opens = 4)(() => write(file, document(3) + "# complete\n"))
      assert(clusters(files) == 3)
    }
  }

  /** Reads while another thread rewrites the file. Returns the number of clusters of each read. */
  private def reading(reads: Int, files: KafkaMetadataService)(rewrite: Int => Unit): Seq[Int] = {
    val stop = new AtomicBoolean(false)
    val begun = new CountDownLatch(1)
    val writer = new Thread(() => {
      var i = 0
      while (!stop.get) {
        rewrite(i)
        begun.countDown()
        i += 1
      }
    })
    writer.start()
    try {
      begun.await()
      (1 to reads).map(_ => clusters(files))
    } finally {
      stop.set(true)
      writer.join()
    }
  }

  test("replaced by renames continuously: no read fails, and each returns one of the documents") {
    withFile { file =>
      val documents = IndexedSeq(40, 60).map(document)
      replace(file, documents(0))
      assert(reading(
        reads = 10,
        service(file)
      )(i => replace(file, documents(i % 2))).toSet.subsetOf(Set(40, 60)))
    }
  }

  test("replaced by renames continuously, each time with another document: no read fails") {
    withFile { file =>
      replace(file, document(40))
      val found = reading(reads = 2, service(file))(i => replace(file, document(40) + s"# $i\n"))
      assert(found.toSet == Set(40))
    }
  }

  test("rewritten in place, line by line: a partial document is never returned") {
    withFile { file =>
      val text = document(200)
      writeLines(file, text)
      val gap = new CountDownLatch(1)
      val files = service(file)
      assert(clusters(files) == 200)
      val found = reading(reads = 5, files) { _ =>
        writeLines(file, text)
        gap.await(500, TimeUnit.MILLISECONDS)
        ()
      }
      assert(found.toSet == Set(200))
    }
  }

  test("rewritten in place continuously: a complete document or a failure, never a partial one") {
    withFile { file =>
      val text = document(200)
      writeLines(file, text)
      val files = service(file)
      assert(clusters(files) == 200)
      val found =
        try reading(reads = 1, files)(i => writeLines(file, text + s"# $i\n"))
        catch {
          case e: IOException =>
            assert(e.getMessage.contains("modified continuously"))
            Seq(200)
        }
      assert(found == Seq(200))
    }
  }
}
