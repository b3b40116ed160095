package io.github.dynamickafka.sink.commit

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileAlreadyExistsException
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.Checkers

import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.testkit.TimeLimit

class JournalSuite extends AnyFunSuite with TimeLimit with Checkers {

  private def newFolder(): Path = Files.createTempDirectory("dynamic-kafka-journal-")
  private def journal(folder: Path) = new Journal(folder.toString, new Configuration)

  private def entry(batch: Long, round: Int = 0, query: String = "q") =
    JournalEntry(
      Claim(query, "run", "i", 1L, "l"),
      batch,
      round,
      Input,
      Seq(Prepared("blue", "id", 1L, 2, 3, 4L, Seq("t"))),
      Map.empty
    )

  private def ofOther(batch: Long) = {
    val mine = entry(batch)
    mine.copy(claim = mine.claim.copy(run = "other"))
  }

  private val Input = BatchInput.of("offsets/1" -> "v1")

  private def conflict(body: => Any): String = {
    val e = intercept[DynamicKafkaRuntimeException](body)
    assert(e.getCondition == "DYNAMIC_KAFKA.JOURNAL_CONFLICT")
    e.getMessage
  }

  test("what is written is read back, with any text") {
    val text = Gen.oneOf(Gen.alphaNumStr, Gen.asciiPrintableStr)
    val prepared = for {
      cluster <- text
      id <- text
      producer <- Gen.chooseNum(0L, Long.MaxValue)
      epoch <- Gen.chooseNum(0, Short.MaxValue.toInt)
      partition <- Gen.chooseNum(0, 100000)
      rows <- Gen.chooseNum(1L, Long.MaxValue)
      topics <- Gen.listOf(text)
    } yield Prepared(cluster, id, producer, epoch.toShort, partition, rows, topics)
    val entries = for {
      transactions <- Gen.listOf(prepared)
      batch <- Gen.chooseNum(0L, Long.MaxValue)
      round <- Gen.chooseNum(0, 9)
      clusters <- Gen.mapOf(Gen.zip(text, Gen.zip(Gen.option(text), Gen.mapOf(Gen.zip(text, text)))))
      input <- Gen.mapOf(Gen.zip(text, text))
      generation <- Gen.chooseNum(1L, Long.MaxValue)
      leftOut <- Gen.listOf(text)
    } yield JournalEntry(
      Claim("q", "r", "i", generation, "l"),
      batch,
      round,
      BatchInput(input),
      transactions,
      clusters.map { case (id, (kafkaId, known)) => id -> JournalCluster(kafkaId, known) },
      leftOut.toSet
    )
    check(forAll(entries)(e => JournalJson.read[JournalEntry](JournalJson.write(e), "here") == e))
  }

  test("the journals of earlier jobs are the folders of their jobs") {
    val folder = newFolder()
    assert(Journal.earlier(folder.toString, new Configuration).isEmpty)
    Seq("one", "two").foreach(Journal.ofJob(folder.toString, _, new Configuration).decide(entry(0L)))
    Files.createFile(folder.resolve("dynamic-kafka-jobs").resolve("left-over"))
    val found = Journal.earlier(folder.toString, new Configuration)
    assert(found.flatMap(_.newest()) == Seq.fill(2)(entry(0L) -> false))
  }

  test("the newest decision, and whether it is finished") {
    val j = journal(newFolder())
    assert(j.newest().isEmpty)
    Seq(9L, 10L, 11L).foreach { batch =>
      j.decide(entry(batch))
      assert(j.newest().contains(entry(batch) -> false))
      j.finish(entry(batch))
      assert(j.newest().contains(entry(batch) -> true))
    }
    j.decide(entry(11, round = 1))
    assert(j.newest().contains(entry(11, round = 1) -> false))
    assert(j.rounds(11).map(_.round) == Seq(0, 1))
    j.retract(entry(11, round = 1))
    assert(j.newest().contains(entry(11) -> true))
  }

