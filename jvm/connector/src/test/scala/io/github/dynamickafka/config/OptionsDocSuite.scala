package io.github.dynamickafka.config

import java.nio.file.{Files, Path}

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.kafka.ClientDefaults
import io.github.dynamickafka.testkit.TimeLimit

class OptionsDocSuite extends AnyFunSuite with TimeLimit {

  test("docs/options.md is current") {
    val file = OptionsDocFile.path
    assert(
      Files.exists(file) && Files.readString(file) == OptionsDoc.render,
      s"$file differs from the declarations of the options: run `make extra NAME=options` and commit it"
    )
  }

  test("every option is in the table of the source or of the sink") {
    val Array(_, ofSource, ofSink) =
      OptionsDoc.render.split("## Options of one cluster").head.split("## Options of the (source|sink)")
    Seq(SourceOptionSpecs.table -> ofSource, SinkOptionSpecs.table -> ofSink).foreach { case (table, text) =>
      assert(
        text.linesIterator.filter(_.startsWith("| `")).map(_.split('`')(1)).toSeq == table.all.map(_.name)
      )
    }
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
