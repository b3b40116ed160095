package io.github.dynamickafka.metadata.remote

import java.io.IOException
import java.nio.file.Files
import java.time.Duration
import java.{util => ju}

import scala.jdk.CollectionConverters._
import scala.util.Using

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.MetadataServiceSpecs
import io.github.dynamickafka.config.Options.{reference, refused}
import io.github.dynamickafka.error.{DynamicKafkaIllegalArgumentException, FailureText}
import io.github.dynamickafka.metadata.service.{ServiceArguments, ServiceByName}
import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaMetadataService}
import io.github.dynamickafka.testkit.TimeLimit

/** Runs on a PostgreSQL server of its own. */
class JdbcMetadataServiceSuite extends AnyFunSuite with TimeLimit with BeforeAndAfterAll {

  private var postgres: EmbeddedPostgres = _
  private def url = s"jdbc:postgresql://localhost:${postgres.getPort}/postgres"

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    postgres = EmbeddedPostgres.builder().setServerConfig("fsync", "off")
      .setPGStartupWait(Duration.ofMinutes(3)).start()
    sql(
      "create role reader login password 'hunter2'",
      "create table documents (document text)"
    )
  }

  override protected def afterAll(): Unit =
    try postgres.close()
    finally super.afterAll()

  private def sql(statements: String*): Unit =
    Using.resource(postgres.getPostgresDatabase.getConnection()) { connection =>
      Using.resource(connection.createStatement())(s => statements.foreach(s.execute))
    }

  /** The columns of a row, as SQL. */
  private def rows(values: String*): String = values.mkString("values ", ", ", "")

  private def select(columns: String, values: String*): String =
    s"select * from (${rows(values: _*)}) as rows ($columns)"

  private def service(
      query: String,
      properties: Map[String, String] = Map.empty,
      timeoutMs: Long = 60000,
      ttlMs: Long = 0
  ) = at(url, query, Map("user" -> "postgres") ++ properties, timeoutMs, ttlMs)

  private def at(url: String, query: String, properties: Map[String, String], timeoutMs: Long, ttlMs: Long) =
    new JdbcMetadataService(ServiceArguments(
      MetadataServiceSpecs.Jdbc,
      properties.map { case (name, value) => s"properties.$name" -> value }.toSeq ++
        Seq("url" -> url, "query" -> query, "timeoutMs" -> timeoutMs.toString, "ttlMs" -> ttlMs.toString): _*
    ))

  private def failure(service: KafkaMetadataService): String =
    FailureText.of(intercept[IOException](service.getAllStreams()))

  private def invalid(query: String, says: String*): Unit = {
    val e = intercept[DynamicKafkaIllegalArgumentException](service(query).getAllStreams())
    assert(e.getCondition == "DYNAMIC_KAFKA.METADATA_INVALID")
    says.foreach(text => assert(e.getMessage.contains(text)))
    assert(!e.getMessage.contains("hunter2"))
  }

  private val Needed = "stream, cluster, topic, bootstrap_servers"

  test("rows are topics of streams on clusters, in their order; a change is seen by the next call") {
    val password = reference("env:P")
    sql(
      "create table topics (id serial, topic text, Stream text, cluster text, bootstrap_servers text, " +
        "state text, properties jsonb, starting_offsets text, stopping_offsets text)",
      "insert into topics (stream, cluster, topic, bootstrap_servers) values " +
        "('orders', 'green', 'o1', 'g:1'), ('orders', 'blue', 'o1', 'b:1'), ('orders', 'green', 'o2', 'g:1')",
      "insert into topics (stream, cluster, topic, bootstrap_servers, state, properties, starting_offsets, " +
        "stopping_offsets) values ('payments', 'red', 'p', 'r:1', 'draining', " +
        s"""'{"security.protocol": "SSL", "fetch.max.bytes": 5, "ssl.key.password": "$password"}', """ +
        """'{"p": {"0": 7}}', 'latest')"""
    )
    val jdbc =
      service("select stream, cluster, topic, bootstrap_servers, state, properties, starting_offsets, " +
        "stopping_offsets from topics order by id")
    val all = jdbc.getAllStreams().asScala.map(s => s.streamId -> s.getClusterMetadataMap.asScala.toSeq).toMap
    def cluster(servers: String, topics: String*) =
      ClusterMetadata(topics, Map("bootstrap.servers" -> servers))
    assert(all("orders") == Seq("green" -> cluster("g:1", "o1", "o2"), "blue" -> cluster("b:1", "o1")))
    val properties = Map(
      "bootstrap.servers" -> "r:1",
      "security.protocol" -> "SSL",
      "fetch.max.bytes" -> "5",
      "ssl.key.password" -> password
    )
    assert(all("payments") == Seq("red" -> ClusterMetadata(
      Seq("p"),
      properties,
      "{\"p\": {\"0\": 7}}",
      "latest",
      "draining"
    )))
    sql("delete from topics where cluster = 'green'")
    val orders = jdbc.describeStreams(ju.List.of("orders", "others")).asScala
    assert(
      orders.keySet == Set("orders") && orders("orders").getClusterMetadataMap.keySet.asScala == Set("blue")
    )
    assert(jdbc.isClusterActive("red") && !jdbc.isClusterActive("green"))
    sql("delete from topics")
    assert(jdbc.getAllStreams().isEmpty)
  }

  test("the column write: boolean values of different databases") {
    def written(value: String) = {
      val query = select(s"$Needed, write", s"('a', 'b', 'c', 'd', $value)", s"('a', 'b', 'c2', 'd', $value)")
      service(query).describeStreams(ju.List.of("a")).get("a").getClusterMetadataMap.get("b").isWrite
    }
    Seq("true", "'true'", "1", "1::numeric", "null", "null::boolean").foreach(v => assert(written(v), v))
    Seq("false", "'false'", "0", "0::numeric(1)").foreach(v => assert(!written(v), v))
    Seq("'no'" -> "no", "2" -> "2", "''" -> "").foreach { case (value, text) =>
      invalid(
        select(s"$Needed, write", s"('a', 'b', 'c', 'd', $value)"),
        "row 1, stream 'a', cluster 'b', column 'write'",
        s"'$text' is neither true nor false"
      )
    }
    invalid(
      select(s"$Needed, write", "('a', 'b', 'c', 'd', true)", "('a', 'b', 'c2', 'd', false)"),
      "differs",
      "in write"
    )
  }

  test("one column with a document") {
    sql(
      "insert into documents values ('{version: 1, clusters: {blue: {properties: {bootstrap.servers: b}}}, " +
        "streams: {orders: {clusters: {blue: {topics: [a]}}}}}')"
    )
    val jdbc = service("select document from documents")
    assert(jdbc.describeStreams(ju.List.of("orders")).size == 1)
    sql("update documents set document = 'version: 2'")
    invalid("select document from documents", "/postgres, column 'document', line 1", "version 2")
    sql("insert into documents values ('')")
    invalid("select document from documents", "more than one row")
    invalid("select document from documents where false", "no row with a document")
    invalid("select null as document", "the document is NULL")
  }

  test("invalid rows: the error names row and column") {
    invalid(select(s"$Needed, stat", "('a', 'b', 'c', 'd', 'e')"), "column 'stat'", "Did you mean 'state'?")
    invalid(select("stream, cluster, topic", "('a', 'b', 'c')"), "column 'bootstrap_servers'", "missing")
    invalid(
      s"select 1 as stream, r.* from (${select(Needed, "('a', 'b', 'c', 'd')")}) r",
      "'stream'",
      "it is duplicate"
    )
    invalid(
      select(Needed, "('a', 'b', 'c', 'd')", "('a', 'b', null, 'd')"),
      s"the database at $url, row 2, column 'topic'",
      "NULL or blank"
    )
    invalid(
      select(Needed, "('a', 'b', 'c', 'd')", "('a', 'b', 'c2', 'e')"),
      "row 2, stream 'a', cluster 'b'",
      "row 1",
      "property 'bootstrap.servers'"
    )
    invalid(
      select(s"$Needed, state", "('a', 'b', 'c', 'd', 'active')", "('a', 'b', 'c2', 'd', 'draining')"),
      "differs",
      "in state"
    )
    val properties = s"$Needed, properties"
    invalid(
      select(properties, "('a', 'b', 'c', 'd', '[\"hunter2\"]')"),
      "row 1, column 'properties'",
      "a list"
    )
    invalid(select(properties, "('a', 'b', 'c', 'd', '{\"x\": \"hunter2')"), "not valid YAML or JSON")
    invalid(
      select(properties, "('a', 'b', 'c', 'd', '{\"bootstrap.servers\": \"x\"}')"),
      "use the column 'bootstrap_servers'"
    )
  }

  test("a password by reference, resolved for each connection") {
    val file = Files.createTempFile("jdbc", ".properties")
    Files.writeString(file, "password=hunter2\n")
    val login = Map("user" -> "reader", "password" -> reference(s"file:$file:password"))
    val jdbc = service(select(Needed, "('a', 'b', 'c', 'd')") + " where current_user = 'reader'", login)
    assert(jdbc.getAllStreams().size == 1)
    sql("alter role reader password 'hunter3'")
    sql("alter role reader nologin")
    assert(failure(jdbc).contains("reader"))
    sql("alter role reader login")
    Files.writeString(file, "password=hunter3\n")
    assert(jdbc.getAllStreams().size == 1)
  }

  test("a query that is invalid, slow or writes; an unreachable server") {
    val wrong = failure(service("select x from nothing"))
    assert(
      wrong.contains(s"the query of the database at $url failed") && wrong.contains(
        "\"nothing\" does not exist"
      )
    )
    val slow = failure(service("select pg_sleep(30), 1", timeoutMs = 3000))
    assert(slow.contains(s"$url failed within 3000 ms") && slow.contains("canceling statement"))
    assert(failure(service("insert into documents values ('x') returning document")).contains("read-only"))
    val unreachable = at(
      "jdbc:postgresql://localhost:1/x?user=me&password=hunter2",
      "select 1",
      Map.empty,
      1000,
      0
    )
    val away = failure(unreachable)
    assert(away.contains("the query of the database at jdbc:postgresql://localhost:1/x failed"))
    assert(away.contains("refused") && !away.contains("hunter2"))
  }

  test("an answer is reused within its time to live") {
    sql("create table one as " + select(Needed, "('a', 'b', 'c', 'd')"))
    val jdbc = service("select * from one", ttlMs = 3600000)
    assert(jdbc.getAllStreams().size == 1)
    sql("drop table one")
    assert(jdbc.getAllStreams().size == 1)
  }

  test("created by name; a URL that no driver accepts is refused and not shown") {
    val jdbc = ServiceByName.create(
      "JDBC",
      s"url=$url",
      "properties.user=postgres",
      s"query=${select(Needed, "('a', 'b', 'c', 'd')")}",
      "timeoutMs=5000"
    )
    assert(jdbc.getAllStreams().size == 1)
    jdbc.close()
    Seq("jdbc:nothing://u:hunter2@h/d", "nothing:hunter2").foreach { bad =>
      val e = refused(at(bad, "select 1", Map.empty, 1000, 0))
      assert(e.getCondition == "DYNAMIC_KAFKA.INVALID_OPTION")
      assert(e.getMessage.contains("'metadataService.url'") && e.getMessage.contains("no JDBC driver"))
      assert(!e.getMessage.contains("hunter2"))
    }
  }
}
