package io.github.dynamickafka.admin

import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path}

import io.github.dynamickafka.source.{Entry, Queries}

/** `drain`, `activate` and `move` of a file. What the edits of a document are is in `DocumentEditsSuite`. */
class MetadataProceduresSuite extends Queries {

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
      assert(text.contains("Nothing was changed, unless"))
    }
    assert(Files.readString(path) == document)
    val _ = Files.writeString(path, document.replace("version: 1", "version: 2"))
    val (condition, text) = error(s"CALL $k.system.drain('blue')")
    assert(condition == "METADATA_INVALID" && text.contains("line 2"), text)
  }

  test("the owner of a file stays") {
    val path = file()
    val lookup = path.getFileSystem.getUserPrincipalLookupService
    val other = lookup.lookupPrincipalByName("65534")
    val canGive =
      try {
        Files.setOwner(path, other)
        true
      } catch { case _: java.io.IOException => false }
    assume(canGive, "only root can give files away")
    assert(rows(s"CALL ${ofFile(path)}.system.drain('blue')").size == 2)
    assert(Files.getAttribute(path, "unix:uid") == 65534)
  }

  private def metadataTopic(partitions: Int = 1, policy: String = "compact"): String = {
    val name = newTopic("streams")
    red.createTopic(name, partitions, Map("cleanup.policy" -> policy))
    name
  }

  private def ofTopic(topic: String): String = catalog(Map(
    "metadataService" -> "kafka-topic",
    "metadataService.bootstrapServers" -> red.bootstrapServers,
    "metadataService.topic" -> topic
  ))

  test("publish, drain, activate and move in a topic") {
    val (topic, path) = (metadataTopic(), file())
    val k = ofTopic(topic)
    val both = Seq(row("orders", "published"), row("payments", "published"))
    assert(rows(s"CALL $k.system.publish('$path')") == both)
    assert(rows(s"CALL $k.system.drain('blue', 'orders')") == Seq(row(
      "orders",
      "blue",
      "active",
      "draining"
    )))
    assert(rows(s"CALL $k.system.drain('blue', 'orders')").isEmpty)
    assert(rows(s"CALL $k.system.clusters()").map(_(2)) == Seq("draining", "active"))
    assert(rows(s"CALL $k.system.activate('blue')") == Seq(row("orders", "blue", "draining", "active")))
    // The cluster is one of another stream of the topic.
    val next = document.replace("blue: {topics: [payments]}", "green: {topics: [payments]}")
    val _ = Files.writeString(path, next)
    assert(rows(s"CALL $k.system.publish('$path', stream => array('payments'))") == both.tail)
    assert(
      rows(s"CALL $k.system.move('orders', 'blue', 'green')") ==
        Seq(row("orders", "blue", "active", "draining"), row("orders", "green", null, "active"))
    )
    val (condition, text) = error(s"CALL $k.system.drain('gren')")
    assert(condition == "PROCEDURE_REFUSED" && text.contains("Did you mean 'green'?"), text)
    // A file for a topic, by the command; the stream that it does not have is removed.
    val _ = Files.writeString(path, next.take(next.indexOf("  payments")))
    val reply = CommandLine.run(
      Seq("publish", s"$path", "--bootstrap-servers", red.bootstrapServers, "--topic", topic) ++
        Seq("--remove", "payments", "--property", "client.id=x"): _*
    )
    assert(reply == CommandLine.Reply(0, s"$topic: 1 stream published, 1 stream removed\n", ""))
    assert(rows(s"CALL $k.system.streams()").map(_.head) == Seq("orders"))
  }

  test("publish refuses other topics, other services, and what its queries would stand still on") {
    val path = file()
    Seq(
      metadataTopic(partitions = 2) -> "2 partitions instead of one",
      metadataTopic(policy = "delete") -> "'delete'"
    )
      .foreach { case (topic, says) =>
        val reply = CommandLine.run(
          "publish",
          s"$path",
          "--bootstrap-servers",
          red.bootstrapServers,
          "--topic",
          topic,
          "--json"
        )
        assert(reply.exitCode == 1 && reply.out.isEmpty && reply.err.contains(says), reply)
      }
    assert(error(s"CALL ${ofFile(path)}.system.publish('$path')")._1 == "METADATA_READ_ONLY")
    val k = ofTopic(metadataTopic())
    val _ = Files.writeString(
      path,
      document.replace(
        "      blue: {topics: [orders]}   #",
        "      green: {topics: [o]}\n      blue: {topics: [orders]}   #"
      )
    )
    rows(s"CALL $k.system.publish('$path')")
    val _ = Files.writeString(
      path,
      document.replace("  green: {properties", "  green: {replaces: blue, properties")
        .replace("      blue: {topics: [payments]}", "      green: {topics: [payments]}")
    )
    val (condition, text) = error(s"CALL $k.system.publish('$path', stream => array('payments'))")
    assert(
      condition == "PROCEDURE_REFUSED" && text.contains(
        "queries that read stream 'orders' would stand still"
      ),
      text
    )
    assert(rows(s"CALL $k.system.clusters('payments')").map(_(1)) == Seq("blue"))
  }

  test("validate, describe, diff and schema") {
    val path = file()
    val k = ofFile(path)
    val other = Files.writeString(
      newFolder().resolve("next.yaml"),
      document.replace(
        "topics: [orders]",
        "topics: [orders], state: drained"
      ).replace("version: 1", "version: 3")
    )
    assert(
      columns(s"CALL $k.system.validate('$path')") ==
        "severity STRING,line INT,stream STRING,cluster STRING,key STRING,message STRING"
    )
    assert(rows(s"CALL $k.system.validate('$other')").map(_.take(5)) == Seq(
      row("error", 2, null, null, "version"),
      row("error", 9, "orders", "blue", "state")
    ))
    val warnings = rows(s"CALL $k.system.validate(file => '$path')")
    assert(warnings == Seq(row("warning", 5, null, "green", null, "no stream uses this cluster")))
    assert(rows(s"CALL $k.system.describe('orders')") == Seq(
      row("blue", "state", "active"),
      row("blue", "topics", "orders"),
      row("blue", "bootstrap.servers", "blue:1")
    ))
    val next =
      Files.writeString(other, document.replace("blue: {topics: [orders]}", "blue: {topics: [more]}"))
    val changes = Seq(
      row("topic", "enters", "orders", "blue", "more", null, null),
      row("topic", "leaves", "orders", "blue", "orders", null, null)
    )
    assert(rows(s"CALL $k.system.diff('$next')") == changes)
    assert(rows(s"CALL $k.system.diff(old => '$path', new => '$next')") == changes)
    assert(
      rows(s"CALL $k.system.schema()").head.head.toString.contains("Metadata of Dynamic Kafka for Spark")
    )
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
