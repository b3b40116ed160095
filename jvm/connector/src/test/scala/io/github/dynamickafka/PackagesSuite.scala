package io.github.dynamickafka

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit

/**
 * The packages and their dependencies, read from the imports of the main sources of all modules: no cycle, and
 * exactly the dependencies that the table "Packages" of docs/dev/architecture.md names.
 */
class PackagesSuite extends AnyFunSuite with TimeLimit {

  private val Base = "io.github.dynamickafka"
  private val Import = """(?m)^\s*import io\.github\.dynamickafka((?:\.[a-z][a-z0-9]*)*)\.[A-Z_{]""".r
  private val root = Path.of(System.getProperty("dynamickafka.root"))

  private case class Source(file: String, text: String)

  /** Main source files by package, with those of the Spark lines; the root package is `(root)`. */
  private def read(module: String): Map[String, Seq[Source]] = {
    val folders =
      Using.resource(Files.list(root.resolve(s"jvm/$module/src/main")))(_.iterator.asScala.toVector)
        .map(_.resolve("io/github/dynamickafka")).filter(Files.isDirectory(_))
    folders
      .flatMap(folder => Using.resource(Files.walk(folder))(_.iterator.asScala.toVector))
      .filter(_.toString.endsWith(".scala"))
      .map(path => Source(path.getFileName.toString, Files.readString(path)))
      .groupBy(_.text.linesIterator.find(_.startsWith("package ")).get.stripPrefix("package ").trim)
      .map { case (pkg, found) => name(pkg) -> found }
  }

  private val ofModules = Modules.all.map(module => module -> read(module)).toMap
  private val ofFormats = ofModules("formats")
  private val files = ofModules.values.flatten.groupMapReduce(_._1)(_._2)(_ ++ _)

  /** Packages that each package imports from; the generated `build` has no sources here. */
  private val dependencies: Map[String, Set[String]] = files.map { case (pkg, texts) =>
    pkg -> texts.map(_.text).flatMap(imported).toSet.intersect(files.keySet).excl(pkg)
  }

  private lazy val document = Files.readString(root.resolve("docs/dev/architecture.md"))

  private def name(fullName: String): String =
    if (fullName == Base) "(root)" else fullName.stripPrefix(s"$Base.")

  private def imported(text: String): Iterator[String] =
    Import.findAllMatchIn(text).map(m => name(Base + m.group(1)))

  test("no package depends on itself through others") {
    // Packages on which nothing depends are removed until none is left, or only cycles are.
    @annotation.tailrec
    def reduce(rest: Map[String, Set[String]]): Map[String, Set[String]] = {
      val next = rest.filter { case (_, of) => of.exists(rest.contains) }
      if (next.size == rest.size) rest else reduce(next)
    }
    val cycles = reduce(dependencies)
    assert(
      cycles.isEmpty,
      cycles.map { case (p, of) => s"$p -> ${of.toSeq.sorted.mkString(", ")}" }.mkString("\n")
    )
  }

  test("the files that the document names exist") {
    val sources =
      Modules.all.map(m => root.resolve(s"jvm/$m/src/main/scala/io/github/dynamickafka"))
    val named =
      "`([a-z]+(?:/[a-z]+)*(?:/[A-Z][A-Za-z0-9]*\\.scala))`".r.findAllMatchIn(document).map(_.group(1)).toSeq
    assert(named.size >= 9 && named.filterNot(file =>
      sources.exists(s => Files.exists(s.resolve(file)))
    ) == Nil)
  }

  test(
    "no package is in two modules but that of the page, of which the connector has what its queries show"
  ) {
    val twice = files.keySet.filter(pkg => ofModules.values.count(_.contains(pkg)) > 1)
    assert(twice == Set("page"))
  }

  test("formats depend neither on Kafka's clients nor on packages of the connector") {
    val wrong = ofFormats.toSeq.flatMap { case (pkg, texts) =>
      texts.filter(_.text.contains("import org.apache.kafka")).map(_ => s"$pkg: Kafka") ++
        dependencies(pkg).diff(ofFormats.keySet).map(other => s"$pkg: $other")
    }
    assert(wrong.isEmpty, wrong.mkString(", "))
  }

  test("docs/dev/architecture.md names the packages of each module beside the connector") {
    val said = "(?m)^The module `jvm/(.*)` has (.*?)\\.$".r.findAllMatchIn(document).map(found =>
      found.group(1) -> "`([^`]+)`".r.findAllMatchIn(found.group(2)).map(_.group(1)).toSet
    )
    assert(said.toMap === (ofModules - "connector").view.mapValues(_.keySet).toMap)
  }

  test("the SPI of metadata services stands alone") {
    assert(dependencies("metadata") === Set.empty)
  }

  test("docs/dev/architecture.md names every package and its dependencies") {
    val table = document.linesIterator.dropWhile(_ != "## Packages").drop(1).takeWhile(!_.startsWith("## "))
    val quoted = "`([^`]+)`".r
    val documented = table.filter(_.startsWith("| `")).map { row =>
      val cells = row.split('|').map(_.trim)
      quoted.findFirstMatchIn(cells(1)).get.group(1) ->
        cells.lift(3).toSeq.flatMap(quoted.findAllMatchIn(_).map(_.group(1))).toSet
    }.toMap
    val differences = (documented.keySet ++ dependencies.keySet).toSeq.sorted.flatMap { pkg =>
      (documented.get(pkg), dependencies.get(pkg)) match {
        case (None, _) => Some(s"$pkg is not in the table")
        case (_, None) => Some(s"$pkg is in the table and has no file")
        case (Some(said), Some(found)) =>
          Option.when(said != found)(s"$pkg: the table says ${show(said)}, the imports say ${show(found)}")
      }
    }
    assert(differences.isEmpty, differences.mkString("\n", "\n", ""))
  }

  private def show(packages: Set[String]) = packages.toSeq.sorted.mkString("[", ", ", "]")
}
