package io.github.dynamickafka.config

import java.nio.file.{Files, Path}

import org.scalatest.funsuite.AnyFunSuite

class OptionsDocSuite extends AnyFunSuite {

  test("docs/options.md is current") {
    val file = OptionsDocFile.path
    assert(
      Files.exists(file) && Files.readString(file) == OptionsDoc.render,
      s"$file differs from the declarations of the options: run `make docs-options` and commit it"
    )
  }

  test("every option is in it") {
    SourceOptionSpecs.table.all.foreach(spec =>
      assert(OptionsDoc.render.contains(s"`${spec.name}"), spec.name)
    )
  }
}

/** Writes the document; `make docs-options` runs it. */
object OptionsDocFile extends App {
  def path: Path = Path.of(sys.props("dynamickafka.root"), "docs", "options.md")

  Files.createDirectories(path.getParent)
  println(s"wrote ${Files.writeString(path, OptionsDoc.render)}")
}
