package io.github.dynamickafka

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using

import com.codahale.metrics.MetricRegistry
import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.Identifier
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure
import org.apache.spark.sql.connector.read.LocalScan
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.admin.{CommandLine, Context, CountTopicsCommand, Procedures}
import io.github.dynamickafka.config.{MetadataServiceSpecs, OptionsDoc, PauseOptions, ServiceOptions}
import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException
import io.github.dynamickafka.metadata.service.{MetadataServices, ResourceMetadataService, ServiceRegistry}
import io.github.dynamickafka.source.report.LaggingClusters
import io.github.dynamickafka.testkit.TimeLimit

/** Adds a metadata service, an option, a gauge and a command as docs/dev/adding.md says; `NewFormatSuite` adds a format. */
class AddingSuite extends AnyFunSuite with TimeLimit {
  private val root = Path.of(System.getProperty("dynamickafka.root"))
  private val Document = "{version: 1, clusters: {blue: {properties: {bootstrap.servers: b}}}, " +
    "streams: {orders: {clusters: {blue: {topics: [a, b]}}}, payments: {clusters: {blue: {topics: [p]}}}}}"

  private def inFolder[A](use: Path => A): A = {
    val file = Files.createTempFile("streams", ".yaml")
    try use(Files.writeString(file, Document))
    finally Files.delete(file)
  }

  private def refused(attempt: => Any): String =
    intercept[DynamicKafkaIllegalArgumentException](attempt).getMessage

  test("a metadata service: one declaration, one constructor") {
    inFolder { file =>
      val loader = new java.net.URLClassLoader(Array(file.getParent.toUri.toURL), getClass.getClassLoader)
      val before = Thread.currentThread.getContextClassLoader
      def create(arguments: (String, String)*) = MetadataServices.create(
        ServiceOptions("Resource", arguments.toMap),
        new Configuration,
        constructors = MetadataServices.constructors + ResourceMetadataService.constructor
      )
      Thread.currentThread.setContextClassLoader(loader)
      try
        Using.resource(create("name" -> file.getFileName.toString, "ttl-ms" -> "5")) { service =>
          assert(service.getAllStreams().asScala.map(_.streamId) == Set("orders", "payments"))
          assert(service.isClusterActive("blue"))
        }
      finally {
        Thread.currentThread.setContextClassLoader(before)
        loader.close()
      }
      assert(refused(create()).contains("'metadataService.name'"))
      assert(refused(create("nmae" -> "x")).contains("Did you mean 'metadataService.name'"))
    }
  }

  test("each declared service has a constructor, and no other but that of registered ones") {
    assert(MetadataServices.constructors.keySet == MetadataServiceSpecs.all.toSet + ServiceRegistry.Spec)
  }

  test("an option: one declaration; parsing, suggestions, checks and the document follow from it") {
    def parse(more: (String, String)*) = PauseOptions.parse(new CaseInsensitiveStringMap(more.toMap.asJava))
    assert(parse() == PauseOptions(0L) && parse("batch-pause-ms" -> "5s") == PauseOptions(5000L))
    assert(refused(parse("batchPuaseMs" -> "1")).contains("batchPauseMs"))
    assert(refused(parse("batchPauseMs" -> "soon")).contains("'soon'"))
    assert(
      refused(parse("batchPauseMs" -> "1", "failOnDataLoss" -> "false")).contains("'failOnDataLoss=true'")
    )
    assert(OptionsDoc.options(PauseOptions.table).contains(
      "### batchPauseMs\n\ntime (ms); default `0`\n\nHow long a query waits before the next batch."
    ))
  }

  test("a gauge: one entry of a map; progress and gauges have it") {
    val registry = new MetricRegistry
    assert(LaggingClusters.shown(registry)("laggingClusters") == "1")
    assert(registry.getGauges.get("q.0.total.laggingClusters").getValue == 1L)
    assert(registry.getGauges.containsKey("q.0.cluster.blue.pendingRecords"))
  }

  test("a command and a procedure: one declaration in a list") {
    inFolder { file =>
      val line = CommandLine.running(Context.ofFile, CountTopicsCommand.all) _
      assert(line(Seq("count-topics", s"$file")).out ==
        """stream    topics
          |orders         2
          |payments       1
          |""".stripMargin)
      assert(line(Seq("count-topics", s"$file", "--above", "1", "--json")).json.size == 1)
      assert(line(Seq(
        "count-topics",
        "--help"
      )).out.contains("--above NUMBER  Only streams with more topics"))
      assert(line(Seq("count-topic", s"$file")).err.contains("Did you mean 'count-topics'?"))

      val streams = Context.ofFile(Some(s"$file"), None, () => new Configuration).catalog
      val procedures = new Procedures(CountTopicsCommand.all)
      val system = Array("system")
      assert(procedures.list(system).map(_.name).toSeq == Seq("count_topics"))
      val procedure = procedures.load(Identifier.of(system, "count_topics"), streams, () => "operator")
        .bind(new StructType).asInstanceOf[BoundProcedure]
      assert(procedure.description.startsWith("count_topics(above BIGINT DEFAULT 0): "))
      val scan = procedure.call(InternalRow(1L)).asScala.next().asInstanceOf[LocalScan]
      assert(scan.rows().map(r => r.getString(0) -> r.getLong(1)).toSeq == Seq("orders" -> 2L))
    }
  }

  test("docs/dev/adding.md has the code of what is added here") {
    val sources = Modules.all.map(module => s"$module/src/test")
      .flatMap(folder =>
        Using.resource(Files.walk(root.resolve(s"jvm/$folder")))(_.iterator.asScala.filter(file =>
          Names(file.getFileName.toString)
        ).map(Files.readString).toVector)
      )
    val document = Files.readString(root.resolve("docs/dev/adding.md"))
    val blocks = "(?s)```text\n(.*?)```".r.findAllMatchIn(document).map(_.group(1)).toSeq
    val wrong = blocks.filterNot(block => sources.exists(_.contains(block)))
    assert(sources.size == Names.size && blocks.size == 9 && wrong.isEmpty, wrong.mkString("\n"))
  }

  private lazy val Names = Set(
    "Pairs.scala",
    "ResourceMetadataService.scala",
    "PauseOptions.scala",
    "LaggingClusters.scala",
    "CountTopicsCommand.scala"
  )
}
