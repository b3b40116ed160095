package io.github.dynamickafka.format.table

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit

/** The lists of formats that cannot be derived from the registration agree with it. */
class FormatListsSuite extends AnyFunSuite with TimeLimit {
  private val root = Path.of(sys.props("dynamickafka.root"))
  private val registered = Formats.registered

  test(
    "tests/conformance/formats.json, with which pytest compares Python's builders and metadata.schema.json"
  ) {
    val listed = new ObjectMapper().readTree(root.resolve("tests/conformance/formats.json").toFile)
    assert(listed.elements.asScala.map(f =>
      (f.get("name").asText, f.get("options").asBoolean, f.get("written").asBoolean)
    ).toSeq == registered.all.map(f => (f.name, f.settings.nonEmpty, f.writer.isDefined)))
  }

  test("docs/formats.md has the columns of every format, and how it is written") {
    val page = Files.readAllLines(root.resolve("docs/formats.md")).asScala.toSeq
    def firstTable(after: String) =
      page.dropWhile(!_.startsWith(after)).dropWhile(!_.startsWith("|")).drop(2).takeWhile(_.startsWith("|"))
        .flatMap(row => "`([^`]+)`".r.findAllMatchIn(row.split('|')(1)).map(_.group(1)))
    assert(firstTable("# ").sorted == (registered.all.map(_.name) :+ Formats.OfMetadata).sorted)
    assert(registered.written.map(_.name).diff(firstTable("## Writing")).isEmpty)
  }

  test("names differ, also without regard to case and hyphens") {
    val names = registered.all.map(_.name.replace("-", ""))
    assert(names.distinct == names && names.forall(n => n == n.toLowerCase))
  }
}