  test("a batch is decided once; an error on the way does not hide an existing decision") {
    val folder = newFolder()
    val decided = entry(3)
    journal(folder).decide(decided)
    val other = decided.copy(claim = decided.claim.copy(run = "other"))
    assert(conflict(journal(folder).decide(other)).contains("another run of the query has decided batch 3"))
    assert(!journal(folder).has(other) && !journal(folder).has(entry(4)))
    intercept[FileAlreadyExistsException](journal(folder).decide(decided))
    assert(journal(folder).has(decided))
  }

  test("old decisions are deleted, and no other files are left") {
    val folder = newFolder()
    val j = journal(folder)
    (0L to 30L).foreach { batch =>
      j.decide(entry(batch))
      j.finish(entry(batch))
    }
    conflict(j.decide(ofOther(30)))
    val names = Files.list(folder.resolve(Journal.Folder)).iterator.asScala.map(_.getFileName.toString)
    val kept = (20 to 30).flatMap(batch => Seq(s"$batch-0.json", s"$batch-0.done"))
    assert(names.toSet == kept.toSet)
  }

  test("decisions of another query are dropped: its checkpoint was deleted") {
    val j = journal(newFolder())
    j.decide(entry(5, query = "old"))
    j.claim("new", "run")
    assert(j.newest().isEmpty)
  }

  test("a damaged file, or one of a later version, is an error") {
    val folder = newFolder()
    val j = journal(folder)
    j.decide(entry(1))
    val file = folder.resolve(Journal.Folder).resolve("1-0.json")
    val good = Files.readString(file)
    Seq(
      "",
      "[]",
      "{",
      good.take(good.length / 2),
      good.replace("\"version\":2", "\"version\":3"),
      good.replace("\"producerId\"", "\"producer\"")
    ).foreach { bad =>
      Files.deleteIfExists(file.resolveSibling(".1-0.json.crc"))
      Files.writeString(file, bad)
      assert(conflict(j.newest()).contains("1-0.json"), bad)
    }
  }

  test("a decision of the former format is refused by its version") {
    val folder = newFolder()
    val former =
      """{"version":1,"queryId":"q","run":"r","batch":4,"round":0,"transactions":[],"clusters":{}}"""
    Files.createDirectories(folder.resolve(Journal.Folder))
    Files.writeString(folder.resolve(Journal.Folder).resolve("4-0.json"), former)
    Seq[Journal => Any](_.newest(), _.rounds(4L), _.claim("q", "run")).foreach { use =>
      val text = conflict(use(journal(folder)))
      assert(
        text.contains("4-0.json") && text.contains("it has version 1") && text.contains("supports version 2")
      )
    }
  }

  test("a mark of another decision with the same name does not finish a decision") {
    val folder = newFolder()
    val j = journal(folder)
    j.decide(entry(4))
    j.finish(entry(4))
    val file = folder.resolve(Journal.Folder).resolve("4-0.json")
    // As a deletion left it that was interrupted between both files.
    Files.delete(file)
    Files.deleteIfExists(file.resolveSibling(".4-0.json.crc"))
    j.decide(ofOther(4))
    assert(j.newest().exists(!_._2) && j.undone(4L, 0).isDefined)
    j.finish(ofOther(4))
    assert(j.newest().exists(_._2) && j.undone(4L, 0).isEmpty)
  }

  test("the input of a batch is what Spark's offset log has of it") {
    val folder = newFolder()
    assert(journal(folder).batches.last().isEmpty)
    Files.createDirectories(folder.resolve("offsets"))
    Files.writeString(folder.resolve("offsets").resolve("4"), "v1")
    Files.writeString(folder.resolve("offsets").resolve(".5.tmp"), "v1")
    assert(journal(folder).batches.input(4).contains(BatchInput.of("offsets/4" -> "v1")) && journal(
      folder
    ).batches.input(5).isEmpty)
    assert(journal(folder).batches.last().contains(4L))
  }
}
