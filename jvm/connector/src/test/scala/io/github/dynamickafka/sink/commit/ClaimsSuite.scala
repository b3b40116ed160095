package io.github.dynamickafka.sink.commit

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.source.Logs
import io.github.dynamickafka.testkit.TimeLimit

/** Which run may decide and abort. */
class ClaimsSuite extends AnyFunSuite with TimeLimit {
  private val hadoop = new Configuration

  private def newFolder(): Path = Files.createTempDirectory("dynamic-kafka-claims-")
  private def journal(folder: Path) = new Journal(folder.toString, hadoop)
  private def file(folder: Path, generation: Int) =
    folder.resolve(Journal.Folder).resolve(s"run-$generation.json")

  private def names(folder: Path): Set[String] =
    Files.list(folder.resolve(Journal.Folder)).iterator.asScala.map(_.getFileName.toString)
      .filterNot(_.endsWith(".crc")).toSet

  /** Replaces or deletes a file that Hadoop wrote, with its checksum. */
  private def edit(file: Path, text: Option[String]): Unit = {
    Files.deleteIfExists(file.resolveSibling(s".${file.getFileName}.crc"))
    text.fold(Files.delete(file)) { t =>
      val _ = Files.writeString(file, t)
    }
  }

  private def conflict(body: => Any): String = {
    val e = intercept[DynamicKafkaRuntimeException](body)
    assert(e.getCondition == "DYNAMIC_KAFKA.JOURNAL_CONFLICT")
    e.getMessage
  }

  test("the run that started last may decide; an earlier one detects it") {
    val folder = newFolder()
    val (first, second) = (journal(folder), journal(folder))
    val one = first.claim("q", "one")
    first.checkClaim(one)
    val two = second.claim("q", "two")
    second.checkClaim(two)
    val text = conflict(first.checkClaim(one))
    assert(text.contains("run 'two' of the query started after this run, 'one'"))
    assert(text.contains("its generation is 2, that of this run is 1"))
  }

  test("generations grow, the instance stays, and only the last claim is kept") {
    val folder = newFolder()
    val claims = (1 to 4).map(n => journal(folder).claim("q", s"run$n"))
    assert(claims.map(_.generation) == Seq(1L, 2L, 3L, 4L) && claims.map(_.instance).distinct.size == 1)
    assert(names(folder) == Set("run-4.json"))
  }

  test(
    "a copied checkpoint has another instance, leaves the claim of the original alone, and logs a warning"
  ) {
    val (folder, copy) = (newFolder(), newFolder())
    val original = journal(folder).claim("q", "one")
    Files.createDirectories(copy.resolve(Journal.Folder))
    Files.copy(file(folder, 1), file(copy, 1))
    var copied = original
    val logged = Logs.during(classOf[Journal]) { copied = journal(copy).claim("q", "two") }
    assert(logged.exists(line =>
      line.contains("was copied or moved from") && line.contains(original.location)
    ))
    assert(copied.instance != original.instance && copied.generation == 2L)
    assert(journal(copy).claim("q", "three").instance == copied.instance)
    journal(folder).checkClaim(original)
    assert(journal(folder).claim("q", "four").instance == original.instance)
  }

  test("a run on a journal that was restored has a greater generation than those after the backup") {
    val folder = newFolder()
    var now = 100L
    def start(run: String) =
      new Journal(folder.toString, hadoop, leastGeneration = () => now).claim("q", run).generation
    assert(start("one") == 100L)
    val backup = Files.readString(file(folder, 100))
    assert(start("two") == 101L && start("three") == 102L)
    Files.delete(file(folder, 102))
    Files.writeString(file(folder, 100), backup)
    Files.deleteIfExists(file(folder, 100).resolveSibling(".run-100.json.crc"))
    now = 200L
    assert(start("four") == 200L && start("five") == 201L)
  }

  test("two runs start at the same time: the one that finds its generation taken takes the next one") {
    val folder = newFolder()
    var other: Option[Claim] = None
    val mine = new Journal(
      folder.toString,
      hadoop,
      () => "new",
      () => {
        // After this run has looked, and before it writes.
        if (other.isEmpty) other = Some(journal(folder).claim("q", "other"))
        1L
      }
    ).claim("q", "mine")
    assert(other.exists(_.generation == 1L) && mine.generation == 2L)
    assert(other.exists(_.instance == mine.instance))
    journal(folder).checkClaim(mine)
    assert(conflict(journal(folder).checkClaim(other.get)).contains("run 'mine'"))
  }

  test("a claim that another run has overwritten does not count, where a file system allows that") {
    val folder = newFolder()
    val claim = journal(folder).claim("q", "one")
    edit(file(folder, 1), Some(Files.readString(file(folder, 1)).replace("one", "two")))
    assert(conflict(journal(folder).checkClaim(claim)).contains("run 'two'"))
  }

  test("a claim that was deleted does not count") {
    val folder = newFolder()
    val claim = journal(folder).claim("q", "one")
    edit(file(folder, 1), None)
    assert(conflict(journal(folder).checkClaim(claim)).contains("was deleted"))
  }

  test("a damaged claim is an error that names the file") {
    val folder = newFolder()
    journal(folder).claim("q", "one")
    Seq("", "[]", "{}").foreach { bad =>
      edit(file(folder, 1), Some(bad))
      assert(conflict(journal(folder).claim("q", "two")).contains("run-1.json"), bad)
    }
  }

  test(
    "the generations of queries and jobs are greater than those of runs that a restored journal does not know"
  ) {
    val before = System.currentTimeMillis()
    val folder = newFolder().toString
    Seq(Journal.ofQuery(folder, hadoop), Journal.ofJob(folder, "j", hadoop))
      .foreach(journal => assert(journal.claim("q", "r").generation >= before))
  }
}
