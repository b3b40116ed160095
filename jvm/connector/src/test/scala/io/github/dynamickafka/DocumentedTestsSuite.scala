package io.github.dynamickafka

import java.nio.file.{Files, Path}
import java.util.regex.Pattern

import scala.jdk.CollectionConverters._
import scala.util.matching.Regex.Match

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit

/** Checks the documents whose tables map promises to tests: every test that they name exists, and has the mark of `make test-all`. */
class DocumentedTestsSuite extends AnyFunSuite with TimeLimit {

  private val root = Path.of("").toAbsolutePath.resolve("../..").normalize

  private def files(folder: String, ending: String): Map[String, String] = {
    val walk = Files.walk(root.resolve(folder))
    try walk.iterator.asScala.filter(_.toString.endsWith(ending)).map(f =>
        f.getFileName.toString -> Files.readString(f)
      ).toMap
    finally walk.close()
  }

  private def file(m: Match): String = if (m.group(1).endsWith(".py")) m.group(1) else s"${m.group(1)}.scala"

  private val named = """`(\w+Suite|test_\w+\.py)(?:: ([^`]+))?`( \([^)]*test-all\))?""".r

  /** Whether only `make test-all` runs the test; None if it depends on a parameter of the test. */
  private def isInTestAll(source: String, part: String): Option[Boolean] =
    if (source.contains(s"def $part")) {
      val before = source.take(source.indexOf(s"def $part")).linesIterator.toSeq.reverse
      val decorators =
        before.dropWhile(line => line.nonEmpty && line.isBlank).takeWhile(_.nonEmpty).map(_.trim)
      Option.unless(
        decorators.exists(_.contains("parametrize"))
      )(decorators.contains("@pytest.mark.test_all"))
    } else {
      val ends = source.split(Pattern.quote(part), -1).drop(1).map(_.dropWhile(_ != '"').drop(1))
      val tags = ends.map(_.takeWhile(_ != ')').trim).distinct
      tags match {
        case Array("") => Some(false)
        case Array(tag) if tag.endsWith("TestAll") => Some(true)
        case _ => None
      }
    }

  for (document <- Seq("promises.md", "flink-tests.md"))
    test(document) {
      val modules = Modules.all ++ Seq("iceberg", "stores")
      val tests = modules.flatMap(module => files(s"jvm/$module/src/test", "Suite.scala")).toMap ++
        Seq("python/tests", "tests/e2e", "tests/lines", "tests/connect", "tests/packaging")
          .flatMap(files(_, ".py"))
      val text = Files.readString(root.resolve("docs/dev").resolve(document))
      val found = named.findAllMatchIn(text).toSeq
      assert(found.size > 40)
      val wrong = found.filterNot { m =>
        tests.get(file(m)).exists(source => m.group(2) == null || source.contains(m.group(2)))
      }
      assert(wrong.isEmpty, wrong.map(_.matched).mkString("\n"))
      val decided = for {
        m <- found if m.group(2) != null
        source <- tests.get(file(m))
        isInTestAll <- isInTestAll(source, m.group(2))
      } yield m -> (isInTestAll == (m.group(3) != null))
      assert(decided.size > found.count(_.group(2) != null) * 3 / 4, "of others it is not known")
      // A suite in a table, as a whole, has the mark if it has such tests.
      val suites = for {
        m <- text.linesIterator.filter(_.startsWith("|")).flatMap(named.findAllMatchIn).toSeq
        if m.group(2) == null
        source <- tests.get(file(m))
      } yield m -> (Seq("TestAll", "mark.test_all").exists(source.contains) == (m.group(3) != null))
      val unmarked = (decided ++ suites).filterNot(_._2).map(_._1)
      assert(unmarked.isEmpty, s"the mark is wrong:\n${unmarked.map(_.matched).mkString("\n")}")
    }
}
