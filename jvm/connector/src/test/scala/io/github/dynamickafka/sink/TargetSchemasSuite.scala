package io.github.dynamickafka.sink

import scala.collection.immutable.SortedMap
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.write.LogicalWriteInfo
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.{Options, SinkOptions}
import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.metadata.{Topology, TopologyCluster, WriteEntry, WriteStream}
import io.github.dynamickafka.schemaregistry.{Frame, RegistryServer}
import io.github.dynamickafka.source.Query
import io.github.dynamickafka.testkit.{NotInFast, TimeLimit}

/** `schema=registry` for writing: no broker is asked, so there is none. */
class TargetSchemasSuite extends AnyFunSuite with TimeLimit {

  /** The cluster `zeta` is the first of the document. */
  private val document =
    """{"version": 1, "clusters": {
      |"zeta": {"properties": {"bootstrap.servers": "localhost:1"}},
      |"alpha": {"properties": {"bootstrap.servers": "localhost:2"}}},
      |"streams": {"orders": {"clusters": {"zeta": {"topics": ["t"]}, "alpha": {"topics": ["t"]}}}}}""".stripMargin

  private val topology = {
    val entries =
      Seq("zeta", "alpha").map(id => WriteEntry(id, SortedMap("t" -> None), None, None))
    Topology(
      streams = SortedMap("orders" -> WriteStream("orders", entries)),
      clusters =
        SortedMap.from(entries.map(e => e.cluster -> TopologyCluster(e.cluster, SortedMap.empty, Map.empty)))
    )
  }

  private def settings(zeta: RegistryServer, alpha: RegistryServer): Map[String, String] = {
    val _ = Query.spark
    Map(
      "metadataService" -> "static",
      "metadataService.document" -> document,
      "format" -> "avro-confluent",
      "schema" -> "registry",
      "cluster.zeta.registry.url" -> zeta.url,
      "cluster.alpha.registry.url" -> alpha.url
    )
  }

  private def options(zeta: RegistryServer, alpha: RegistryServer, more: (String, String)*): SinkOptions =
    TargetSchemas.withSchema(Options.parseSink((settings(zeta, alpha) ++ more).toSeq: _*))

  private def ids(options: SinkOptions, ddl: String = "id INT"): Map[String, Int] = {
    val columns = InputColumns.of(StructType.fromDDL(ddl), caseSensitive = false, options.records.format)
    val frames = new ClusterFrames(options, columns)
    frames.of(topology).ids.map { case (Frame.TopicSide(cluster, _, _), id) => cluster -> id }
  }

  private def posts(server: RegistryServer) = server.requests.filter(_.method == "POST").map(_.path)

  private def both(body: (RegistryServer, RegistryServer) => Unit): Unit =
    RegistryServer.serving(zeta => RegistryServer.servingFrom(50)(alpha => body(zeta, alpha)))

  private def failed(body: => Any): DynamicKafkaRuntimeException =
    intercept[DynamicKafkaRuntimeException] { val _ = body }

  private def order(fields: String*) =
    s"""{"type":"record","name":"Order","namespace":"shop","doc":"d","fields":[${fields.mkString(",")}]}"""
  private val id = """{"name":"id","type":"long"}"""
  private val country = """{"name":"country","type":["null","string"],"default":null}"""

  test(
    "the newest schema at the first cluster is written with its id; other clusters get the same one",
    NotInFast
  ) {
    both { (zeta, alpha) =>
      zeta.register("t-value", order(id))
      val newest = zeta.register("t-value", order(id, country))
      val found = options(zeta, alpha)
      assert(found.records.format.schema.get.columns.toDDL == "id BIGINT,country STRING")
      assert(alpha.requests.isEmpty)
      assert(ids(found) == Map("zeta" -> newest, "alpha" -> 50))
      assert(posts(zeta).isEmpty && posts(alpha) == Seq("/subjects/t-value/versions"))
      // Now it is the newest one of both.
      assert(ids(options(zeta, alpha, "registry.subject" -> "t-value")) == Map(
        "zeta" -> newest,
        "alpha" -> 50
      ))
      val refused = Options.refused(ids(found, "id STRING"))
      assert(refused.getCondition == "DYNAMIC_KAFKA.INVALID_COLUMN")
      assert(Options.refused(ids(found, "id INT, x INT")).getMessage.contains("neither in 'schema'"))
    }
  }

  test("an INSERT without names asks for the newest schema once", NotInFast) {
    both { (zeta, alpha) =>
      val _ = zeta.register("t-value", order(id))
      val table = new CaseInsensitiveStringMap((settings(zeta, alpha) + ("streamId" -> "orders")).asJava)
      new DynamicKafkaSinkTable(StructType.fromDDL("id BIGINT"), _ => table, Some("orders"))
        .newWriteBuilder(new LogicalWriteInfo {
          override def queryId(): String = "insert"
          override def schema(): StructType = StructType.fromDDL("col1 INT")
          override def options(): CaseInsensitiveStringMap = CaseInsensitiveStringMap.empty
        })
      assert(zeta.paths.count(_.contains("/versions/latest")) == 1, zeta.paths)
    }
  }

  test("autoRegister=false: nothing is registered at a cluster that does not have the schema", NotInFast) {
    both { (zeta, alpha) =>
      val e = failed(options(zeta, alpha, "registry.autoRegister" -> "false"))
      assert(e.getCondition == "DYNAMIC_KAFKA.SCHEMA_NOT_FOUND" && e.getMessage.contains("'t-value'"))
      val first = zeta.register("t-value", order(id))
      val missing = failed(ids(options(zeta, alpha, "registry.autoRegister" -> "false")))
      assert(
        missing.getCondition == "DYNAMIC_KAFKA.SCHEMA_NOT_FOUND" && missing.getMessage.contains("'alpha'")
      )
      alpha.register("t-value", order(id))
      val other = alpha.register("t-value", order(id, country))
      assert(ids(options(zeta, alpha, "registry.autoRegister" -> "false")) == Map(
        "zeta" -> first,
        "alpha" -> 50
      ))
      assert(other == 51 && (posts(zeta) ++ posts(alpha)).forall(_ == "/subjects/t-value"))
    }
  }

  test("JSON Schema; a stream has to be known", NotInFast) {
    both { (zeta, alpha) =>
      zeta.register("t-value", """{"type":"object","properties":{"id":{"type":"integer"}}}""", "JSON")
      val json = options(zeta, alpha, "format" -> "json-confluent")
      assert(json.records.format.schema.get.columns.toDDL == "id BIGINT")
      assert(ids(json) == Map("zeta" -> 1, "alpha" -> 50) && posts(zeta).isEmpty)
      assert(Options.refused(options(zeta, alpha)).getMessage.contains("has the type JSON"))
      val parsed = Options.parseSink(
        "format" -> "avro-confluent",
        "schema" -> "registry",
        "registry.url" -> zeta.url
      )
      val e =
        Options.refused(TargetSchemas.withSchema(parsed.copy(routing = parsed.routing.copy(streamId = None))))
      assert(e.getCondition == "DYNAMIC_KAFKA.MISSING_OPTION" && e.getMessage.contains("streamId"))
    }
  }
}
