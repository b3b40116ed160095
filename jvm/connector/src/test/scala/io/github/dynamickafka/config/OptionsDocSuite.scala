package io.github.dynamickafka.config

import java.nio.file.{Files, Path}

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.kafka.ClientDefaults
import io.github.dynamickafka.schemaregistry.RegistryOptionSpecs
import io.github.dynamickafka.testkit.TimeLimit

class OptionsDocSuite extends AnyFunSuite with TimeLimit {

  test("docs/options.md is current") {
    val file = OptionsDocFile.path
    assert(
      Files.exists(file) && Files.readString(file) == OptionsDoc.render,
      s"$file differs from the declarations of the options: run `make extra NAME=options` and commit it"
    )
  }

  test("every option is in the table of the source or of the sink, and only once with the same meaning") {
    val Array(_, ofSource, ofSink) =
      OptionsDoc.render.split("## Options of one cluster").head.split("## Options of the (source|sink)")
    def names(text: String) = "`([^`]+)`".r.findAllMatchIn(text).map(_.group(1)).toSeq
    // A row has the names of options that differ in nothing else.
    def rows(text: String) =
      text.linesIterator.filter(_.startsWith("| `")).flatMap(row => names(row.split('|')(1))).toSeq
    assert(rows(ofSource).sorted == SourceOptionSpecs.table.all.map(_.name).sorted)
    val both = OptionsDoc.ofBoth.map(_.name)
    assert(both.contains(SourceOptionSpecs.MetadataService.name))
    assert(rows(ofSink).sorted == SinkOptionSpecs.table.all.map(_.name).diff(both).sorted)
    val (registries, others) = both.partition(_.startsWith("registry."))
    assert(registries == RegistryOptionSpecs.reading.map(_.name))
    assert(names(ofSink.linesIterator.find(_.contains("as for the source")).get) == others)
  }

  test("defaults of the clients and refused properties of source and sink are documented") {
    val defaults = ClientDefaults.consumerFetch ++ ClientDefaults.producerBatches
    defaults.foreach { case (name, value) => assert(OptionsDoc.render.contains(s"| `$name` | `$value` |")) }
    Seq(RefusedOptions.OfSource, RefusedOptions.OfSink).flatMap(_.kafkaPropertyNames).foreach(property =>
      assert(OptionsDoc.render.contains(s"- `kafka.$property`"), property)
    )
  }
}

/** Writes the document. Run by `make extra NAME=options`. */
object OptionsDocFile extends App {
  def path: Path = Path.of(sys.props("dynamickafka.root"), "docs", "options.md")

  Files.createDirectories(path.getParent)
  println(s"wrote ${Files.writeString(path, OptionsDoc.render)}")
}
