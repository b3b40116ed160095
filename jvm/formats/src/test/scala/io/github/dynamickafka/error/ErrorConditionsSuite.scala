package io.github.dynamickafka.error

import scala.jdk.CollectionConverters._
import scala.util.Using

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.spark.SparkThrowable
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit

class ErrorConditionsSuite extends AnyFunSuite with TimeLimit {

  private val cause = new RuntimeException("cause")

  /** One error of each condition. */
  private val errors: Seq[Exception with SparkThrowable] = Seq(
    Errors.clusterAuthenticationFailed("blue", "blue:9092", "wrong password.", cause),
    Errors.clusterAuthorizationFailed("blue", "blue:9092", "topic 'orders'.", cause),
    Errors.checkpointEdited("/checkpoint"),
    Errors.clusterReplaced("blue", "K1", "K2", "the offsets do not apply to it"),
    Errors.clusterUnreachable("blue", "blue:9092", "no answer.", cause),
    Errors.commitIncomplete(3, "cluster 'blue', transaction 'x'", "TimeoutException: no answer.", cause),
    Errors.dataLoss("blue", "orders", "offset 5 is gone."),
    Errors.decodeFailed(
      RecordPlace("all-orders", "blue", "orders", 3, 42L),
      "value",
      "json",
      Some("id"),
      "no number"
    ),
    Errors.duplicateCluster("blue", "green", "kfk", Seq("orders")),
    Errors.encodeFailed("value", "json", "a field is null"),
    Errors.exactlyOnceRefused("there is no journal."),
    Errors.invalidColumn("value", "there is none."),
    Errors.invalidNextOffset("no start."),
    Errors.invalidOffset("no version."),
    Errors.invalidOffsets("startingOffsets", "green", "orders", Seq(0, 1), "the function failed"),
    Errors.invalidOption("startingOffsets", "x", "it is wrong."),
    Errors.invalidSchema("it has the column 'id' twice."),
    Errors.journalConflict("/checkpoint", "another run has started.", cause),
    Errors.metadataInvalid("line 3", "no clusters."),
    Errors.metadataReadOnly("drain", "http", Seq("file")),
    Errors.metadataUnavailable("file", 3, "no answer.", cause),
    Errors.migrationMismatch(Seq("cluster 'gren'"), Seq("gren"), Seq("blue", "green"), Some("green")),
    Errors.missingOption("streamIds", "name one."),
    Errors.partialCommit(3, "cluster 'blue', transaction 'x'", "Set an option."),
    Errors.partitionUnavailable("blue", "orders", 3, "all-orders", 120000L, "partition has no leader"),
    Errors.plainKafkaCheckpoint("/checkpoint"),
    Errors.procedureRefused("offsets", changes = false, "it is not a checkpoint", cause),
    Errors.registryAuthenticationFailed("https://schemas.example.com", "blue", "schema id 7", 401),
    Errors.registryUnavailable("https://schemas.example.com", "blue", "schema id 7", "status 503"),
    Errors.replayDiffers(3, "task 0 has 1 record, and had 2."),
    Errors.schemaNotFound("https://schemas.example.com", "blue", "orders-value", "it has no version"),
    Errors.topicNotFound("blue", "orders", "all-orders"),
    Errors.topicRecreated("blue", "orders", "T1", "T2", "partition 0: 5"),
    Errors.transactionsAborted(3, "its tasks took too long."),
    Errors.transactionUnknown(3, "cluster 'blue', transaction 'x'"),
    Errors.unknownCluster("cluster.bleu.kafka.client.id", "bleu", "blue", Seq("blue", "green")),
    Errors.unknownOffsetVersion("A composite offset", "3", 2),
    Errors.unknownOption("x", Some("y")),
    Errors.unknownProcedure("streams", "system.lags", Some("lag"), Seq("lag", "streams")),
    Errors.unreachableReplay("blue", "orders-0 5..7", "no answer.", cause),
    Errors.unsupportedDdl("streams", "create", "odrers", Some("orders")),
    Errors.unroutableRow(Some("orders"), None, Some("t"), "the metadata has no stream 'orders'"),
    Errors.writeFailed("blue", "blue:9092", "topic orders", "TimeoutException: no answer.", cause),
    Errors.wrongJar("Spark 4.2 with Scala 2.13", "Spark 4.0.0 with Scala 2.13.16")
  )

  private val json =
    Using.resource(
      getClass.getClassLoader.getResourceAsStream("error/dynamic-kafka-error-conditions.json")
    )(new ObjectMapper().readTree(_))

  test("every condition has a factory, and every factory a condition") {
    val declared =
      json.get("DYNAMIC_KAFKA").get("subClass").fieldNames.asScala.map("DYNAMIC_KAFKA." + _).toSeq
    assert(errors.map(_.getCondition).sorted == declared.sorted)
  }

  test("a message has all its parameters, and no placeholder is left") {
    errors.foreach { error =>
      val text = error.getMessage
      assert(text.startsWith(s"[${error.getCondition}] ") && !text.contains("]  "))
      error.getMessageParameters.asScala.foreach { case (name, value) => assert(text.contains(value), name) }
      val placeholders = "<\\w+>".r.findAllIn(text).toSeq
      assert(placeholders.isEmpty, error.getCondition)
    }
  }

  test("a value that looks like a placeholder is kept") {
    val value = "<reason> $" + "{x} <none>"
    assert(Errors.invalidOption("x", value, "it is wrong.").getMessage.contains(value))
  }

  test("conditions have an SQL state") {
    errors.foreach(error => assert(error.getSqlState == "58000"))
  }

  test("the text contains a suggestion only if there is one") {
    assert(Errors.unknownOption("x", Some("y")).getMessage.contains("Did you mean 'y'?"))
    assert(!Errors.unknownOption("x", None).getMessage.contains("Did you mean"))
  }

  test("no two messages begin with the same eight words") {
    val beginnings = errors.map(_.getMessage.split("\\s+").slice(1, 9).mkString(" "))
    assert(beginnings.distinct.size == errors.size, beginnings.sorted)
  }

  test("only the refusal of a procedure that changes something says that nothing was changed") {
    def text(changes: Boolean) =
      Errors.procedureRefused("p", changes, "there is no stream 'x'", cause = null).getMessage
    assert(text(changes =
      true
    ).contains("there is no stream 'x' (procedure 'p'). Nothing was changed, unless"))
    assert(text(changes = false).contains("] there is no stream 'x' (procedure 'p') SQLSTATE"))
  }

  test("conditions are sorted") {
    val names = json.get("DYNAMIC_KAFKA").get("subClass").fieldNames.asScala.toSeq
    assert(names == names.sorted)
  }
}
