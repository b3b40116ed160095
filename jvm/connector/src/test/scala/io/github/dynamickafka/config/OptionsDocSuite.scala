package io.github.dynamickafka.config

import java.nio.file.{Files, Path}

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.kafka.ClientDefaults
import io.github.dynamickafka.testkit.TimeLimit

class OptionsDocSuite extends AnyFunSuite with TimeLimit {

  test("docs/options.md, and Python's names of options, are current") {
    OptionsDocFile.texts.foreach { case (file, text) =>
      assert(
        Files.exists(file) && Files.readString(file) == text,
        s"$file differs from the declarations of the options: run `make extra NAME=options` and commit it"
      )
    }
  }

  test("every option of source and sink has one heading, and a heading has an anchor of its own") {
    val names = (SourceOptionSpecs.table.all ++ SinkOptionSpecs.table.all).map(_.name).distinct
    assert(OptionsDoc.described.sorted == names.sorted)
    val headings = "(?m)^#+ (.+)$".r.findAllMatchIn(OptionsDoc.render).map(_.group(1)).toSeq
    assert(OptionsDoc.headings.diff(headings).isEmpty)
    assert(OptionsDoc.headings.filterNot(_.matches("\\w[\\w.]*(\\.\\*)?")).isEmpty)
    // As the hosting site makes them.
    val anchors = headings.map(_.toLowerCase.replaceAll("[^\\w\\- ]", "").replace(' ', '-'))
    assert(anchors.distinct == anchors)
  }

  test("an option that is only for reading or writing says so; a text that differs for writing is shown") {
    def section(name: String) = OptionsDoc.render.split("\n### ").find(_.startsWith(s"$name\n")).get
    assert(section("streamIds").contains("\n\nreading; ") && section("streamId").contains("\n\nwriting; "))
    assert(section("metadataService").contains("\n\nstring; required\n"))
    assert(section("keyFormat").contains("*Writing*: Default: with `raw` values"))
  }

  test("defaults of the clients and refused properties of source and sink are documented") {
    val defaults = ClientDefaults.consumerFetch ++ ClientDefaults.producerBatches
    defaults.foreach { case (name, value) => assert(OptionsDoc.render.contains(s"- `$name`: `$value`\n")) }
    Seq("reads" -> RefusedOptions.OfSource, "writes" -> RefusedOptions.OfSink).foreach { case (of, refused) =>
      val line = OptionsDoc.render.linesIterator.find(_.startsWith(s"- for $of: ")).get
      assert(refused.kafkaPropertyNames.forall(property => line.contains(s"`kafka.$property`")), line)
    }
  }
}

/** Writes what is generated. Run by `make extra NAME=options`. */
object OptionsDocFile extends App {
  def texts: Seq[(Path, String)] =
    Seq("docs/options.md" -> OptionsDoc.render, "python/src/dynamic_kafka/options.py" -> PythonOptions.render)
      .map { case (file, text) => Path.of(sys.props("dynamickafka.root"), file) -> text }

  texts.foreach { case (file, text) => println(s"wrote ${Files.writeString(file, text)}") }
}
