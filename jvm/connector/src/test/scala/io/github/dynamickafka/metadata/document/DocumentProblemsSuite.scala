package io.github.dynamickafka.metadata.document

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit
import io.github.dynamickafka.{Conformance, TestSeed}

/** All problems of a document at once, and warnings. Single errors are in `MetadataConformanceSuite`. */
class DocumentProblemsSuite extends AnyFunSuite with TimeLimit {

  private val Good =
    s"""version: 1
       |clusters:
       |  green:
       |    properties: {bootstrap.servers: "green:9092", client.id: "0123"}
       |  blue:
       |    properties: {bootstrap.servers: "blue:9092", sasl.jaas.config: "$${file:/etc/blue.properties:jaas}"}
       |streams:
       |  payments:
       |    clusters:
       |      green: {topics: [payments, payments.v2], startingOffsets: 1763700000000}
       |      blue:
       |        topics: [payments]
       |        state: draining
       |        starting_offsets: {payments: {1: 7, 0: 42}}
       |        stopping_offsets: latest
       |  orders:
       |    clusters:
       |      blue: {topics: [orders]}
       |""".stripMargin

  private def check(text: String) = MetadataDocument.check(text)

  private def errors(replacements: (String, String)*): Seq[String] = {
    val text = replacements.foldLeft(Good) { case (t, (old, changed)) =>
      assert(t.contains(old))
      t.replace(old, changed)
    }
    check(text).errors.map(_.text)
  }

  private def ofAddress(address: String) =
    s"""version: 1
       |clusters:
       |  blue: {properties: {bootstrap.servers: '$address'}}
       |streams: {a: {clusters: {blue: {topics: [a]}}}}
       |""".stripMargin

  test("a good document has no problem") {
    assert(check(Good).errors.isEmpty && check(Good).warnings.isEmpty)
  }

  test("all errors, in the order of the lines, each once") {
    assert(
      errors("draining" -> "drained", "[payments]" -> "[payments, no]", "green: {topics" -> "grin: {topic") ==
        Seq(
          "line 10, stream 'payments', cluster 'grin': 'clusters' has no cluster 'grin'. Did you mean 'green'?",
          "line 10, stream 'payments', cluster 'grin', key 'topic': there is no such key here, the keys are 'topics', " +
            "'topic_pattern', 'partitions', 'state', 'write', 'starting_offsets', 'stopping_offsets', 'startingOffsets', " +
            "'stoppingOffsets', 'format', 'key_format', 'key_fields', 'schema', 'registry', 'options'. Did you mean 'topics'?",
          "line 10, stream 'payments', cluster 'grin': 'topics' is missing; exactly one of 'topics', 'topic_pattern' and " +
            "'partitions' is required",
          s"line 12, stream 'payments', cluster 'blue', key 'topics': ${DocumentTree.Ambiguous.reason}",
          "line 13, stream 'payments', cluster 'blue', key 'state': 'drained' is not a valid state, use 'active', " +
            "'draining' or 'removed'. Did you mean 'draining'?"
        )
    )
    assert(errors("version: 1" -> "version: 01", "[orders]" -> "[no, yes]").map(_.take(8)) ==
      Seq("line 1, ", "line 18,"))
  }

  test("a part that cannot be read is one error") {
    assert(errors("  blue:\n    prop" -> "  blue:\n    prap").map(_.take(23)) ==
      Seq("line 5, cluster 'blue':", "line 6, cluster 'blue',"))
    assert(errors("clusters:\n  green" -> "clusters: x\nclusters:\n  green").map(_.takeWhile(_ != ':')) ==
      Seq("line 2, key 'clusters'", "line 3"))
    assert(errors("{1: 7, 0: 42}" -> "{1: x, 0: z}") == Seq("1", "0").map(partition =>
      s"line 14, stream 'payments', cluster 'blue', key 'starting_offsets', topic 'payments', partition '$partition': must be an integer"
    ))
  }

  test("the place of a problem") {
    val jaas = s"\"$${file:/etc/blue.properties:jaas}\""
    def place(old: String, changed: String) = {
      val problem = check(Good.replace(old, changed)).errors.head
      (problem.line, problem.place.stream, problem.place.cluster, problem.place.key)
    }
    assert(place(jaas, "[hunter2]") == ((Some(6), None, Some("blue"), Some("sasl.jaas.config"))))
    assert(place(
      "42",
      "x"
    ) == ((Some(14), Some("payments"), Some("blue"), Some("starting_offsets.payments.0"))))
    assert(place("version: 1", "version: 2") == ((Some(1), None, None, Some("version"))))
  }

  test("topic patterns are compiled as Java does") {
    val error = errors("topics: [orders]" -> "topic_pattern: 'orders-[a-z'").mkString
    assert(error.contains("'orders-[a-z' is not a valid regular expression"), error)
    assert(errors("topics: [orders]" -> "topic_pattern: 'orders-\\p{Alnum}++'").isEmpty)
  }

  test("documents beyond the limits have an error with a place") {
    Seq("version: '" + "x" * 4000000 + "'\nstreams: {}", "[" * 3000, "{\"a\":" * 3000).foreach { text =>
      val found = check(text).errors
      assert(found.map(_.line) == Seq(Some(1)), text.take(9))
      assert(found.head.reason.startsWith("the document is not valid YAML or JSON: it has more than"), found)
    }
    val digits = "9" * 5000
    assert(errors("1763700000000" -> digits).map(_.take(7)) == Seq("line 10"))
    val long = check(Good.replace("\"0123\"", digits)).streams("payments").getClusterMetadataMap.get("green")
    assert(long.getProperties.get("client.id") == digits)
    val json = "{\"version\": 1, \"streams\": {\"\\ud83d\\uded2\": {\"clusters\": {}}}}"
    assert(check(json).streams.keySet == Set("\ud83d\uded2"))
    assert(check(json.replace("1,", s"$digits,")).errors.map(_.line) == Seq(Some(1)))
  }

