package io.github.dynamickafka.admin

import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path}

import io.github.dynamickafka.source.Entry

/** `drain`, `activate` and `move` of a file. What the edits of a document are is in `DocumentEditsSuite`. */
class MetadataProceduresSuite extends ProcedureTest {

  private val document =
    """# The shop.
      |version: 1
      |clusters:
      |  blue: {properties: {bootstrap.servers: 'blue:1'}}
      |  green: {properties: {bootstrap.servers: 'green:1'}}
      |streams:
      |  orders:
      |    clusters:
      |      blue: {topics: [orders]}   # since 2021
      |  payments:
      |    clusters:
      |      blue: {topics: [payments]}
      |""".stripMargin

  private def file(): Path = Files.writeString(newFolder().resolve("streams.yaml"), document)

  private def ofFile(file: Path, more: (String, String)*): String =
    catalog(Map("metadataService" -> "file", "metadataService.path" -> file.toString) ++ more)

  test("drain, activate and move change the lines concerned, and nothing else") {
    val path = file()
    Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-r-----"))
    val link = Files.createSymbolicLink(newFolder().resolve("link.yaml"), path)
    val k = ofFile(link, "metadataService.ttlMs" -> "600000")
    val drain = s"CALL $k.system.drain(cluster => 'blue', stream => 'orders')"
    assert(spark.sql(drain).schema.toDDL == "stream STRING,cluster STRING,old_state STRING,new_state STRING")
    val drained = document.replace("[orders]}", "[orders], state: draining}")
    assert(Files.readString(path) == drained && Files.isSymbolicLink(link))
    assert(PosixFilePermissions.toString(Files.getPosixFilePermissions(path)) == "rw-r-----")
    assert(rows(drain).isEmpty)
    // At once, although answers are kept.
    assert(rows(s"CALL $k.system.clusters('orders')").map(_(2)) == Seq("draining"))
    assert(rows(s"CALL $k.system.activate('blue')") == Seq(row("orders", "blue", "draining", "active")))
    val moved = rows(s"CALL $k.system.move(stream => 'payments', old => 'blue', new => 'green')")
    assert(
      moved == Seq(row("payments", "blue", "active", "draining"), row("payments", "green", null, "active"))
    )
    assert(Files.readString(path).contains("      green: {topics: [payments]}\n"))
    assert(rows(s"CALL $k.system.drain('blue')") == Seq(row("orders", "blue", "active", "draining")))
  }

  test("what cannot be changed is refused with the text of the command, and nothing is written") {
    val path = file()
    val k = ofFile(path)
    Seq(
      "drain('bleu')" -> "'clusters' has no cluster 'bleu'. Did you mean 'blue'?",
      "drain('blue', 'oders')" -> "there is no stream 'oders'. Did you mean 'orders'?",
      "move('orders', 'blue', 'blue')" -> "stream 'orders' cannot move from cluster 'blue' to itself"
    ).foreach { case (call, why) =>
      val (condition, text) = error(s"CALL $k.system.$call")
      assert(condition == "PROCEDURE_REFUSED" && text.contains(why), text)
    }
    assert(Files.readString(path) == document)
    val _ = Files.writeString(path, document.replace("version: 1", "version: 2"))
    val (condition, text) = error(s"CALL $k.system.drain('blue')")
    assert(condition == "METADATA_INVALID" && text.contains("line 2"), text)
  }

  test("a service that cannot be written") {
    target { t =>
      t.streams("orders" -> Seq(Entry("blue", blue, "t")))
      val k = catalog(t.options())
      Seq("drain('blue')", "activate('blue')", "move('orders', 'blue', 'green')").foreach { call =>
        val (condition, text) = error(s"CALL $k.system.$call")
        assert(condition == "METADATA_READ_ONLY" && text.contains(
          "The metadata service registered cannot be written"
        ))
      }
    }
  }
}