  test("warnings") {
    val text =
      Good.replace("  blue:\n    prop", "  red: {properties: {bootstrap.servers: r:1}}\n  blue:\n    prop")
        .replace("client.id: \"0123\"", "kafka.client.id: x") + "  empty: {format: jsn, clusters: {}}\n"
    assert(check(text).errors.isEmpty)
    val found = check(text).warnings.map(_.text)
    assert(
      found.take(2) == Seq(
        "line 4, cluster 'green', property 'kafka.client.id': properties have no prefix here: write 'client.id'",
        "line 5, cluster 'red': no stream uses this cluster"
      )
    )
    assert(found(
      2
    ).startsWith("line 20, stream 'empty', key 'format': 'jsn' is no format of records: it is not one of"))
    assert(found(2).endsWith("Did you mean 'json'?"))
    assert(found.drop(3) == Seq(
      "line 20, stream 'empty': it has no cluster: polls of queries that read it fail, unless allowMissingStreams is true"
    ))
  }

  test("types of a schema that Spark does not have") {
    Seq(
      "id BIGNT" -> Some("'BIGNT' is not a type of Spark. Did you mean 'BIGINT'?"),
      "`a b` strin NOT NULL COMMENT 'an, or'" -> Some(
        "'STRIN' is not a type of Spark. Did you mean 'STRING'?"
      ),
      "a ARRAY<STRUCT<b: MAP<STRING, intt>>>" -> Some("'INTT' is not a type of Spark. Did you mean 'INT'?"),
      "x qqqq" -> Some("'QQQQ' is not a type of Spark."),
      "a INTERVAL DAY TO SECOND, b STRING COLLATE UTF8_LCASE, c VARCHAR(3)" -> None,
      "registry" -> None,
      "STRUCT<a: INT>" -> None,
      """{"type": "record", "name": "A", "fields": []}""" -> None,
      "a ARRAY<" -> None
    ).foreach { case (schema, warning) =>
      val text = ofAddress("a:1").replace("{a: {", s"""{a: {schema: '${schema.replace("'", "''")}', """)
      assert(check(text).errors.isEmpty, text)
      assert(check(text).warnings.map(_.reason) == warning.toSeq, schema)
    }
  }

  test("addresses with which no client connects") {
    Seq("localhost", "localhost:abc", "localhost:65536", ":9092", "a:1,b", "a:1 b:2").foreach { address =>
      val says = s"'${address.stripPrefix("a:1,")}' is not host:port, so that no client can connect"
      assert(check(ofAddress(address)).warnings.map(w => (w.line, w.reason)) == Seq((Some(3), says)))
      val flink =
        s"- {streamId: a, clusterMetadataList: [{clusterId: blue, bootstrapServers: '$address', topics: [a]}]}"
      assert(check(flink).warnings.map(_.reason) == Seq(says))
    }
    Seq(
      "a:1",
      "a:1, b:2",
      "a:1,,b:2,",
      "[::1]:9092",
      "SSL://a.b-c_d:1",
      s"$${file:/etc/blue.properties:address}"
    )
      .foreach(address => assert(check(ofAddress(address)).warnings.isEmpty, address))
  }

  test("warnings of Flink's format") {
    def stream(id: String, address: String) =
      s"- streamId: $id\n  clusterMetadataList: [{clusterId: blue, bootstrapServers: $address, topics: [a]}]\n"
    val text = stream("a", "b1:1") + stream("b", "b2:1") + "- {streamId: c, clusterMetadataList: []}\n"
    val Seq(address, empty) = check(text).warnings
    assert((
      address.line,
      address.place.stream,
      address.place.cluster
    ) == ((Some(4), Some("b"), Some("blue"))))
    assert(address.reason.contains("stream 'a' specifies a different address for this cluster"))
    assert(empty.place.stream.contains("c"))
  }

  test("changed documents are read or refused, and nothing else happens") {
    val seed = TestSeed()
    val random = new Random(seed)
    val characters = "\n\r\t \\/&*!|>%@`'\"#:-?,[]{}<=~0123456789_+.eExonyNTZ\ufeff\u0085\u2028é"
    val good = Conformance.cases("metadata").filter(_.has("streams"))
      .map(one => Conformance.texts(one.get("document")).mkString("\n"))
    val refused = for (text <- good; _ <- 1 to 20) yield {
      val changed = (1 to 1 + random.nextInt(2)).foldLeft(text) { (t, _) =>
        val at = random.nextInt(t.length + 1)
        val added = if (random.nextBoolean()) "" else characters(random.nextInt(characters.length)).toString
        t.take(at) + added + t.drop(at + random.nextInt(2))
      }
      val found = withClue(s"DYNAMIC_KAFKA_SEED=$seed: $changed")(check(changed))
      assert(found.errors.forall(_.line.forall(_ > 0)))
      found.errors.nonEmpty
    }
    assert(refused.count(_ == true) > 10 && refused.count(_ == false) > 10)
  }
}
